package daemon

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/gossip"
	"trustnode/federation/lending"
	"trustnode/mediation"
	"trustnode/node/casefile"
	"trustnode/node/library"
	"trustnode/node/member"
	"trustnode/node/self"
	"trustnode/node/store"
)

// objects gives peers what they may have by id, and takes what this node lacks: signed
// objects, bodies of events, audit rows with their path.
type objects struct{ n *Node }

var _ gossip.Objects = objects{}

// Give answers absent for what is not here and for what is not the asker's alike.
func (a objects) Give(ctx context.Context, asker did.DID, id envelope.ID) (bundle.Line, error) {
	s := a.n.self
	if s.Lib.MayRead(ctx, asker, id) != nil {
		return a.givePublic(ctx, id)
	}
	if o, err := s.Lib.Get(ctx, id); err == nil {
		return lineOf(o)
	} else if !errors.Is(err, library.ErrAbsent) {
		return nil, err
	}
	if b, err := s.Rec.Body(ctx, id); err == nil {
		return bundle.Body{Body: b}, nil
	} else if !errors.Is(err, attestation.ErrNotFound) {
		return nil, err
	}
	p, _, err := s.Rec.ProveRow(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, gossip.ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	return casefile.RowLine(p), nil
}

// givePublic gives the body of an event whose bodies are for every member. That such an
// event names an id makes nothing public: any member may name any id, also one that it
// read in another's event. The bytes have to be of the form that only public bodies have.
func (a objects) givePublic(ctx context.Context, id envelope.ID) (bundle.Line, error) {
	b, err := a.n.self.Rec.Body(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, gossip.ErrAbsent
	}
	if err != nil {
		return nil, err
	}
	naming, err := a.n.events.Naming(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, f := range naming {
		if _, ev, err := f.Entry.Envelope(); err == nil && isPublic(ev.Type, b) {
			return bundle.Body{Body: b}, nil
		}
	}
	return nil, gossip.ErrAbsent
}

// isPublic says whether bytes are what every member may read under an event of a type. A
// form that is not known here is given by grant alone.
func isPublic(t attestation.Type, body []byte) bool {
	rule, ok := attestation.RuleOf(t)
	if !ok || rule.Readers != attestation.ReadersPublic {
		return false
	}
	var err error
	switch rule.Schema {
	case "forkproof":
		_, err = federation.ParseForkProof(body)
	case "dispute":
		_, err = mediation.ParseDispute(body)
	case "answer":
		_, err = mediation.ParseAnswer(body)
	case "assignment":
		_, err = mediation.ParseAssignment(body)
	case "ruling":
		_, err = mediation.ParseRuling(body)
	default:
		return false
	}
	return err == nil
}

func lineOf(o library.Object) (bundle.Line, error) {
	if o.What == "row" {
		return bundle.ParseLine(o.Bytes)
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return nil, err
	}
	return bundle.Envelope{Envelope: e}, nil
}

// maxObject caps the body of a signed object that travels by id.
const maxObject = 64 << 10

// Take verifies what a peer sent for an id this node asked for.
func (a objects) Take(ctx context.Context, _ did.DID, l bundle.Line) (gossip.Outcome, error) {
	switch l := l.(type) {
	case bundle.Envelope:
		return a.takeSigned(ctx, l.Envelope)
	case bundle.Body:
		return a.takeBody(ctx, l.Body)
	case bundle.Row:
		return a.takeRow(ctx, l)
	}
	return gossip.False, nil
}

func (a objects) takeBody(ctx context.Context, b []byte) (gossip.Outcome, error) {
	_, err := a.n.self.Rec.PutBody(ctx, b)
	if errors.Is(err, attestation.ErrNotFound) {
		err = a.n.party.Keep(ctx, b) // no event names it; an exhibit or a ruling may
	}
	switch {
	case err == nil:
		return gossip.Taken, nil
	case errors.Is(err, attestation.ErrErased):
		return gossip.Held, nil // its origin took it back; the sender may not know yet
	case errors.Is(err, attestation.ErrNotFound):
		return gossip.Parked, nil
	case errors.Is(err, attestation.ErrTooLarge):
		return gossip.False, nil
	}
	return judged(err)
}

// takeRow checks a row against the audit.rows event that is held here.
func (a objects) takeRow(ctx context.Context, l bundle.Row) (gossip.Outcome, error) {
	f, err := a.n.self.Rec.Fact(ctx, l.Event)
	if errors.Is(err, attestation.ErrNotFound) {
		return gossip.Parked, nil
	}
	if err != nil {
		return 0, err
	}
	var d attestation.AuditRows
	if e := f.Event.Body(); e.Type != "audit.rows" || e.Decode(&d) != nil {
		return gossip.False, nil
	}
	p := audit.RowProof{Row: l.Row, Event: l.Event, Index: l.Index, Size: l.Size, Path: hashes(l.Path)}
	if p.Check(d.Root) != nil {
		return gossip.False, nil
	}
	b, err := bundle.EncodeLine(l)
	if err != nil {
		return gossip.False, nil
	}
	return a.put(ctx, library.Object{ID: envelope.IDOf(l.Row), What: "row", Bytes: b})
}

func hashes(b []byte) []tlog.Hash {
	var out []tlog.Hash
	for c := range slices.Chunk(b, tlog.HashSize) {
		var h tlog.Hash
		copy(h[:], c)
		out = append(out, h)
	}
	return out
}

func (a objects) put(ctx context.Context, o library.Object) (gossip.Outcome, error) {
	held, err := a.n.self.Lib.Get(ctx, o.ID)
	if err == nil && bytes.Equal(held.Bytes, o.Bytes) {
		return gossip.Held, nil
	}
	if err := a.n.self.DB.Update(ctx, func(tx store.Tx) error { return a.n.self.Lib.Put(tx, o) }); err != nil {
		return 0, err
	}
	return gossip.Taken, nil
}

// takeSigned opens an object under the key of the agent that signed it, whatever its
// state now: what it is good for is decided where it is used.
func (a objects) takeSigned(ctx context.Context, e envelope.Envelope) (gossip.Outcome, error) {
	var what string
	var err error
	src := self.SignerSource(self.ViewGetter(ctx, a.n.self.DB))
	switch e.Type {
	case keyring.AgentType:
		fresh, err := a.n.member.TakeAgent(ctx, e)
		if err == nil && fresh {
			return gossip.Taken, nil
		}
		return judged(err)
	case lending.PermissionType:
		what = "permission"
		_, err = envelope.Open[lending.Permission](ctx, e, src)
	case lending.RevocationType:
		what = "revocation"
		_, err = envelope.Open[lending.Revocation](ctx, e, src)
	case lending.ReadRequestType:
		what = "readrequest"
		_, err = envelope.Open[lending.ReadRequest](ctx, e, src)
	case lending.ReceiptType:
		what = "receipt"
		_, err = envelope.Open[lending.Receipt](ctx, e, src)
	default:
		return gossip.False, nil
	}
	if err != nil {
		return judged(err)
	}
	return a.put(ctx, library.Object{ID: e.ID(), What: what, Bytes: e.DSSE()})
}

// Wants lists what is named here and not held: agent objects, exhibits and texts of own
// cases, bodies of events. Each kind has its share, so that what nobody has of one kind
// keeps nothing of another from being asked for.
func (a objects) Wants(ctx context.Context, max int) ([]gossip.Want, error) {
	agents, err := a.n.member.Wants(ctx, max/2)
	if err != nil {
		return nil, err
	}
	exhibits, err := a.n.party.Wants(ctx, max)
	if err != nil {
		return nil, err
	}
	var out []gossip.Want
	for id, org := range agents {
		out = append(out, gossip.Want{ID: id, From: org})
	}
	for _, id := range exhibits {
		if len(out) < max/2+max/4 {
			out = append(out, gossip.Want{ID: id})
		}
	}
	bodies, err := a.n.self.Rec.Wanted(ctx, max)
	if err != nil {
		return nil, err
	}
	for _, w := range bodies {
		if len(out) < max && a.mine(ctx, w) {
			out = append(out, gossip.Want{ID: w.ID, From: w.Org, Body: true})
		}
	}
	return out, nil
}

// mine says whether a missing body may be for this organization: public ones, and private
// ones of loans and cases it has a part in.
func (a objects) mine(ctx context.Context, w store.Wanted) bool {
	l, err := a.n.events.Log(ctx, w.Org)
	if err != nil {
		return false
	}
	mine := false
	_ = l.Entries(ctx, w.Index, w.Index+1, func(_ uint64, en attestation.Entry) error {
		if _, ev, err := en.Envelope(); err == nil {
			mine = a.reads(ctx, ev)
		}
		return nil
	})
	return mine
}

func (a objects) reads(ctx context.Context, ev attestation.Event) bool {
	rule, ok := attestation.RuleOf(ev.Type)
	if !ok {
		return false
	}
	switch rule.Readers {
	case attestation.ReadersPublic:
		return true
	case attestation.ReadersBorrower, attestation.ReadersJury:
		return a.borrows(ctx, ev)
	case attestation.ReadersParties:
		return a.n.party.Concerns(ctx, ev)
	}
	return false
}

// borrows says whether a loan event is about an agent of this organization.
func (a objects) borrows(ctx context.Context, ev attestation.Event) bool {
	var d attestation.LoanIssued
	if ev.Type == "loan.issued" && ev.Decode(&d) == nil {
		row, err := self.Agent(self.ViewGetter(ctx, a.n.self.DB), d.Borrower)
		return err == nil && row.Org == a.n.self.Org
	}
	id, err := envelope.ParseID(ev.Subject)
	if err != nil {
		return false
	}
	_, err = a.n.self.Lib.Get(ctx, id)
	return err == nil
}

// judged sorts what opening a foreign object came to: the sender's fault, something that
// is not known here yet, or this node's own failure.
func judged(err error) (gossip.Outcome, error) {
	var form *envelope.FormError
	var kind *envelope.TypeError
	switch {
	case err == nil, errors.Is(err, member.ErrOld), errors.Is(err, member.ErrInactive):
		return gossip.Held, nil
	case errors.Is(err, member.ErrPending), errors.Is(err, envelope.ErrUnknownKey), errors.Is(err, envelope.ErrPending):
		return gossip.Parked, nil
	case errors.Is(err, member.ErrForeign), errors.Is(err, envelope.ErrSignature), errors.Is(err, envelope.ErrTooLarge),
		errors.Is(err, envelope.ErrRetired), errors.As(err, &form), errors.As(err, &kind):
		return gossip.False, nil
	}
	return 0, err
}
