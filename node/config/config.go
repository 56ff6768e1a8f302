// Package config answers: how was this node told to run?
//
// It reads DIR/config.toml into a checked Config, writes the commented file that
// `trustnode init` leaves behind, and applies TRUSTNODE_* variables. It opens
// nothing else: no database, no key, no socket.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"trustnode/did"
)

// File is the name of the configuration inside the data directory.
const File = "config.toml"

// Config is a checked configuration. The zero value is not valid; Read makes one.
type Config struct {
	Dir          string  // data directory, absolute
	Name         string  // shown to people, ≤ 64 characters
	Org          did.DID // this organization
	HTTP         string  // host:port the HTTP server listens on
	P2P          []string
	PublicEvents bool   // events and logs are for anyone who reaches HTTP
	Public       string // base URL under which others reach HTTP; empty: none announced
	Contact,
	LogLevel string
	SyncEvery   time.Duration // between two sync rounds with a member, before ±20 % jitter
	RequirePact bool          // refuse cross-organization loans without a pact
	ReadsPerS   int           // reads a second one borrower may ask for
	// RefuseHygiene are the hygiene codes of loans that are refused for them.
	RefuseHygiene []string
	DiscoverMin   int           // on how many entries a tag must be for a discovery to tell it
	HiddenTags    []string      // prefixes of tags that no discovery tells
	CIDRs         []string      // member networks that are not rate limited per subnet
	KeepRows      time.Duration // how long own audit rows keep their bytes; a charter may ask for more
	Ballast       uint64        // bytes kept allocated to be freed when the disk is full; 0 keeps none
	// FetchAllow are networks that are not public and from which DID documents are fetched all the same.
	FetchAllow []netip.Prefix
}

// wire is the file's own shape.
type wire struct {
	Name    string `toml:"name"`
	Org     string `toml:"org"`
	Contact string `toml:"contact"`
	HTTP    struct {
		Listen       string `toml:"listen"`
		Public       string `toml:"public"`
		PublicEvents bool   `toml:"public_events"`
	} `toml:"http"`
	P2P struct {
		Listen []string `toml:"listen"`
	} `toml:"p2p"`
	Federation struct {
		SyncEveryS int      `toml:"sync_every_s"`
		CIDRs      []string `toml:"cidrs"`
	} `toml:"federation"`
	Identity struct {
		FetchAllowCIDRs []string `toml:"fetch_allow_cidrs"`
	} `toml:"identity"`
	Lending struct {
		RequirePact   bool     `toml:"require_pact"`
		ReadsPerS     int      `toml:"reads_per_s"`
		RefuseHygiene []string `toml:"refuse_hygiene"`
		DiscoverMin   int      `toml:"discover_min"`
		HiddenTags    []string `toml:"hidden_tags"`
	} `toml:"lending"`
	Audit struct {
		KeepS int64 `toml:"keep_s"`
	} `toml:"audit"`
	Disk struct {
		BallastMiB *int `toml:"ballast_mib"`
	} `toml:"disk"`
	Log struct {
		Level string `toml:"level"`
	} `toml:"log"`
}

// Defaults of the design, section 8 of the overview.
const (
	DefaultHTTP      = "127.0.0.1:8420"
	DefaultSyncEvery = 60 * time.Second
	DefaultReadsPerS = 200
	DefaultDiscover  = 5
	DefaultKeepRows  = 400 * 24 * time.Hour
	DefaultBallast   = 256 << 20
)

// The least and the most that own rows are kept: charters ask for 90 days beyond their
// longest case, and 100 years are for ever.
const (
	minKeepRows = 90 * 24 * time.Hour
	maxKeepRows = 100 * 365 * 24 * time.Hour
)

// maxBallastMiB keeps a typing error from filling a disk.
const maxBallastMiB = 64 << 10

// maxReadsPerS is far above what one node answers; it only keeps a typing error out.
const maxReadsPerS = 1_000_000

// DefaultP2P is where a node listens for peers unless told otherwise.
var DefaultP2P = []string{"/ip4/0.0.0.0/tcp/8421", "/ip4/0.0.0.0/udp/8421/quic-v1"}

// ErrNoNode says that a directory holds no node.
var ErrNoNode = errors.New("no node here")

// DefaultDir is ~/.trustnode, or the value of TRUSTNODE_DATA.
func DefaultDir() string {
	if d := os.Getenv("TRUSTNODE_DATA"); d != "" {
		return d
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".trustnode"
	}
	return filepath.Join(home, ".trustnode")
}

// Read reads and checks DIR/config.toml, then lets TRUSTNODE_HTTP, TRUSTNODE_P2P
// (comma separated) and TRUSTNODE_LOG_LEVEL override it. ErrNoNode: there is no
// such file. An unknown key is an error that names its line.
func Read(dir string) (Config, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Config{}, err
	}
	b, err := os.ReadFile(filepath.Join(abs, File))
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, fmt.Errorf("%s: %w", abs, ErrNoNode)
	}
	if err != nil {
		return Config{}, err
	}
	w := wire{}
	dec := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return Config{}, fmt.Errorf("%s: %s", filepath.Join(abs, File), explain(err))
	}
	override(&w)
	c, err := w.check()
	if err != nil {
		return Config{}, fmt.Errorf("%s: %v", filepath.Join(abs, File), err)
	}
	c.Dir = abs
	return c, nil
}

// explain turns the decoder's error into one line that names the place.
func explain(err error) string {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Sprintf("line %d: unknown key %q", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	var dec *toml.DecodeError
	if errors.As(err, &dec) {
		row, col := dec.Position()
		return fmt.Sprintf("line %d, column %d: %v", row, col, dec)
	}
	return err.Error()
}

func override(w *wire) {
	if v := os.Getenv("TRUSTNODE_HTTP"); v != "" {
		w.HTTP.Listen = v
	}
	if v := os.Getenv("TRUSTNODE_P2P"); v != "" {
		w.P2P.Listen = strings.Split(v, ",")
	}
	if v := os.Getenv("TRUSTNODE_LOG_LEVEL"); v != "" {
		w.Log.Level = v
	}
}

func (w wire) check() (Config, error) {
	org, err := did.Parse(w.Org)
	if err != nil {
		return Config{}, fmt.Errorf("org: %v", err)
	}
	if w.HTTP.Listen == "" {
		w.HTTP.Listen = DefaultHTTP
	}
	if _, _, err := net.SplitHostPort(w.HTTP.Listen); err != nil {
		return Config{}, fmt.Errorf("http.listen: %v", err)
	}
	if len(w.P2P.Listen) == 0 {
		w.P2P.Listen = DefaultP2P
	}
	every := time.Duration(w.Federation.SyncEveryS) * time.Second
	if every == 0 {
		every = DefaultSyncEvery
	}
	if every < time.Second || every > time.Hour {
		return Config{}, fmt.Errorf("federation.sync_every_s is %d, allowed are 1..3600", w.Federation.SyncEveryS)
	}
	if w.Lending.ReadsPerS == 0 {
		w.Lending.ReadsPerS = DefaultReadsPerS
	}
	if n := w.Lending.ReadsPerS; n < 1 || n > maxReadsPerS {
		return Config{}, fmt.Errorf("lending.reads_per_s is %d, allowed are 1..%d", n, maxReadsPerS)
	}
	if err := w.checkLending(); err != nil {
		return Config{}, err
	}
	if w.Audit.KeepS == 0 {
		w.Audit.KeepS = int64(DefaultKeepRows / time.Second)
	}
	if n, least, most := w.Audit.KeepS, int64(minKeepRows/time.Second), int64(maxKeepRows/time.Second); n < least || n > most {
		return Config{}, fmt.Errorf("audit.keep_s is %d, allowed are %d..%d", n, least, most)
	}
	keep := time.Duration(w.Audit.KeepS) * time.Second
	ballast := uint64(DefaultBallast)
	if n := w.Disk.BallastMiB; n != nil {
		if *n < 0 || *n > maxBallastMiB {
			return Config{}, fmt.Errorf("disk.ballast_mib is %d, allowed are 0..%d", *n, maxBallastMiB)
		}
		ballast = uint64(*n) << 20
	}
	allow, err := prefixes(w.Identity.FetchAllowCIDRs)
	if err != nil {
		return Config{}, fmt.Errorf("identity.fetch_allow_cidrs: %v", err)
	}
	switch w.Log.Level {
	case "":
		w.Log.Level = "info"
	case "debug", "info", "warn", "error":
	default:
		return Config{}, fmt.Errorf("log.level is %q, allowed are debug, info, warn, error", w.Log.Level)
	}
	return Config{Name: w.Name, Org: org, Contact: w.Contact, HTTP: w.HTTP.Listen, Public: w.HTTP.Public, PublicEvents: w.HTTP.PublicEvents, P2P: w.P2P.Listen,
		LogLevel: w.Log.Level, SyncEvery: every, RequirePact: w.Lending.RequirePact, ReadsPerS: w.Lending.ReadsPerS,
		RefuseHygiene: w.Lending.RefuseHygiene, DiscoverMin: w.Lending.DiscoverMin, HiddenTags: w.Lending.HiddenTags, CIDRs: w.Federation.CIDRs,
		KeepRows: keep, Ballast: ballast, FetchAllow: allow}, nil
}

// prefixes reads networks; none is nil. One whose address has bits beyond its mask may
// mean another network than it says, and is refused.
func prefixes(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, t := range texts {
		p, err := netip.ParsePrefix(t)
		if err != nil {
			return nil, fmt.Errorf("%q is no network such as 10.0.0.0/8", t)
		}
		if p != p.Masked() {
			return nil, fmt.Errorf("%s names an address within %s", t, p.Masked())
		}
		out = append(out, p)
	}
	return out, nil
}

// Write leaves DIR/config.toml with every key explained. It refuses to replace one.
func Write(c Config) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, template, quote(c.Name), quote(c.Org.String()), quote(c.Contact), quote(c.HTTP), quote(c.Public), list(c.P2P), c.Ballast>>20)
	f, err := os.OpenFile(filepath.Join(c.Dir, File), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// quote writes a TOML basic string; TOML's escapes for what names may hold are Go's.
func quote(s string) string {
	b, err := toml.Marshal(map[string]string{"v": s})
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(strings.TrimPrefix(string(b), "v ="))
}

func list(ss []string) string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = quote(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
