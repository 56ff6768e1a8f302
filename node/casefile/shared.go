package casefile

import (
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// A list of evidence may name any id, also one that its maker read in a log and never
// held. Whoever writes the file holds more than this case: what belongs to a loan or a
// case of others stays out, whoever names it.

// party says whether an organization is claimant or respondent.
func (b *builder) party(o did.DID) bool { return o == b.c.Claimant || o == b.c.Respondent }

// agentOfParty says whether a party's own log issued an agent.
func (b *builder) agentOfParty(d did.DID) (bool, error) {
	facts, err := b.facts(attestation.Query{Type: "agent.issued", Subject: d.String()})
	return slices.ContainsFunc(facts, func(f attestation.Fact) bool { return b.party(f.Event.Body().Org) }), err
}

// shared says whether a loan is one between the parties, as their logs tell.
func (b *builder) shared(perm envelope.ID) (bool, error) {
	facts, err := b.facts(attestation.Query{Type: "loan.issued", Subject: perm.String()})
	if err != nil {
		return false, err
	}
	for _, f := range facts {
		var d attestation.LoanIssued
		if !b.party(f.Event.Body().Org) || f.Event.Body().Decode(&d) != nil {
			continue
		}
		if ok, err := b.agentOfParty(d.Borrower); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// sharedObject says whether a signed object belongs to a loan between the parties.
func (b *builder) sharedObject(id envelope.ID) (bool, error) {
	e, err := b.s.Object(b.ctx, id)
	if absent(err) {
		return true, nil // nothing of it is here to be given
	}
	if err != nil {
		return false, err
	}
	switch e.Type {
	case lending.PermissionType:
		return b.shared(id)
	case lending.RevocationType:
		return b.sharedRevocation(e)
	case lending.ReadRequestType:
		r, err := envelope.Decode[lending.ReadRequest](e)
		return b.sharedIf(err, r.Perm)
	case lending.ReceiptType:
		r, err := envelope.Decode[lending.Receipt](e)
		return b.sharedIf(err, r.Perm)
	}
	return false, nil
}

// sharedIf is shared for what could be read; what could not is left out.
func (b *builder) sharedIf(bad error, perm envelope.ID) (bool, error) {
	if bad != nil {
		return false, nil
	}
	return b.shared(perm)
}

// sharedRevocation also takes the end of all loans to an agent or organization, where
// both it and its signer are of the parties.
func (b *builder) sharedRevocation(e envelope.Envelope) (bool, error) {
	r, err := envelope.Decode[lending.Revocation](e)
	if err != nil {
		return false, nil
	}
	if perm, err := envelope.ParseID(r.Target); err == nil {
		return b.shared(perm)
	}
	target, err := did.Parse(r.Target)
	if err != nil {
		return false, nil
	}
	if ok, err := b.agentOfParty(r.Issuer); !ok || err != nil {
		return false, err
	}
	if b.party(target) {
		return true, nil
	}
	return b.agentOfParty(target)
}

// sharedRow says whether an audit row is about a loan between the parties.
func (b *builder) sharedRow(body []byte) (bool, error) {
	row, err := lending.ParseRow(body)
	if err != nil {
		return false, nil
	}
	switch r := row.(type) {
	case lending.GrantedRow:
		return b.shared(r.Perm)
	case lending.DeniedRow:
		return b.shared(r.Perm)
	case lending.ReplayRow:
		return b.shared(r.Perm)
	case lending.IssueRow:
		return b.shared(r.Perm)
	case lending.ReceivedRow:
		return b.shared(r.Perm)
	case lending.EndedRow:
		return b.shared(r.Perm)
	case lending.RevokeRow:
		perm, err := envelope.ParseID(r.Target)
		return b.sharedIf(err, perm)
	}
	return false, nil
}

// sharedBody says whether the body of an event is for every member, or of this case, or of
// a loan between the parties.
func (b *builder) sharedBody(ev attestation.Event) (bool, error) {
	if rule, ok := attestation.RuleOf(ev.Type); !ok || ev.Subject == b.id.String() || rule.Readers == attestation.ReadersPublic && ev.Subject == ev.Body.String() {
		return ok, nil
	}
	perm, err := envelope.ParseID(ev.Subject)
	if err != nil || !b.party(ev.Org) {
		return false, nil
	}
	return b.shared(perm)
}

// foreignText says whether an id is that of the reasons of a ruling in another case: the
// ruling, which every member holds, names it.
func (b *builder) foreignText(id envelope.ID) (bool, error) {
	facts, err := b.facts(attestation.Query{Type: "ruling.issued"})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(facts, func(f attestation.Fact) bool {
		r, err := mediation.ParseRuling(f.Body)
		return err == nil && f.Event.Body().Subject != b.id.String() && (r.Reasons == id || r.Dissent == id)
	}), nil
}
