package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/verifier"
)

const verifyHelp = `What a file is, is told by its bytes:

  DID log          did.jsonl, with did-witness.json beside it or --witness FILE
  bundle           a join file, draft, boot file or sync reply: every line of it
  case file        what dispute export writes
  proof            of one event, what event prove writes
  signed object    an agent object, under the DID log given with --with
  credential       VC 2.0 with eddsa-jcs-2022, under the DID log of its issuer
  DID document     shown; it proves nothing by itself
  directory        a whole log, as event export --tiles writes it, with the did.jsonl of its organization
                   in it or given with --with; those of its witnesses, so that their cosignatures count

Each line of the answer is one of: ok (verified), claim (what somebody says, and signed),
trust (what it rests on), unsaid (what no file can say), and what kept it from verifying.
What a file is of is vouched for by --fingerprint, by --pin, or by the pins of a node: those of
--data DIR, where that is given; of the directory nothing but its file "pins" is read, also while
the node runs. A file that contradicts a pin does not verify.
A did:web has no log: the did.json given with --with is trusted because you gave it.

Exit code 0: what every file says verifies, to the byte; witness proofs that nothing needs,
and that may lack in did-witness.json, are no part of that, and an unsaid line names those
that do not verify. 4: something is false, or is missing and
could decide (pending), or cannot be decided from a file. All files are looked at; the
greatest exit code wins.`

func verifyCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "verify", Usage: "check files with no network and no data directory", ArgsUsage: "FILE|DIR…", Description: verifyHelp, Flags: []cli.Flag{
		&cli.StringSliceFlag{Name: "with", Usage: "`FILE` taken along: DID log, bundle, agent object, did.json; may be repeated"},
		&cli.StringFlag{Name: "witness", Usage: "did-witness.json of the DID log, `FILE`; default the one beside it"},
		&cli.StringFlag{Name: "at", Usage: "`TIME` at which objects are to hold, such as 2026-12-01T10:00:00Z; default now"},
		&cli.StringFlag{Name: "fingerprint", Usage: "fed1-… of the federation, or org1-… of the organization at its newest version, the file must be of"},
		&cli.StringSliceFlag{Name: "pin", Usage: "what you have seen before, as a `LINE` of a node's pins: \"did DID N VERSION\", \"head FEDERATION N ID\" or\n\"log DID N ROOT\"; may be repeated"},
		&cli.IntFlag{Name: "witnesses", Usage: "how many organizations must have cosigned each event that is proven, beside its own, `K`"},
		&cli.BoolFlag{Name: "strict", Usage: "refuse a file that nothing but itself vouches for"}},
		Action: func(c *cli.Context) error { return verifyFiles(c, s) }}
}

func verifyFiles(c *cli.Context, s *streams) error {
	if !c.Args().Present() {
		return &usageError{"verify takes one file or more", "trustnode verify case.tnb"}
	}
	if c.IsSet("witness") && c.Args().Len() > 1 {
		return &usageError{"--witness is of one DID log, verify got several files", help(c)}
	}
	o := verifier.Options{Now: time.Now(), Fingerprint: c.String("fingerprint"), Strict: c.Bool("strict"), Witnesses: c.Int("witnesses")}
	if f := strings.ToLower(strings.TrimSpace(o.Fingerprint)); f != "" && !keyring.Spelled("fed1", f) && !keyring.Spelled("org1", f) {
		return &usageError{"--fingerprint is not one: its last group does not fit the others", "fed1-… or org1-… and eight groups more, as did show or fed status prints it"}
	}
	if o.Witnesses < 0 {
		return &usageError{"--witnesses is a number of organizations, not below 0", help(c)}
	}
	if text := c.String("at"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return &usageError{fmt.Sprintf("--at %s is no time", text), "write it as 2026-12-01T10:00:00Z"}
		}
		o.At = at
	}
	if name := c.String("witness"); name != "" {
		b, err := readCapped(name, maxWitness)
		if err != nil {
			return err
		}
		o.Witness = func() ([]byte, error) { return b, nil }
	}
	var err error
	if o.Pins, err = pinned(c); err != nil {
		return err
	}
	for _, name := range c.StringSlice("with") {
		m, err := materialOf(name)
		if err != nil {
			return err
		}
		o.With = append(o.With, m)
	}
	var failed []error
	for _, name := range c.Args().Slice() {
		if err := verifyFile(c, s, name, o); err != nil {
			failed = append(failed, err)
		}
	}
	return worst(s, failed)
}

// pinned gathers what was seen before: the pins of --data, and above them each --pin.
func pinned(c *cli.Context) (pins.Pins, error) {
	seen := pins.Memory()
	if c.IsSet("data") {
		name := filepath.Join(c.String("data"), "pins")
		f, err := os.Open(name)
		if err != nil {
			return nil, noFile(err)
		}
		defer f.Close()
		if seen, err = pins.Read(f); err != nil {
			return nil, &failedError{code: exitFailed, what: name + ": " + err.Error(), hint: "give a fingerprint instead of --data"}
		}
	}
	for _, text := range c.StringSlice("pin") {
		slot, value, err := pins.Parse(text)
		if err == nil {
			err = seen.Put(c.Context, slot, value)
		}
		if err != nil {
			return nil, &usageError{fmt.Sprintf("--pin %.80q: %v", text, err), "write it as --pin \"did DID N VERSION\", for example a line of the file pins of a node"}
		}
	}
	return seen, nil
}

// worst reports all errors but the one with the greatest exit code, which it returns.
func worst(s *streams, failed []error) error {
	var out error
	code := exitDone
	for _, err := range failed {
		n := exitFailed
		if f := (*failedError)(nil); errors.As(err, &f) {
			n = f.code
		}
		if n > code {
			out, err, code = err, out, n
		}
		if err != nil {
			s.report(err)
		}
	}
	return out
}

func verifyFile(c *cli.Context, s *streams, name string, o verifier.Options) error {
	f, err := os.Open(name)
	if err != nil {
		return noFile(err)
	}
	defer f.Close()
	o.Name = filepath.Base(name)
	dir, err := f.Stat()
	if err != nil {
		return noFile(err)
	}
	if slices.ContainsFunc(c.Args().Slice(), func(other string) bool { return other != name && filepath.Base(other) == o.Name }) {
		o.Name = name
	}
	if o.Witness == nil {
		o.Witness = func() ([]byte, error) { return witnessBeside(name) }
	}
	var r verifier.Report
	if dir.IsDir() {
		r, err = verifyTree(c, s, name, o)
	} else {
		r = verifier.Verify(c.Context, f, o)
	}
	if err != nil {
		return err
	}
	if err := s.result(r, func(w writer) {
		for _, l := range r.Lines {
			fmt.Fprintf(w, "%-8s %s\n", l.Kind, l.Text)
		}
	}); err != nil {
		return err
	}
	if !r.OK {
		what := r.Why
		if r.Outcome != verifier.Broken {
			what = string(r.Outcome) + ": " + what
		}
		if c.Args().Len() > 1 {
			what = r.Name + ": " + what
		}
		return &failedError{code: exitUnverified, what: what, hint: r.Hint}
	}
	return nil
}

// Caps in bytes on files that are read whole before the verifier looks at them.
const (
	maxWith    = 64 << 20  // given along: the longest bundle
	maxWitness = 1<<20 + 1 // one byte more than may be, so that what is too long is refused as such
)

// materialOf reads a file given along, a DID log with its witness file.
func materialOf(name string) (verifier.Material, error) {
	b, err := readCapped(name, maxWith)
	if err != nil {
		return verifier.Material{}, err
	}
	m := verifier.Material{Name: name, Bytes: b}
	if verifier.IsDIDLog(b) {
		m.Witness, err = witnessBeside(name)
	}
	return m, err
}

// witnessBeside reads the witness file beside a DID log, nil if there is none.
func witnessBeside(log string) ([]byte, error) {
	b, err := readCapped(filepath.Join(filepath.Dir(log), "did-witness.json"), maxWitness)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func readCapped(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, noFile(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &failedError{code: exitUnverified, what: fmt.Sprintf("%s is longer than %d bytes", name, most)}
	}
	return b, err
}
