// Package oracle answers: how has this party kept its word, and who says so?
//
// It turns the events of all logs held here, and the cases they make, into the score of
// package trust, and signs the answer as this organization. Nothing is stored or
// published: an answer is a fold, asked with a moment. Whatever two honest nodes may
// differ in (rows, arrival, clocks) has no part in it, so equal logs and an equal charter
// give equal answers.
//
// The charter of an answer is the head of the chain at the time of asking, whatever the
// moment asked for: its policy and its groups are in force for the whole fold.
package oracle

import (
	"context"
	"slices"
	"sync"
	"time"

	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// Cases gives every case known here as of a moment. *party.Party is one.
type Cases interface {
	Cases(ctx context.Context, asOf time.Time) ([]mediation.Case, error)
}

// Oracle answers for one node. It is safe for concurrent use.
type Oracle struct {
	n     *self.Node
	cases Cases

	turn chan struct{} // of one: held by whoever reads the logs
	last reading       // guarded by turn

	mu     sync.Mutex
	asking chan struct{} // guarded by mu: closed when the round under way ends; nil while none is
}

// New returns the oracle of n.
func New(n *self.Node, cases Cases) *Oracle {
	return &Oracle{n: n, cases: cases, turn: make(chan struct{}, 1)}
}

// Signed is an answer with the envelope this organization signed; its id is the ETag.
type Signed struct {
	Answer   trust.Answer
	Envelope envelope.Envelope
}

// askFor is how long the members are asked about a DID that is not known here.
const askFor = 5 * time.Second

// Show computes the score of a DID. A zero asOf is now, floored to the hour; one in the
// future is invalid. A zero perspective is the federation. A DID nobody here knows is
// asked of the members once and then not_found. Refusals are *fault.Denied.
func (o *Oracle) Show(ctx context.Context, subject did.DID, asOf time.Time, perspective did.DID) (Signed, error) {
	at, err := o.moment(asOf)
	if err != nil {
		return Signed{}, err
	}
	chain, ok := o.n.Standing.Charter()
	if !ok {
		return Signed{}, fault.New(fault.Refused, "no_charter", "a score is made under a charter, and this node has none").
			WithHint("join a federation: trustnode fed apply FILE")
	}
	head := chain.Head()
	policy, err := policyOf(head)
	if err != nil {
		return Signed{}, err
	}
	r, err := o.about(ctx, head, subject, at)
	if err != nil {
		return Signed{}, err
	}
	if !perspective.IsZero() && r.world.Orgs[perspective] != perspective {
		return Signed{}, fault.New(fault.Invalid, "perspective", "%s is no organization known here", perspective)
	}
	a := trust.Score(policy, r.signals, r.world, subject, trust.View{Org: perspective}, at)
	a.Charter = trust.CharterRef{ID: head.ID, Seq: head.Seq}
	return o.sign(ctx, a)
}

// moment is the time of an answer, in whole seconds.
func (o *Oracle) moment(asOf time.Time) (time.Time, error) {
	now, err := o.n.Clock.Now()
	if err != nil {
		return time.Time{}, fault.Wrap(fault.Unavailable, "clock", err)
	}
	if asOf.IsZero() {
		return now.UTC().Truncate(time.Hour), nil
	}
	if at := asOf.UTC().Truncate(time.Second); !at.After(now) {
		return at, nil
	}
	return time.Time{}, fault.New(fault.Invalid, "as_of", "%s is in the future", asOf.UTC().Format(time.RFC3339)).
		WithHint("it is %s here", now.UTC().Format(time.RFC3339))
}

// policyOf is the policy a charter names: the built-in one, or none that is known here.
func policyOf(head charter.Head) (trust.Policy, error) {
	p, err := trust.V1()
	if err != nil {
		return trust.Policy{}, err
	}
	if id := head.Policy.TrustPolicy; !id.IsZero() && id != p.ID() {
		return trust.Policy{}, fault.New(fault.Invalid, "policy", "the trust policy is not known here").
			WithHint("charter %d names trust policy %s, this node knows v1; upgrade, or import it: trustnode fed apply FILE", head.Seq, id)
	}
	return p, nil
}

// about reads the logs, and once asks the members where the subject is in none.
func (o *Oracle) about(ctx context.Context, head charter.Head, subject did.DID, at time.Time) (reading, error) {
	r, err := o.read(ctx, head, at)
	if err != nil || !r.world.Orgs[subject].IsZero() {
		return r, err
	}
	o.ask(ctx)
	if r, err = o.read(ctx, head, at); err != nil {
		return r, err
	}
	if r.world.Orgs[subject].IsZero() {
		return r, fault.New(fault.NotFound, "did", "%s is no member's agent and no member", subject)
	}
	return r, nil
}

// ask asks the members once. Anybody may ask for a DID that does not exist, so whoever does
// while a round is under way waits for its end and starts none.
func (o *Oracle) ask(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, askFor)
	defer stop()
	o.mu.Lock()
	if under := o.asking; under != nil {
		o.mu.Unlock()
		select {
		case <-under:
		case <-ctx.Done():
		}
		return
	}
	ended := make(chan struct{})
	o.asking = ended
	o.mu.Unlock()
	if err := o.n.Peers.Sync(ctx); err != nil && ctx.Err() == nil {
		o.n.Log.DebugContext(ctx, "no member could be asked", "error", err)
	}
	o.mu.Lock()
	o.asking = nil
	o.mu.Unlock()
	close(ended)
}

// sign fills what belongs to the answering organization and signs.
func (o *Oracle) sign(ctx context.Context, a trust.Answer) (Signed, error) {
	signer, kid, err := o.n.Signers.Issuer(ctx)
	if err != nil {
		return Signed{}, err
	}
	a.Org, a.KID = o.n.Org, kid
	if a.StaleLogs, err = o.stale(ctx); err != nil {
		return Signed{}, err
	}
	e, err := envelope.Seal(ctx, a, signer)
	return Signed{a, e}, err
}

// stale names the organizations whose log is known to be longer than what is held.
func (o *Oracle) stale(ctx context.Context) ([]string, error) {
	heads, err := o.n.Rec.Heads(ctx)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, h := range heads {
		if h.Known > h.Size {
			out = append(out, h.Org.String())
		}
	}
	slices.Sort(out)
	return out, nil
}
