package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

// Inspected counts what Inspect looked at.
type Inspected struct {
	Outbox     uint64 // items that wait
	Objects    uint64
	Signatures uint64 // heads and cosignatures that verify
	Pinned     uint64 // size of the own log that pins name
	Signed     uint64 // size of the newest own head; above Pinned only while Recovering
	Recovering bool   // the own log waits for what peers have of it
}

// inspection is one pass over what a node's two databases say of each other.
type inspection struct {
	r     *Recorder
	found func(store.Fault)
	n     Inspected
}

// Inspect verifies what neither database says alone: that outbox and mark meet, that
// objects hash to their ids, that every head kept is signed by a key in force at its last
// index and every cosignature by its witness, and that the logs reach what pins name. It
// needs no private key and changes nothing. Of cfg it reads Org, State, Events, Pins and
// Ring. An error is one of reading; what is wrong is told to found.
func Inspect(ctx context.Context, cfg Config, found func(store.Fault)) (Inspected, error) {
	i := &inspection{found: found, r: Reading(cfg)}
	for _, step := range []func(context.Context) error{i.outbox, i.objects, i.floor, i.cosigned, i.heads} {
		if err := step(ctx); err != nil {
			return i.n, err
		}
	}
	return i.n, nil
}

// Reading returns a Recorder that answers from what is held and takes nothing: it has no
// signer and must not be run. Of cfg it reads Org, State, Events, Pins and Ring.
func Reading(cfg Config) *Recorder {
	cfg.Log = slog.New(slog.DiscardHandler)
	return &Recorder{cfg: cfg, state: Recovering, keys: map[did.DID]history.Keys{}, moves: map[did.DID]uint64{}, opened: newOpenedCache(), pulse: make(chan struct{}), wake: make(chan struct{}, 1)}
}

func (i *inspection) fault(part, format string, args ...any) {
	i.found(store.Fault{Log: part, What: fmt.Sprintf(format, args...)})
}

// outbox checks that its numbers have no hole, that each item reads, and L ≤ M+1 ≤ N+1.
func (i *inspection) outbox(ctx context.Context) error {
	mark, err := i.r.cfg.Events.Mark(ctx)
	if err != nil {
		return err
	}
	return i.r.cfg.State.View(ctx, func(s store.Reader) error {
		high, _, err := lastItem(s)
		if err != nil {
			i.fault("state", "%v", err)
			return nil
		}
		next, began := uint64(0), false
		err = s.Scan(keyItem, nil, func(k, v []byte) bool {
			if len(k) != len(keyItem)+8 {
				i.fault("state", "outbox item under the key %x", k)
				return true
			}
			n := itemNumber(k)
			if next > 0 && n != next {
				i.fault("state", "outbox items %d to %d are missing", next, n-1)
			}
			next = n + 1
			if _, err := decodeItem(n, v); err != nil {
				i.fault("state", "outbox item %d does not read", n)
			}
			if n > mark+1 && !began {
				i.fault("state", "the log took in %d, the outbox begins at %d: the audit database is older than the state", mark, n)
			}
			if began = true; n > mark { // below it lie items drained and not yet deleted
				i.n.Outbox++
			}
			return true
		})
		switch {
		case next > 0 && next != high+1:
			i.fault("state", "the outbox ends at %d, %d numbers were given", next-1, high)
		case next == 0 && mark < high:
			i.fault("state", "outbox items %d to %d are missing", mark+1, high)
		case mark > high:
			i.fault("state", "the log took in %d, the outbox ends at %d: the state is older than the audit database", mark, high)
		}
		return err
	})
}

// objects checks that each object hashes to the id it is kept under.
func (i *inspection) objects(ctx context.Context) error {
	return i.r.cfg.State.View(ctx, func(s store.Reader) error {
		return s.Scan([]byte("obj/"), nil, func(k, v []byte) bool {
			i.n.Objects++
			if len(v) == 0 || ObjectKind(v[0]) != ObjectBody {
				i.fault("state", "object %x is of no kind that is kept", k[len("obj/"):])
			} else if string(objectKey(envelope.IDOf(v[1:]))) != string(k) {
				i.fault("state", "object %x does not hash to its id", k[len("obj/"):])
			}
			return ctx.Err() == nil
		})
	})
}

// floor compares the own log with its pin: the log reaches it with the pinned root, and no
// head is signed above it, but while the node takes back from peers what it signed before.
func (i *inspection) floor(ctx context.Context) error {
	org := i.r.cfg.Org
	pin, root, ok := i.r.cfg.Pins.Highest(pins.KindLog, org.String())
	size := i.r.ownSize(ctx)
	recovering, err := i.recovering(ctx)
	if err != nil {
		return err
	}
	i.n.Pinned, i.n.Signed, i.n.Recovering = pin.N, i.r.signedSize(), recovering
	if signed := i.n.Signed; signed > 0 && !ok {
		i.fault("pins", "the head of size %d is signed, pins name none of the own log", signed)
	} else if signed > pin.N && !recovering {
		i.fault("pins", "the head of size %d is signed, pins name %d", signed, pin.N)
	}
	if !ok {
		return nil
	}
	if size < pin.N {
		i.fault(org.String(), "the log has %d events, pins name %d", size, pin.N)
		return nil
	}
	return i.rootIs(ctx, org, pin.N, root, "pinned")
}

// recovering reports whether the state says that the log waits for peers.
func (i *inspection) recovering(ctx context.Context) (is bool, err error) {
	err = i.r.cfg.State.View(ctx, func(s store.Reader) error {
		_, err := s.Get(keyRecovering)
		if is = err == nil; errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return is, err
}

// rootIs compares the root of a size with one that was written down.
func (i *inspection) rootIs(ctx context.Context, d did.DID, size uint64, root, word string) error {
	at, err := i.r.rootAt(ctx, d, size)
	if errors.Is(err, store.ErrCorrupt) {
		return nil // named where the tree is verified
	}
	if err != nil {
		return err
	}
	if at.Root.String() != root {
		i.fault(d.String(), "the root at %d is not the %s one", size, word)
	}
	return nil
}

// cosigned compares the logs of others with the heads that were cosigned here. A head above
// what is held is none of damage: entries come after their head.
func (i *inspection) cosigned(ctx context.Context) error {
	for _, d := range i.r.cfg.Events.Orgs() {
		pin, root, ok := i.r.cfg.Pins.Highest(pins.KindCosign, d.String())
		if !ok || pin.N == 0 || pin.N > i.r.size(ctx, d) {
			continue
		}
		if err := i.rootIs(ctx, d, pin.N, root, "cosigned"); err != nil {
			return err
		}
	}
	return nil
}

// heads verifies the signatures of every note kept.
func (i *inspection) heads(ctx context.Context) error {
	for _, d := range i.r.cfg.Events.Orgs() {
		k, err := i.r.Keys(ctx, d)
		if err != nil {
			return err
		}
		held := i.r.size(ctx, d)
		err = i.r.cfg.Events.EachNote(ctx, d, func(b []byte) error {
			n, err := attlog.ParseNote(b)
			if err != nil || n.Head.Size == 0 || n.Head.Size > held {
				return ctx.Err() // named where the notes are compared with the tree
			}
			i.head(ctx, k, n)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// head verifies one note: its own line under a key in force at its last index, and its
// cosignatures. What no key known here could decide is not judged.
func (i *inspection) head(ctx context.Context, k history.Keys, n attlog.Note) {
	keys := k.InForce(n.Head.Size - 1)
	switch _, ok := signedBy(n, keys); {
	case ok:
		i.n.Signatures++
	case len(keys) > 0:
		i.fault(n.Org.String(), "the head of size %d has no signature of a key that was in force at its last entry", n.Head.Size)
	}
	_, verdicts := n.Cosignatures(i.r.witnessKeys(ctx))
	for at, v := range verdicts {
		switch v {
		case attlog.LineGood:
			i.n.Signatures++
		case attlog.LineFalse:
			i.fault(n.Org.String(), "the cosignature %s over size %d does not verify", n.Lines[at].Name, n.Head.Size)
		}
	}
}
