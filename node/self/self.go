// Package self answers: which node is this, and what do all its use cases share?
//
// It holds the organization's identity, its stores, its clock, what it knows of
// agents, and two small seams: Standing says what the federation lets this node do
// now, Peers asks the other members. It decides nothing itself.
package self

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// Node is what every use case is given. Its fields are set once, before use.
type Node struct {
	Org      did.DID
	Name     string
	DB       store.DB // state
	Rec      *recorder.Recorder
	Ring     *keyring.Ring
	Lib      *library.Library
	Entries  *memory.Entries
	Signers  Signers
	Standing Standing
	Peers    Peers
	Clock    *Clock
	Log      *slog.Logger
}

// ErrNoKey says that this node does not hold a party's private key.
var ErrNoKey = errors.New("no private key of it is held here")

// ErrOffline says that no peer can be asked: the node does not run.
var ErrOffline = errors.New("the node does not run, no peer can be asked")

// Contested refuses to deal with an organization, code forked, while its DID is frozen by
// a fork, or since it signed two heads of its log that exclude each other; nil if neither.
func (n *Node) Contested(ctx context.Context, org did.DID) error {
	if n.Rec.Forked(org) {
		return fault.New(fault.Forked, "log", "%s signed two heads of its log that exclude each other", org).
			WithHint("the proof is in: trustnode event list --type fork.proven; nothing is lent to it or by it, and running loans rest, until a charter names the branch that stands")
	}
	v, err := n.Ring.Head(ctx, org)
	if err != nil || v.State != did.Frozen {
		return nil // one that is not held has no key that could be accepted either
	}
	return fault.New(fault.Forked, "did_log", "the DID log of %s has two branches that are signed alike", org).
		WithHint("trustnode did show %s lists both; the charter decides, or its operator says which one is theirs", org)
}

// Ended refuses to deal with an organization, code revoked, that deactivated its DID; nil
// if it did not.
func (n *Node) Ended(ctx context.Context, org did.DID) error {
	v, err := n.Ring.Head(ctx, org)
	if err != nil || v.State != did.Deactivated {
		return nil
	}
	return fault.New(fault.Revoked, "deactivated", "%s deactivated its DID: nothing new is lent by it or to it", org).
		WithHint("that is final; what was lent before stays provable")
}

// Behind refuses, as recovering, while the state lies below the pin of an organization's own
// DID, as after an old backup was put back: nothing is signed before peers have given back
// what is missing. It is nil elsewhere.
func Behind(ctx context.Context, ring *keyring.Ring, org did.DID) error {
	var b *keyring.Below
	if _, err := ring.Head(ctx, org); !errors.As(err, &b) {
		return nil
	}
	d := fault.Wrap(fault.Refused, b.FaultReason(), b).WithHint("%s", b.FaultHint())
	d.Detail = fmt.Sprintf("recovering: state has entry %d of our DID, pins name %d; signing is off", b.Held, b.Number)
	return d
}

// Signers hands out signers by whom they speak for. It is safe for concurrent use.
type Signers interface {
	// Issuer is the organization's signer and the kid of its key.
	Issuer(ctx context.Context) (envelope.Signer, string, error)
	// Agent is the signer of an own agent and its kid, or ErrNoKey.
	Agent(ctx context.Context, d did.DID) (envelope.Signer, string, error)
	// NewAgent makes and keeps the key of a new agent.
	NewAgent(ctx context.Context) (envelope.Signer, error)
}

// Standing says where this node stands in its federation. It is safe for concurrent use.
type Standing interface {
	// Charter is the chain in force; false while the node is alone.
	Charter() (charter.Chain, bool)
	// State is the node's state at a moment, with what it allows.
	State(at time.Time) (federation.State, []federation.Reason, federation.Allowed)
}

// Peers asks the other members. It is safe for concurrent use.
type Peers interface {
	// Sync runs one round with every member at once, at most 5 s in all. It fails with
	// ErrOffline, or when there are members and none answered.
	Sync(ctx context.Context) error
	// Fetch asks all members once for objects, bodies or rows by id, at most 5 s. What
	// came is stored; what nobody gave is simply not there afterwards.
	Fetch(ctx context.Context, ids ...envelope.ID) error
	// Lend is one exchange of the lending protocol with a node that org has bound.
	// federation.ErrUnreachable, or ErrOffline.
	Lend(ctx context.Context, org did.DID, frame []byte) ([]byte, error)
}

// Offline are the Peers of a node that does not run.
type Offline struct{}

// Sync returns ErrOffline.
func (Offline) Sync(context.Context) error { return ErrOffline }

// Fetch returns ErrOffline.
func (Offline) Fetch(context.Context, ...envelope.ID) error { return ErrOffline }

// Lend returns ErrOffline.
func (Offline) Lend(context.Context, did.DID, []byte) ([]byte, error) { return nil, ErrOffline }

var _ Peers = Offline{}
