package charter

import (
	"cmp"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
)

// signatures says which organizations signed, each by the key the charter names
// for it, and lists what was not counted and why. Nothing here refuses a charter:
// a stranger can add signatures to any.
func (j judge) signatures(e envelope.Envelope) (Tally, map[did.DID]bool, error) {
	keys := make([]did.PublicKey, len(j.child.Members))
	for i, m := range j.child.Members {
		keys[i] = m.Key.Pub
	}
	_, report, err := envelope.OpenSet[Body](e, keys, func([]did.PublicKey) error { return nil })
	if err != nil {
		return Tally{}, nil, refuse(StepForm, "%v", err)
	}
	var t Tally
	signed := map[did.DID]bool{}
	for _, s := range report {
		org, reason := j.verdict(s, signed)
		if reason != "" {
			t.Ignored = append(t.Ignored, Ignored{KeyID: s.Signature.KeyID, Org: org, Reason: reason})
			continue
		}
		signed[org] = true
	}
	return t, signed, nil
}

// verdict gives the organization of one signature, and why it does not count.
func (j judge) verdict(s envelope.Checked, signed map[did.DID]bool) (org did.DID, reason string) {
	m, _ := j.child.ByKey(s.Key)
	switch s.Verdict {
	case envelope.Good:
	case envelope.Bad:
		return m.DID, "does not verify"
	default:
		return did.DID{}, "under no key this charter names"
	}
	if signed[m.DID] {
		return m.DID, "counted already"
	}
	return m.DID, j.late(m)
}

// count checks the signatures and applies A4, A5 and A6; of a genesis: all sign.
func (j judge) count(e envelope.Envelope) (Tally, error) {
	t, signed, err := j.signatures(e)
	if err != nil {
		return t, err
	}
	if j.parent == nil {
		t.Count = tallyOf(j.child.ActiveMembers(), signed, len(j.child.ActiveMembers()))
		if !t.Enough() {
			return t, short(StepConsent, t, "a genesis is signed by every member, %d of %d signed", len(t.Signed), t.Need)
		}
		return t, nil
	}
	t.Count = tallyOf(j.parent.Voters(), signed, int(j.parent.Governance.Threshold))
	t.Own = tallyOf(j.child.Voters(), signed, int(j.child.Governance.Threshold))
	t.Consent = j.consent(signed)
	switch {
	case !t.Enough():
		return t, short(StepThreshold, t, "%d of %d voters of charter %d signed, %d needed", len(t.Signed), len(t.Signed)+len(t.Missing), j.parent.Seq, t.Need)
	case !t.Own.Enough():
		return t, short(StepOwn, t, "%d of its own voters signed, %d needed", len(t.Own.Signed), t.Own.Need)
	case len(t.Consent) > 0:
		return t, short(StepConsent, t, "%s did not sign", join(t.Consent))
	}
	return t, nil
}

func short(step Step, t Tally, format string, args ...any) *Refused {
	r := refuse(step, format, args...)
	r.Tally = t
	return r
}

func tallyOf(group []Member, signed map[did.DID]bool, need int) Count {
	c := Count{Need: need}
	for _, m := range group {
		if signed[m.DID] {
			c.Signed = append(c.Signed, m.DID)
		} else {
			c.Missing = append(c.Missing, m.DID)
		}
	}
	return c
}

// consent lists who joins and did not sign.
func (j judge) consent(signed map[did.DID]bool) []did.DID {
	var list []did.DID
	for _, m := range j.child.Members {
		if _, held := j.parent.Member(m.DID); !held && !signed[m.DID] {
			list = append(list, m.DID)
		}
	}
	return list
}

// late tells why a good signature of m does not count: its key is known to be
// retired, and nothing shows that it was given before that.
func (j judge) late(m Member) (reason string) {
	ended, retired := j.keys.Ended(m.DID, m.Key.Pub)
	if !retired {
		return ""
	}
	if a, ok := j.keys.(Anchors); ok && a.Anchored(j.id) {
		return ""
	}
	// A thief of a retired key can sign and date at will; only the owner's log
	// shows that the signature was made while the key stood.
	if index, logged := j.keys.Signed(m.DID, SlotOf(j.child, j.id), j.id); logged && index < ended {
		return ""
	}
	return "its key is retired and no charter.signed stands before that"
}

func sortedOnce(list []did.DID) []did.DID {
	slices.SortFunc(list, func(a, b did.DID) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(list)
}
