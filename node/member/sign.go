package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// Sign adds the own signature and the own binding to a draft, which it verifies first. In
// this order: the slot is pinned, so that no second body is ever signed in it;
// charter.signed is durable in the own log; then the signature is made and released. A
// crash in between is continued by signing again. governance is the signer of the
// governance key, where the draft names that one; else nil.
func (m *Member) Sign(ctx context.Context, file []byte, governance envelope.Signer) (Draft, error) {
	f, err := readFile(file)
	if err != nil {
		return Draft{}, err
	}
	at, err := m.now()
	if err != nil {
		return Draft{}, err
	}
	res, err := m.review(ctx, f, at)
	if err != nil {
		return Draft{}, err
	}
	signed, _, err := who(f, res)
	if err != nil {
		return Draft{}, err
	}
	if slices.Contains(signed, m.n.Org) {
		return m.draft(ctx, f, at)
	}
	event, err := m.commit(ctx, res, governance, at)
	if err != nil {
		return Draft{}, err
	}
	if err := m.appended(ctx, event); err != nil {
		return Draft{}, err
	}
	if f, err = m.release(ctx, f, res.Draft, governance, at); err != nil {
		return Draft{}, err
	}
	return m.draft(ctx, f, at)
}

// commit pins the slot of a draft and drafts charter.signed.
func (m *Member) commit(ctx context.Context, res charter.Result, governance envelope.Signer, at time.Time) (envelope.ID, error) {
	m.own.Lock()
	defer m.own.Unlock()
	if err := m.maySign(ctx, res, at); err != nil {
		return envelope.ID{}, err
	}
	if _, err := m.charterKey(ctx, res.Draft, governance); err != nil {
		return envelope.ID{}, err
	}
	slot := charter.SlotOf(res.Draft.Body, res.Draft.ID)
	if err := m.cfg.Pins.Put(ctx, slot, res.Draft.ID.String()); err != nil {
		return envelope.ID{}, taken(err, res.Draft.Seq)
	}
	return m.logCommit(ctx, slot.Key, slot.N, res.Draft)
}

// release signs a draft that is committed to, and adds the own binding.
func (m *Member) release(ctx context.Context, f charter.File, draft charter.Head, governance envelope.Signer, at time.Time) (charter.File, error) {
	m.own.Lock()
	defer m.own.Unlock()
	signer, err := m.charterKey(ctx, draft, governance)
	if err != nil {
		return f, err
	}
	r, _ := draft.Member(m.n.Org)
	binding, err := m.bind(ctx, federationOf(draft), r.Generation, at)
	if err != nil {
		return f, err
	}
	if f, err = f.Sign(ctx, m.n.Org, signer); err != nil {
		return f, err
	}
	return charter.Merge(f, charter.File{Bindings: []envelope.Envelope{binding}})
}

// charterKey is the signer of the key a draft names for this organization: the issuer key,
// or the governance key.
func (m *Member) charterKey(ctx context.Context, draft charter.Head, governance envelope.Signer) (envelope.Signer, error) {
	issuer, _, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return nil, err
	}
	r, ok := draft.Member(m.n.Org)
	switch {
	case !ok:
	case r.Key.Pub == issuer.Public():
		return issuer, nil
	case governance != nil && r.Key.Pub == governance.Public():
		return governance, nil
	default:
		if g, err := m.governanceKey(ctx); err == nil && g == r.Key.Pub {
			return nil, noGovernance()
		}
	}
	return nil, refusal(charter.ErrNotNamed)
}

// joinKey is the signer of the key that the charter is to name: the governance key where
// the own document has one.
func (m *Member) joinKey(ctx context.Context, governance envelope.Signer) (envelope.Signer, error) {
	g, err := m.governanceKey(ctx)
	switch {
	case err != nil:
		return nil, err
	case g.IsZero():
		issuer, _, err := m.n.Signers.Issuer(ctx)
		return issuer, err
	case governance == nil || governance.Public() != g:
		return nil, noGovernance()
	}
	return governance, nil
}

// governanceKey is the governance key of the own document, zero for none.
func (m *Member) governanceKey(ctx context.Context) (did.PublicKey, error) {
	doc, err := m.n.Ring.Document(ctx, m.n.Org)
	return didwebvh.RolesOf(doc).Governance, err
}

func noGovernance() error {
	return fault.New(fault.Unauthenticated, "governance_keys", "this organization signs charters with its governance key, which the node does not hold").
		WithHint("name the directory of that key: --governance-keys DIR")
}

// maySign refuses what this node must not sign now.
func (m *Member) maySign(ctx context.Context, res charter.Result, at time.Time) error {
	if unknown := res.Draft.NeedsUpgrade(); len(unknown) > 0 {
		return fault.New(fault.Refused, "upgrade_required", "the draft asks for %v, which this node does not know", unknown).WithHint("upgrade trustnode")
	}
	state, reasons, may := m.State(at)
	allowed := may.Sign == federation.SignAny
	if state == federation.Alone {
		r, _ := res.Draft.Member(m.n.Org)
		allowed = may.Sign == federation.SignGenesis && r.SinceSeq == res.Draft.Seq // a genesis, or the own admission
	}
	if s, _ := m.n.Rec.State(); !allowed || !may.OwnLog || s != recorder.Open {
		return m.notNow(state, reasons, "no charter is signed")
	}
	return m.freshHeads(ctx, res.Draft)
}

// notNow is the refusal of a state.
func (m *Member) notNow(state federation.State, reasons []federation.Reason, what string) error {
	code := codeOf(state)
	if len(reasons) > 0 && reasons[0].Why == federation.WhyForkProof {
		code = fault.Forked
	}
	d := fault.New(code, state.String(), "%s in the state %s", what, state)
	words := m.Words(reasons)
	switch {
	case len(words) > 0 && state == federation.Recovering:
		return d.WithHint("%s; that needs a running node, trustnode run; trustnode status --wait fresh waits for it", words[0])
	case len(words) > 0:
		return d.WithHint("%s", words[0])
	}
	return d
}

func codeOf(s federation.State) fault.Code {
	switch s {
	case federation.Stale, federation.Unconfirmed:
		return fault.Stale
	case federation.Expired:
		return fault.Expired
	case federation.Forked:
		return fault.Forked
	}
	return fault.Refused
}

// freshHeads refuses a body that names an older version of anybody's DID than the one
// held here: its key may be the one a thief has.
func (m *Member) freshHeads(ctx context.Context, draft charter.Head) error {
	for _, r := range draft.ActiveMembers() {
		if f, err := m.n.Ring.Forked(ctx, r.DID); err == nil && f != nil && f.Decided == "" {
			return refusal(f)
		}
		held, err := m.versionOf(ctx, r.DID)
		if errors.Is(err, keyring.ErrAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		if held == r.DIDHead {
			continue
		}
		if newer, err := m.n.Ring.Extends(r.DID, r.DIDHead, held); err == nil && newer {
			return fault.New(fault.Stale, "base", "the draft names version %s of %s, %s is held here", r.DIDHead, place(r.DID), held).
				WithHint("draft it again with a new join file of %s; signatures are dropped, all sign again", place(r.DID))
		}
	}
	return nil
}

// reasonRecovering is the reason of a refusal while the own log takes nothing.
const reasonRecovering = "recovering"

// logCommit drafts the one charter.signed of a slot, or finds the one that was.
func (m *Member) logCommit(ctx context.Context, fed string, slot uint64, head charter.Head) (event envelope.ID, err error) {
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		row, ok, err := get[commitRow](tx, commitKey(fed, slot))
		if err != nil {
			return err
		}
		if ok && row.Body != head.ID {
			return fault.New(fault.Conflict, "already_signed", "%s is logged as signed in the place of %s", row.Body, head.ID)
		}
		if ok {
			event = row.Event
			return nil
		}
		event, err = m.n.Rec.Event(tx, attestation.Draft{Type: "charter.signed", Subject: head.ID.String(), Refs: []envelope.ID{head.ID},
			Data: attestation.CharterSigned{Body: head.ID, Round: head.Round, Seq: head.Seq}})
		if err != nil {
			return err
		}
		return put(tx, commitKey(fed, slot), commitRow{Body: head.ID, Event: event})
	})
	return event, undrafted(err)
}

// appended waits until an own event is durable in the own log. It refuses where the log
// takes nothing: then the event waits in the outbox.
func (m *Member) appended(ctx context.Context, id envelope.ID) error {
	for {
		if s, why := m.n.Rec.State(); s != recorder.Open {
			return fault.New(fault.Refused, reasonRecovering, "the own log takes nothing now: %s", why).
				WithHint("waiting for a peer to confirm our last head; nothing is signed until then")
		}
		wait, cancel := context.WithTimeout(ctx, appendPoll)
		_, err := m.n.Rec.WaitAppended(wait, id)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("charter or agent event %s is not in the own log yet: %w", id, ctx.Err())
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
}
