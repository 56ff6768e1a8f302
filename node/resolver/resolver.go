package resolver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/didjwk"
	"trustnode/did/didkey"
	"trustnode/did/didpeer"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/interop"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/did/resolution"
	"trustnode/node/fetch"
	"trustnode/node/self"
)

// Host asks the web server that a DID names; *fetch.Fetcher is one. Its errors are those
// of did.Source. Safe for concurrent use.
type Host interface {
	Fetch(ctx context.Context, d did.DID) (fetch.Fetched, error)
}

var _ Host = (*fetch.Fetcher)(nil)

// errNoHost says that no host may be asked.
var errNoHost = fmt.Errorf("no host is asked here: %w", did.ErrUnavailable)

// Config is what a Resolver needs beside the shared node.
type Config struct {
	Host Host // nil: no host is ever asked
	// Moved is called when a head moved or came to count again, once that is durable: what
	// waited for its keys is judged again. Optional.
	Moved func(ctx context.Context, d did.DID)
}

// Resolver resolves DIDs. It is safe for concurrent use. Made by New and Alone.
type Resolver struct {
	n        *self.Node // nil: alone
	ring     *keyring.Ring
	registry *interop.Registry
	cfg      Config
	log      *slog.Logger
	now      func() time.Time

	mu      sync.Mutex
	refused map[string]uint64 // guarded by mu: offers that were not taken, by reason
}

// New returns the resolver of a node.
func New(n *self.Node, cfg Config) *Resolver {
	r := with(n.Ring, cfg, n.Log, func() time.Time {
		at, err := n.Clock.Now()
		if err != nil {
			return n.Clock.Last() // what is held is still told; nothing is decided by it
		}
		return at
	})
	r.n = n
	return r
}

// Alone returns a resolver that belongs to no node: it holds nothing, and what it is given
// or fetches is held as long as itself.
func Alone(h Host, now func() time.Time) *Resolver {
	return with(keyring.New(keyring.Memory(), pins.Memory(), now), Config{Host: h}, slog.New(slog.DiscardHandler), now)
}

func with(ring *keyring.Ring, cfg Config, log *slog.Logger, now func() time.Time) *Resolver {
	if cfg.Moved == nil {
		cfg.Moved = func(context.Context, did.DID) {}
	}
	methods := []did.Resolver{didkey.Resolver{}, didpeer.Resolver{}, didjwk.Resolver{}}
	for _, m := range ring.Resolvers() {
		if m.Method() == didweb.Method {
			m = placed{m}
		}
		methods = append(methods, m)
	}
	return &Resolver{ring: ring, registry: interop.New(methods...), cfg: cfg, log: log, now: now, refused: map[string]uint64{}}
}

// placed refuses a did:web that names no place before anything is looked up.
type placed struct{ did.Resolver }

// Resolve implements did.Resolver.
func (p placed) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if _, err := didweb.ParseIdentifier(d); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	return p.Resolver.Resolve(ctx, d, m, o)
}

// Resolve answers d from what is held here; nobody is asked and nothing is stored. o.Now is
// the node's clock if it is zero. Errors are *did.ResolutionError.
func (r *Resolver) Resolve(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
	return r.Given(ctx, d, did.Material{}, o)
}

// Given is Resolve from bytes that somebody handed in, or from what is held if there are
// none. A resolver that is alone holds them from then on. Errors are *did.ResolutionError.
func (r *Resolver) Given(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if o.Now.IsZero() {
		o.Now = r.now()
	}
	res, err := r.registry.Resolve(ctx, d.String(), m, o)
	if err != nil {
		return did.Resolution{}, worded(err)
	}
	if r.n == nil && len(m.Log) > 0 {
		r.hold(ctx, d, m)
	}
	res.Warnings = append(append(slices.Clip(res.Warnings), r.changes(ctx, d)...), r.decided(ctx, d)...)
	return res, nil
}

// hold lets a resolver that is alone answer earlier versions as well. What the ring does
// not take is answered all the same, once.
func (r *Resolver) hold(ctx context.Context, d did.DID, m did.Material) {
	if d.Method() == didwebvh.Method {
		_, _ = r.ring.Offer(ctx, d, m.Log, m.Witness)
	}
}

// changes says which documents of a did:web were seen and are not trusted.
func (r *Resolver) changes(ctx context.Context, d did.DID) []did.Warning {
	if d.Method() != didweb.Method {
		return nil
	}
	list, err := r.ring.Changes(ctx, d)
	if err != nil {
		return nil // not held
	}
	var out []did.Warning
	for _, c := range list {
		out = append(out, did.Warning{Where: d.String(), What: fmt.Sprintf("%v (offered %s)", &c, c.Offered)})
	}
	return out
}

// decided says that another continuation of a log was seen, though it was decided against. An open fork has no answer to
// stand beside.
func (r *Resolver) decided(ctx context.Context, d did.DID) []did.Warning {
	if d.Method() != didwebvh.Method {
		return nil
	}
	f, err := r.ring.Forked(ctx, d)
	if err != nil || f == nil || f.Decided == "" {
		return nil
	}
	return []did.Warning{{Where: d.String(), What: fmt.Sprintf("another entry %d was seen, %s; it was decided against (%s)", f.Number, f.Offered, f.Decided)}}
}

// worded says of a fork what it means for keys: whoever reads of two entries should not
// have to know which of them counts.
func worded(err error) error {
	var e *did.ResolutionError
	var f *keyring.Fork
	if errors.As(err, &e) && e.Name == did.Forked && errors.As(err, &f) {
		return &did.ResolutionError{Name: did.Forked, Err: fmt.Errorf("%w; keys after entry %d are not accepted", f, f.Number-1)}
	}
	return err
}

// Service answers requests in the form of DID Resolution 1.0 from what is held here; with
// fresh, hosts are asked first.
func (r *Resolver) Service(fresh bool) resolution.Service {
	s := resolution.Service{Resolve: r.Resolve, Now: r.now, ConfirmedBy: r.ConfirmedBy, Failed: func(ctx context.Context, err error) {
		if !errors.Is(err, did.ErrUnavailable) { // a host that does not answer is no fault of this node
			r.log.ErrorContext(ctx, "a DID could not be resolved", "err", err)
		}
	}}
	if fresh {
		s.Resolve = r.Fresh
	}
	return s
}

// ConfirmedBy names who stated last that the version of a result is its DID's newest one,
// "" if nobody did.
func (r *Resolver) ConfirmedBy(res did.Resolution) string {
	if res.ConfirmedAt.IsZero() {
		return ""
	}
	if by, at := r.ring.Confirmed(res.DID); at.Equal(res.ConfirmedAt) {
		return string(by)
	}
	if i := slices.IndexFunc(res.Evidence, func(e did.Evidence) bool { return e.Step == StepHost }); i >= 0 {
		return string(keyring.ByHost)
	}
	return ""
}

// pinned reports whether d is held, or pinned and behind its pin, under this name or
// another one of the same log.
func (r *Resolver) pinned(ctx context.Context, d did.DID) bool {
	_, err := r.ring.Head(ctx, d)
	if !errors.Is(err, keyring.ErrAbsent) {
		return true // held, or *Below
	}
	if d.Method() != didwebvh.Method {
		return false
	}
	list, err := r.ring.List(ctx)
	scid, _, _ := strings.Cut(d.ID(), ":")
	return err == nil && slices.ContainsFunc(list, func(v keyring.Version) bool {
		return v.DID.Method() == didwebvh.Method && strings.HasPrefix(v.DID.ID(), scid+":")
	})
}
