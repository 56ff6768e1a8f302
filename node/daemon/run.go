package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/federation/gossip"
	"trustnode/federation/p2p"
	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// RunOptions are what running needs beside the configuration.
type RunOptions struct {
	Log               *slog.Logger
	Version           string
	AcceptUnconfirmed bool
}

// Times of a running node.
const (
	startWait  = 10 * time.Second // for a command that has the directory open, or a node that stops
	answerWait = 3 * time.Second  // for answers under way when the node stops
	drainWait  = 2 * time.Second  // for what waits to reach the log when the node stops
	closeWait  = 10 * time.Second // the same for a command, which has nobody to hurry it
	spreadWait = time.Second      // for a member to cosign the last head when the node stops
	renewEvery = time.Hour
	pushEvery  = 15 * time.Second // between two rounds of asking the witnesses of an own entry
)

// Run opens the node of cfg and runs it until ctx ends. What was acknowledged is durable
// at any moment; a clean stop also brings what waits into the log. pass is cleared once the
// keys are open.
func Run(ctx context.Context, cfg config.Config, pass []byte, o RunOptions) error {
	spareMemory()
	n, err := Open(ctx, cfg, Options{Passphrase: pass, Log: o.Log, Version: o.Version, Wait: startWait})
	clear(pass) // the keys are open, or will not be
	if err != nil {
		return err
	}
	err = n.Run(ctx, o.AcceptUnconfirmed, nil)
	return errors.Join(err, n.Close())
}

// Run runs an opened node until ctx ends: libp2p, HTTP, the log, the loops of the use
// cases. ready, if given, is called once both servers listen. It runs at most once.
func (n *Node) Run(ctx context.Context, acceptUnconfirmed bool, ready func()) error {
	if err := n.join(ctx); err != nil {
		return err
	}
	ln, err := n.listen()
	if err != nil {
		return err
	}
	if acceptUnconfirmed {
		if err := n.member.AcceptUnconfirmed(ctx); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	n.log.InfoContext(ctx, "running", "org", n.cfg.Org.String(), "http", n.http, "p2p", n.addresses(), "version", n.version)
	// The log outlives what feeds it, and the links its last turn: a clean stop leaves nothing
	// waiting, and the last head lies not on this disk alone.
	logCtx, stopLog := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLog()
	linkCtx, unlink := context.WithCancel(logCtx)
	defer unlink()
	log, links := start(logCtx, n.self.Rec.Run), start(linkCtx, n.gossip.Run)
	front := newGroup(ctx)
	front.run("http", func(ctx context.Context) error { return n.serve(ctx, ln) })
	front.run("lender", n.lender.Run)
	front.run("client", n.client.Run)
	front.run("projection", n.project)
	front.run("space", n.watchSpace)
	front.run("retention", n.retain)
	front.run("repair", n.mend)
	front.run("renewal", n.renew)
	front.run("entry", n.pushEntry)
	front.run("log", log.watch)
	front.run("gossip", links.watch)
	if ready != nil {
		ready()
	}
	err = front.wait()
	n.drain(logCtx, drainWait)
	n.spread(spreadWait)
	unlink()
	<-links.done
	n.drain(logCtx, drainWait) // what was decided on a stream meanwhile
	stopLog()
	<-log.done
	n.log.Info("stopped")
	return errors.Join(err, log.err)
}

// join makes the transport and the gossip node above it.
func (n *Node) join(ctx context.Context) error {
	seed, err := n.keys.HostKey(ctx)
	if err != nil {
		return err
	}
	t, err := p2p.New(p2p.Config{Seed: seed, Listen: n.cfg.P2P, CIDRs: n.cfg.CIDRs, Log: n.log})
	clear(seed)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "p2p", fmt.Errorf("p2p: %w", err)).
			WithHint("if another program listens there: change [p2p] listen in %s, or set TRUSTNODE_P2P", filepath.Join(n.cfg.Dir, config.File))
	}
	n.transport = t
	n.onClose(t.Close)
	l := logs{n.self.Rec, n.events, n.cfg.Org, n.proveForks}
	seams := n.member.Seams()
	n.gossip, err = gossip.New(gossip.Config{Me: n.cfg.Org, Transport: t, Members: n.members(seams.Members), Greeter: seams.Greeter, Charters: seams.Charters,
		Identities: identities{n.self.Ring, n.member, n.resolver.Offer, n.proveForks}, Bindings: seams.Bindings, Beacons: seams.Beacons, Logs: l, Intake: l, Edges: l,
		Witnessing: witnessing{n}, Objects: objects{n}, Lender: n.lender, Keys: n.self.Ring.HeadSource(), SyncEvery: n.cfg.SyncEvery, Now: time.Now, Log: n.log})
	if err != nil {
		return err
	}
	n.self.Peers = peers{n}
	return n.member.Relisten(ctx, t.Addrs())
}

// listen opens the HTTP server's socket and writes into the lock where it is.
func (n *Node) listen() (net.Listener, error) {
	ln, err := net.Listen("tcp", n.cfg.HTTP)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "http", fmt.Errorf("http: %w", err)).
			WithHint("if another program listens there: change [http] listen in %s, or set TRUSTNODE_HTTP", filepath.Join(n.cfg.Dir, config.File))
	}
	n.http = reachable(ln.Addr())
	if err := n.lock.say(n.http); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// reachable is where this machine reaches a listener.
func reachable(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok || !t.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(t.Port))
}

// keysMoved has events of an organization judged again once its keys are known.
func (n *Node) keysMoved(ctx context.Context, d did.DID) {
	if err := n.self.Rec.Recheck(ctx, d); err != nil {
		n.log.WarnContext(ctx, "events of a member could not be judged again", "org", d.String(), "err", err)
	}
}

// proveForks logs what a peer's DID log has proven.
func (n *Node) proveForks(ctx context.Context) {
	if err := n.member.ProveForks(ctx); err != nil {
		n.log.WarnContext(ctx, "a fork is held and not logged yet", "err", err)
	}
}

// doubted has a member's nodes synced with: its log tells of a fork whose lines only they
// may have.
func (n *Node) doubted(by did.DID) {
	if n.gossip != nil {
		n.gossip.SyncSoon(by)
	}
}

// onHead tells gossip of every new head.
func (n *Node) onHead(h recorder.HeadNews) {
	if n.gossip != nil {
		n.gossip.NewHead(gossip.NewHead{Org: h.Org, Size: h.Size, Note: h.Note, Prompt: h.Prompt})
	}
}

// serve answers HTTP until ctx ends, then lets answers under way finish.
func (n *Node) serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: n.handler, ReadHeaderTimeout: httpapi.ReadHeaderTimeout, IdleTimeout: httpapi.IdleTimeout, MaxHeaderBytes: httpapi.MaxHeaderBytes,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	close(n.stopping)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWait)
	defer cancel()
	if err := n.lock.say(""); err != nil {
		n.log.Warn("the lock still names an address", "err", err)
	}
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close()
	}
	<-failed
	return nil
}

// project brings events into the state whenever a log moved.
func (n *Node) project(ctx context.Context) error {
	for {
		changed := n.self.Rec.Changed()
		if err := n.member.Project(ctx); err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "projection stopped at an event; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// renew keeps agents and binding valid.
func (n *Node) renew(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		if err := n.member.Renew(ctx, time.Now()); err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "renewal failed; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// pushEntry has the witnesses of an own DID log entry asked until enough have signed.
func (n *Node) pushEntry(ctx context.Context) error {
	tick := time.NewTicker(pushEvery)
	defer tick.Stop()
	for {
		if err := n.member.PushEntry(ctx); err != nil && ctx.Err() == nil {
			n.log.WarnContext(ctx, "an entry of the own DID log does not go on; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// drain brings what waits into the log, as far as that goes in the time given.
func (n *Node) drain(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := n.self.Rec.Flush(ctx); err != nil && !errors.Is(err, recorder.ErrRecovering) {
		n.log.Warn("some decisions wait in the outbox; the next start brings them into the log", "err", err)
	}
}

// spread waits a while until a member has cosigned the last head, if any is linked.
func (n *Node) spread(wait time.Duration) {
	l, err := n.events.Log(context.Background(), n.cfg.Org)
	if err != nil {
		return // nothing is in the log
	}
	head, _ := l.Head()
	for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		linked := slices.ContainsFunc(n.gossip.Peers(), func(p gossip.PeerStatus) bool { return p.Linked })
		if !linked || head.Size == 0 || len(n.events.Witnessed(n.cfg.Org, head.Size-1)) > 0 {
			return
		}
	}
}

func (n *Node) addresses() []string {
	if n.transport == nil {
		return nil
	}
	var out []string
	for _, a := range n.transport.Addrs() {
		out = append(out, a+"/p2p/"+n.transport.ID().String())
	}
	return out
}

// task is a goroutine and how it ended; ending because its context did is no failure.
type task struct {
	done chan struct{}
	err  error // valid once done is closed
}

func start(ctx context.Context, f func(context.Context) error) *task {
	t := &task{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		if err := f(ctx); !errors.Is(err, context.Canceled) {
			t.err = err
		}
	}()
	return t
}

// watch waits for the task while ctx lasts, and says how it ended.
func (t *task) watch(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-t.done:
		return t.err
	}
}

// group runs parts together: the first that fails stops the others.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

func newGroup(parent context.Context) *group {
	ctx, cancel := context.WithCancelCause(parent)
	return &group{ctx: ctx, cancel: cancel}
}

// run starts one part. Ending because ctx ended is no failure.
func (g *group) run(name string, f func(context.Context) error) {
	g.wg.Go(func() {
		if err := f(g.ctx); err != nil && !errors.Is(err, context.Canceled) {
			g.cancel(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// wait returns once every part has ended: nil after the parent ended, else the first failure.
func (g *group) wait() error {
	g.wg.Wait()
	defer g.cancel(nil)
	if err := context.Cause(g.ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
