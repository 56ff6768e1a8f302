package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/gossip"
	"trustnode/federation/p2p"
	"trustnode/node/client"
	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/fetch"
	"trustnode/node/httpapi"
	"trustnode/node/lender"
	"trustnode/node/library"
	"trustnode/node/mcp"
	"trustnode/node/member"
	"trustnode/node/memory"
	"trustnode/node/oracle"
	"trustnode/node/party"
	"trustnode/node/recorder"
	"trustnode/node/resolver"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Node is one opened data directory with everything wired together. Open makes it, Run
// runs it, Close lets go of the directory.
type Node struct {
	cfg     config.Config
	log     *slog.Logger
	version string
	token   string
	mono    time.Time // start of this process' monotonic clock

	lock   *lock
	pins   *pins.File
	keys   *keys.Store
	state  store.DB
	audit  store.DB
	events *store.Events
	sign   *signers

	self      *self.Node
	member    *member.Member
	lender    *lender.Lender
	client    *client.Client
	party     *party.Party
	oracle    *oracle.Oracle
	resolver  *resolver.Resolver
	gossip    *gossip.Node   // nil while the node does not run
	transport *p2p.Transport // likewise
	handler   http.Handler
	http      string                           // where HTTP is reached while the node runs
	stopping  chan struct{}                    // closed when a running node begins to stop
	free      func(dir string) (uint64, error) // bytes that may still be written there
	members   func(gossip.Members) gossip.Members

	closers []func() error
}

// Options are what opening needs beside the configuration.
type Options struct {
	Passphrase []byte
	Log        *slog.Logger
	Version    string
	Wait       time.Duration // how long a command that has the directory open is waited for

	testingOnlyFree    func(dir string) (uint64, error)    // says how much room there is
	testingOnlyMembers func(gossip.Members) gossip.Members // says under which addresses others are dialled
}

// Open locks the data directory, opens both databases, verifies identity, chain and log
// again from their bytes, and wires the use cases. Nothing runs yet.
func Open(ctx context.Context, cfg config.Config, o Options) (*Node, error) {
	n := &Node{cfg: cfg, log: o.Log, version: o.Version, mono: time.Now(), stopping: make(chan struct{}), free: o.testingOnlyFree, members: o.testingOnlyMembers}
	if n.free == nil {
		n.free = freeSpace
	}
	if n.members == nil {
		n.members = func(m gossip.Members) gossip.Members { return m }
	}
	if err := n.open(ctx, o); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (n *Node) open(ctx context.Context, o Options) error {
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return n.openDir(ctx, o.Wait) },
		func(context.Context) error { return n.openKeys(o.Passphrase) },
		n.roomToOpen,
		n.openStores,
		n.openSelf,
		n.openUses,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openDir takes the lock and reads the operator's token.
func (n *Node) openDir(ctx context.Context, wait time.Duration) error {
	l, err := acquire(ctx, n.cfg.Dir, wait)
	if err != nil {
		return err
	}
	n.lock = l
	n.onClose(l.release)
	b, err := os.ReadFile(filepath.Join(n.cfg.Dir, TokenFile))
	if err != nil {
		return err
	}
	n.token = strings.TrimSpace(string(b))
	return nil
}

// LookForKeys refuses a data directory without the node's keys, as a restore of a backup
// without them leaves it, before anybody is asked for a passphrase.
func LookForKeys(dir string) error {
	place := filepath.Join(dir, keysDir)
	there, err := keys.Exists(place)
	if err != nil || there {
		return err
	}
	return fault.New(fault.NotFound, "keys", "%s holds no keys: nothing can be signed", place).
		WithHint("copy keys/ of the node's old data directory, or your copy of it, to %s; the passphrase is the one of that time", place)
}

func (n *Node) openKeys(pass []byte) error {
	if err := LookForKeys(n.cfg.Dir); err != nil {
		return err
	}
	ks, err := keys.Open(filepath.Join(n.cfg.Dir, keysDir), pass)
	if errors.Is(err, keys.ErrPassphrase) {
		return fault.New(fault.Unauthenticated, "passphrase", "the passphrase does not open the keys in %s", n.cfg.Dir).
			WithHint("give the one that protects them now, in TRUSTNODE_PASSPHRASE or in the file TRUSTNODE_PASSPHRASE_FILE names")
	}
	if err != nil {
		return err
	}
	n.keys = ks
	n.onClose(func() error { ks.Close(); return nil })
	p, err := pins.Open(filepath.Join(n.cfg.Dir, pinsFile), time.Now)
	if err != nil {
		return err
	}
	n.pins = p
	n.onClose(p.Close)
	return nil
}

func (n *Node) openStores(ctx context.Context) error {
	open := func(name string) (store.DB, error) {
		db, err := store.OpenBadger(filepath.Join(n.cfg.Dir, name), n.log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		n.onClose(db.Close)
		return db, nil
	}
	var err error
	if n.state, err = open(stateDir); err != nil {
		return err
	}
	if n.audit, err = open(auditDir); err != nil {
		return err
	}
	n.events, err = store.OpenEvents(ctx, n.audit)
	return err
}

// openSelf verifies the own identity from its bytes and makes the recorder.
func (n *Node) openSelf(ctx context.Context) error {
	ring := keyring.New(store.NewRing(n.state), n.pins, time.Now)
	if err := n.load(ctx, ring); err != nil {
		return err
	}
	n.sign = &signers{org: n.cfg.Org, keys: n.keys, ring: ring, db: n.state}
	if err := n.own(ctx); err != nil {
		return err
	}
	entries := memory.New(n.state, time.Now)
	if err := entries.Stick(n.cfg.StickyTags); err != nil {
		return err
	}
	n.self = &self.Node{Org: n.cfg.Org, Name: n.cfg.Name, DB: n.state, Ring: ring, Lib: library.New(n.state), Entries: entries,
		Signers: n.sign, Peers: apart{n: n}, Log: n.log}
	rec, err := recorder.New(ctx, recorder.Config{Org: n.cfg.Org, State: n.state, Audit: n.audit, Events: n.events, Pins: n.pins,
		Signer: n.sign.Log, SignerOf: n.sign.byKid, WitnessSigner: n.sign.witness, Ring: recorder.RingOf(ring),
		Member: func(d did.DID) bool { return n.member != nil && n.member.IsMember(d) }, Quorum: n.freshQuorum, Bounds: n.bounds, OnHead: n.onHead, Now: time.Now, Log: n.log})
	if err != nil {
		return err
	}
	// Time goes on from the newest decision: a clock that was set back while the node was
	// down brings nothing back that had expired.
	last, err := rec.LastTime(ctx)
	n.self.Rec, n.self.Clock = rec, self.NewClock(time.Now, last)
	return err
}

// own checks that state and keys in the directory are those of the organization that the
// configuration names. One that has lost the key of its newest document may run: its update
// key, or its recovery key, gives it another.
func (n *Node) own(ctx context.Context) error {
	if self.Behind(ctx, n.sign.ring, n.cfg.Org) != nil {
		return nil // which keys are the newest is not known; whatever signs asks again
	}
	_, _, err := n.sign.Log(ctx)
	if errors.Is(err, self.ErrNoKey) {
		var any bool
		if any, err = n.sign.holdsAny(ctx); err == nil && !any {
			return fault.New(fault.Conflict, "foreign", "no key in %s speaks for %s", filepath.Join(n.cfg.Dir, keysDir), n.cfg.Org).
				WithHint("%s or %s comes from another node; put back what was there", config.File, keysDir)
		}
	}
	if errors.Is(err, keyring.ErrAbsent) {
		return fault.New(fault.Conflict, "foreign", "the state in %s is not that of %s", n.cfg.Dir, n.cfg.Org).
			WithHint("%s or %s comes from another node; put back what was there", config.File, stateDir)
	}
	return err
}

// load verifies all DIDs. One that is behind its pin does not count before peers have given
// back what is missing. The own one is brought forward where a crash left it one entry
// behind; where nothing of it is left, there is no member that could ask peers.
func (n *Node) load(ctx context.Context, ring *keyring.Ring) error {
	err := ring.Load(ctx)
	var below *keyring.Below
	if err == nil || !errors.As(err, &below) {
		return err
	}
	if err := member.FinishPinned(ctx, n.state, ring, n.cfg.Org); err != nil {
		return n.lost(err)
	}
	if _, own := ring.Head(ctx, n.cfg.Org); errors.As(own, &below) && below.DID == n.cfg.Org && below.Held == 0 {
		return n.lost(own)
	}
	if own := self.Behind(ctx, ring, n.cfg.Org); own != nil {
		n.log.Warn(fault.From(own).Detail)
	}
	n.log.Warn("what lies below its pin is not trusted until it is synced", "err", err)
	return nil
}

// lost refuses a directory that holds nothing of its own identity that verifies.
func (n *Node) lost(err error) error {
	return fault.Wrap(fault.Refused, "recovering", err).WithHint("restore a newer backup of %s", n.cfg.Dir)
}

func (n *Node) openUses(ctx context.Context) error {
	seed, err := n.keys.HostKey(ctx)
	if err != nil {
		return err
	}
	host, _, err := federation.NodeSigner(seed)
	clear(seed)
	if err != nil {
		return err
	}
	n.member, err = member.New(ctx, n.self, member.Config{Pins: n.pins, HostKey: host, Listen: n.cfg.P2P, Contact: n.cfg.Contact,
		Software: "trustnode/" + n.version, Mono: func() time.Duration { return time.Since(n.mono) }, Size: n.logSize,
		NewKey: n.sign.newKey, DropKey: n.keys.Delete, Holds: n.sign.holds, Witness: n.sign.witnessKey, Endorse: n.endorse,
		AgentEnded: n.agentEnded, Credential: credential.Export, Again: n.again, Doubted: n.doubted, Resuming: n.resuming, Resumed: n.resumed})
	if err != nil {
		return err
	}
	n.self.Standing = n.member
	n.lender = lender.New(n.self, lender.Config{RequirePact: n.cfg.RequirePact, ReadsPerSecond: n.cfg.ReadsPerS,
		RefuseHygiene: n.cfg.RefuseHygiene, DiscoverMin: n.cfg.DiscoverMin, HiddenTags: n.cfg.HiddenTags})
	n.client = client.New(n.self, client.Config{OnEnded: n.ended})
	n.party = party.New(n.self)
	n.oracle = oracle.New(n.self, n.party)
	n.resolver = resolver.New(n.self, resolver.Config{Host: fetch.New(fetch.Config{AllowCIDRs: n.cfg.FetchAllow}), Moved: n.keysMoved})
	api := httpapi.New(httpapi.Services{Node: n.self, Events: n.events, Member: n.member, Lender: n.lender, Client: n.client, Party: n.party, Oracle: n.oracle, Resolver: n.resolver,
		Info: n.info, Counts: n.counts, Custody: custody{n}, Doctor: n.doctor, Backup: n.backup, Erase: n.erase, Repair: n.repairLogs, Stopping: n.stopping, PublicEvents: n.cfg.PublicEvents}, n.token, n.version, n.log)
	n.handler = withMCP(api, mcp.New(mcp.Services{Node: n.self, Tokens: n.member, Lender: n.lender, Client: n.client}, n.cfg.Public, n.version))
	return nil
}

// freshQuorum is how many organizations the charter in force asks to be heard; without a
// charter nobody else counts.
func (n *Node) freshQuorum() int {
	if n.member != nil {
		if c, ok := n.member.Charter(); ok {
			return int(c.Head().Policy.FreshQuorum)
		}
	}
	return math.MaxInt
}

// bounds is what the charter in force says of a log.
func (n *Node) bounds(d did.DID) recorder.Bounds {
	if n.member == nil {
		return recorder.Bounds{}
	}
	return n.member.BoundsOf(d)
}

// endorseWait is how long one member may take to witness an entry.
const endorseWait = 5 * time.Second

// endorse asks members' nodes to witness an entry of the own DID log, all at once.
func (n *Node) endorse(ctx context.Context, members []did.DID, line []byte) []member.Endorsement {
	out := make([]member.Endorsement, len(members))
	ctx, cancel := context.WithTimeout(ctx, endorseWait)
	defer cancel()
	var wg sync.WaitGroup
	for i, d := range members {
		wg.Go(func() {
			if n.gossip == nil {
				out[i].Err = self.ErrOffline
				return
			}
			out[i].Status, out[i].Body, out[i].Err = n.gossip.Endorse(ctx, d, line)
		})
	}
	wg.Wait()
	return out
}

// logSize is how many entries of an organization's log are held here.
func (n *Node) logSize(d did.DID) uint64 {
	l, err := n.events.Log(context.Background(), d)
	if err != nil {
		return 0
	}
	h, _ := l.Head()
	return h.Size
}

// onClose registers what Close undoes, last first.
func (n *Node) onClose(f func() error) { n.closers = append(n.closers, f) }

// Close lets go of everything Open took. It is safe after a failed Open.
func (n *Node) Close() error {
	var errs []error
	for i := len(n.closers) - 1; i >= 0; i-- {
		errs = append(errs, n.closers[i]())
	}
	n.closers = nil
	return errors.Join(errs...)
}

// Handler serves the HTTP API.
func (n *Node) Handler() http.Handler { return n.handler }

// Token is the operator's bearer token.
func (n *Node) Token() string { return n.token }

// Org is the organization of the node.
func (n *Node) Org() did.DID { return n.cfg.Org }

// info is what status tells beside the federation.
func (n *Node) info() httpapi.Info {
	out := httpapi.Info{HTTP: n.cfg.HTTP, Version: n.version, Linked: map[did.DID]bool{}}
	if n.gossip == nil {
		return out
	}
	for _, p := range n.gossip.Peers() {
		out.Linked[p.Org] = out.Linked[p.Org] || p.Linked
	}
	out.HTTP, out.P2P = n.http, n.addresses()
	return out
}

// ended tells the operator that a lender signed the end of a loan.
func (n *Node) ended(e client.Ended) {
	n.log.Warn("a loan has ended", "permission", e.Perm.String(), "state", string(e.State), "receipt", e.Receipt.String())
}

// again asks the peers once more.
func (n *Node) again() {
	if n.gossip != nil {
		n.gossip.Again()
	}
}

// resuming has the lender learn what its own log says and its state forgot.
func (n *Node) resuming(ctx context.Context) error {
	if n.lender == nil {
		return nil // a node alone resumes while it is opened; nobody brought it anything
	}
	return n.lender.Relearn(ctx)
}

// resumed lets the others hear at once that this node may speak again.
func (n *Node) resumed() {
	if n.gossip != nil {
		n.gossip.Beat()
	}
}
