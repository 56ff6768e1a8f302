package charter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// Card is a verified join: who asks, under a DID log that verifies and ends at
// the version the join names.
type Card struct {
	Join envelope.Verified[Join]
	Head string // newest version of the DID; "" for did:key
}

// NewJoinFile seals a join with the key it names and puts the DID log beside it.
// logs is empty for a did:key.
func NewJoinFile(ctx context.Context, j Join, s envelope.Signer, logs ...bundle.DIDLog) (File, error) {
	if j.Key.Pub != s.Public() {
		return File{}, ErrNotNamed
	}
	e, err := envelope.Seal(ctx, j, s)
	if err != nil {
		return File{}, err
	}
	return File{Joins: []envelope.Envelope{e}, Logs: logs}.tidy()
}

// Cards verifies the DID logs and the joins of a file: each log verifies, its head
// is the version the join names, the key is an assertion key there and signed the
// join. The first that is not so fails all.
func Cards(ctx context.Context, f File, r Ring) ([]Card, error) {
	heads, err := offer(ctx, f, r)
	if err != nil {
		return nil, err
	}
	var cards []Card
	for _, e := range f.Joins {
		c, err := card(ctx, e, heads, r)
		if err != nil {
			return nil, err
		}
		cards = append(cards, c)
	}
	return cards, nil
}

// offer hands every log of the file to the ring.
func offer(ctx context.Context, f File, r Ring) (map[did.DID]string, error) {
	heads := map[did.DID]string{}
	for _, l := range f.Logs {
		head, err := r.Offer(ctx, l.DID, l.From, l.Log, l.Witness)
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", l.DID, err)
		}
		heads[l.DID] = head
	}
	return heads, nil
}

func card(ctx context.Context, e envelope.Envelope, heads map[did.DID]string, r Ring) (Card, error) {
	v, err := openJoin(ctx, e, r)
	if err != nil {
		return Card{}, err
	}
	j := v.Body()
	if j.DIDVersion != heads[j.Org] {
		return Card{}, fmt.Errorf("join of %s names version %s, its log ends at %s", j.Org, j.DIDVersion, heads[j.Org])
	}
	return Card{Join: v, Head: heads[j.Org]}, nil
}

// openJoin verifies a join under the key it names, which its DID lists at the
// version it names.
func openJoin(ctx context.Context, e envelope.Envelope, k Keys) (envelope.Verified[Join], error) {
	j, err := envelope.Decode[Join](e)
	if err != nil {
		return envelope.Verified[Join]{}, err
	}
	listed, err := keysAt(k, j.Org, j.DIDVersion)
	if err != nil {
		return envelope.Verified[Join]{}, fmt.Errorf("join of %s: %w", j.Org, err)
	}
	return envelope.Open[Join](ctx, e, envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
		for _, pub := range listed {
			if pub == j.Key.Pub {
				return did.Key{Public: pub, Version: j.DIDVersion}, nil
			}
		}
		return did.Key{}, envelope.ErrUnknownKey
	}))
}

// Result is what a file says once everything in it has been verified.
type Result struct {
	Chain    Chain               // as far as accepted; with the draft only if Outcome is nil
	Draft    Head                // the newest charter of the file
	Parent   *Head               // what it follows; nil for a genesis
	Ops      []Op                // what it changes; nil for a genesis
	Tally    Tally               // its signatures; zero if the draft was held already
	Outcome  error               // nil: accepted; a *Refused that is Short, or *Parked
	Joins    []Join              // verified
	Bindings []envelope.Envelope // as they came
}

// Words says what the draft lays down or changes.
func (r Result) Words() []string {
	if r.Parent == nil {
		return Words(r.Draft.Body)
	}
	lines, err := DiffWords(r.Parent.Body, r.Draft.Body)
	if err != nil {
		return []string{err.Error()} // Review computed the same difference before
	}
	return lines
}

// Review verifies a whole file on top of base, the chain held (zero: none), with
// nothing but the file: DID logs, joins, then every charter in order, each record
// that enters against the organization's own join. A draft that only lacks
// signatures, or is parked, is no error but an Outcome. Other errors: those of
// Genesis and Next, *Inconsistent, ErrNoDraft, ErrTwoDrafts, what the ring says of a log.
func Review(ctx context.Context, base Chain, f File, r Ring, at time.Time) (Result, error) {
	return review(ctx, base, f, r, judge{keys: r, at: at})
}

// review is Review by a judge that knows keys and time.
func review(ctx context.Context, base Chain, f File, r Ring, by judge) (Result, error) {
	if _, err := offer(ctx, f, r); err != nil {
		return Result{}, err
	}
	_, draft, err := f.Draft()
	if err != nil {
		return Result{}, err
	}
	res := Result{Chain: base, Draft: draft, Bindings: f.Bindings}
	if res.Joins, err = joins(ctx, f, r); err != nil {
		return Result{}, err
	}
	if by.released, err = abandons(f, r); err != nil {
		return Result{}, err
	}
	for _, e := range f.Charters {
		if err := res.step(e, by); err != nil {
			return Result{}, err
		}
	}
	return res, nil
}

// Apply is Review for a file whose draft must be accepted: the Outcome is the error.
// A charter that the voters of its parent have not signed is refused for that before
// it can be pending for a newcomer's DID log, or for an abandon.
func Apply(ctx context.Context, base Chain, f File, r Ring, at time.Time) (Result, error) {
	res, err := review(ctx, base, f, r, judge{keys: r, at: at, signedFirst: true})
	if err != nil {
		return Result{}, err
	}
	if res.Outcome != nil {
		return Result{}, res.Outcome
	}
	return res, nil
}

func joins(ctx context.Context, f File, r Ring) ([]Join, error) {
	var list []Join
	for _, e := range f.Joins {
		v, err := openJoin(ctx, e, r)
		if err != nil {
			return nil, err
		}
		list = append(list, v.Body())
	}
	return list, nil
}

// step judges one charter of the file.
func (r *Result) step(e envelope.Envelope, by judge) error {
	id := e.ID()
	b, err := decode(e)
	if err != nil {
		return err
	}
	for _, j := range r.Joins {
		if err := consistent(j, b); err != nil {
			return err
		}
	}
	by.child, by.id = b, id
	if _, held := r.Chain.Find(id); held {
		return r.consider(id, Tally{})
	}
	var next Chain
	var t Tally
	if r.Chain.IsZero() {
		next, t, err = by.begin(e)
	} else {
		next, t, err = r.Chain.follow(e, by)
	}
	var refused *Refused
	var parked *Parked
	waits := errors.As(err, &parked) || errors.As(err, &refused) && refused.Short()
	if err != nil && !(waits && id == r.Draft.ID) {
		return err
	}
	if err := r.consider(id, t); err != nil {
		return err
	}
	if r.Outcome = err; err == nil {
		r.Chain = next
	}
	return nil
}

// consider fills in what is known of the draft, before the chain moves onto it.
func (r *Result) consider(id envelope.ID, t Tally) error {
	if id != r.Draft.ID {
		return nil
	}
	r.Tally = t
	if r.Draft.Seq == 0 {
		return nil
	}
	parent, ok := r.Chain.Find(r.Draft.Prev)
	if !ok {
		return &Pending{Charter: r.Draft.Prev}
	}
	ops, err := Diff(parent.Body, r.Draft.Body)
	if err != nil {
		return refuse(StepDiff, "%v", err)
	}
	r.Parent, r.Ops = &parent, ops
	return nil
}

// consistent holds the record of a newcomer against its own join. Only votes may
// differ, and only downwards and after the genesis: those who admit it may withhold the vote.
func consistent(j Join, b Body) error {
	m, ok := b.Member(j.Org)
	if !ok || m.SinceSeq != b.Seq {
		return nil
	}
	want := j.Member(b.Seq)
	for _, c := range []struct {
		member string
		same   bool
	}{
		{"name", m.Name == want.Name}, {"contact", m.Contact == want.Contact}, {"key", m.Key == want.Key},
		{"did_head", m.DIDHead == want.DIDHead}, {"scid", m.SCID == want.SCID}, {"bindings_max", m.BindingsMax == want.BindingsMax},
		{"federation", j.Federation.IsZero() || j.Federation == b.Federation},
		{"votes", m.Votes == want.Votes || !m.Votes && b.Seq > 0},
	} {
		if !c.same {
			return &Inconsistent{Org: j.Org, Member: c.member}
		}
	}
	return nil
}

// abandons opens the abandons of the file that some held version of their
// organization signed; others prove nothing and are left out.
func abandons(f File, k Keys) ([]envelope.Verified[Abandon], error) {
	var list []envelope.Verified[Abandon]
	for _, e := range f.Abandons {
		a, err := envelope.Decode[Abandon](e)
		if err != nil {
			return nil, err
		}
		keys, err := keysAt(k, a.Org, a.DIDVersion)
		if err != nil {
			continue
		}
		v, _, err := envelope.OpenSet[Abandon](e, keys, func(signed []did.PublicKey) error {
			if len(signed) == 0 {
				return envelope.ErrSignature
			}
			return nil
		})
		if err == nil {
			list = append(list, v)
		}
	}
	return list, nil
}
