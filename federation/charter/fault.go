package charter

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Fault is a body that breaks a rule of form (A1) or of structure (A8), told
// without parent or keys.
type Fault struct {
	Step Step
	What string
}

// Error states the fact.
func (f *Fault) Error() string { return f.What }

// faults collects; the first one found is the one told.
type faults struct{ found *Fault }

func (f *faults) that(ok bool, format string, args ...any) bool {
	return f.at(StepForm, ok, format, args...)
}

func (f *faults) at(step Step, ok bool, format string, args ...any) bool {
	if !ok && f.found == nil {
		f.found = &Fault{Step: step, What: fmt.Sprintf(format, args...)}
	}
	return ok
}

func (f *faults) first() error {
	if f.found == nil {
		return nil
	}
	return f.found
}

func (f *faults) within(what string, v, low, high uint64) {
	f.that(v >= low && v <= high, "%s is %d, not within %d..%d", what, v, low, high)
}

func (f *faults) text(what, s string, characters int) {
	n := utf8.RuneCountInString(s)
	f.that(n >= 1 && n <= characters, "%s has %d characters, not 1..%d", what, n, characters)
}

func (f *faults) contact(what, s string) {
	f.that(len(s) <= maxContact, "%s has %d bytes, at most %d", what, len(s), maxContact)
}

// word is printable ASCII without space.
func (f *faults) word(what, s string, bytes int) {
	ok := s != "" && len(s) <= bytes
	for i := 0; ok && i < len(s); i++ {
		ok = s[i] > ' ' && s[i] < 0x7f
	}
	f.that(ok, "%s is not 1..%d printable characters", what, bytes)
}

func (f *faults) key(what string, k Key) {
	f.word(what+" kid", k.Kid, maxKid)
	f.that(k.Pub.Algorithm() == did.Ed25519, "%s is not an Ed25519 key", what)
}

func (f *faults) nonce(what, s string) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	f.that(err == nil && len(b) == nonceBytes && base64.RawURLEncoding.EncodeToString(b) == s, "%s is not %d bytes of base64url", what, nonceBytes)
}

// organization checks a DID with what must, and must not, stand beside it.
func (f *faults) organization(what string, d did.DID, scid, version string) {
	f.that(!d.IsZero() && len(d.String()) <= maxDID, "%s DID is absent or longer than %d bytes", what, maxDID)
	switch d.Method() {
	case "webvh":
		f.that(scid != "" && scid == scidOf(d), "%s scid %q is not that of %s", what, scid, d)
		f.word(what+" DID version", version, maxVersion)
	case "web":
		f.that(scid == "", "%s of method web has an scid", what)
		f.word(what+" DID version", version, maxVersion)
	case "key":
		f.that(scid == "" && version == "", "%s of method key has an scid or a DID version", what)
	default:
		f.that(false, "%s uses the DID method %q, not webvh, web or key", what, d.Method())
	}
}

// scidOf is the self-certifying part of a did:webvh.
func scidOf(d did.DID) string {
	rest := []byte(d.String())
	for range 2 {
		_, after, ok := bytes.Cut(rest, []byte(":"))
		if !ok {
			return ""
		}
		rest = after
	}
	scid, _, _ := bytes.Cut(rest, []byte(":"))
	return string(scid)
}

// checkForm tests each member of a charter body on its own.
func checkForm(b Body) error {
	var f faults
	f.place(b)
	f.text("name", b.Name, maxName)
	f.that(len(b.Ext) > 0 && b.Ext[0] == '{', "ext is not an object")
	f.times(b)
	f.that(b.Governance.Threshold >= 1, "governance threshold is 0")
	f.recovery(b.Recovery)
	f.policy(b.Policy)
	f.spec(b.Spec)
	f.mediation(b.Mediation)
	f.that(len(b.Members) >= 1 && len(b.Members) <= maxAllRecords, "%d members, not 1..%d", len(b.Members), maxAllRecords)
	for i, m := range b.Members {
		f.member(m, b.Seq)
		if i > 0 {
			f.that(b.Members[i-1].DID.String() < m.DID.String(), "members are not sorted by DID, each once: %s", m.DID)
		}
	}
	return f.first()
}

// place checks what says where in the chain a charter stands.
func (f *faults) place(b Body) {
	switch b.Authority {
	case AuthorityGovernance, AuthorityRecovery:
		f.that(b.Resolves.IsZero(), "authority %s resolves nothing", b.Authority)
	case AuthorityResolution:
		f.that(!b.Resolves.IsZero(), "authority resolution names no sibling")
	default:
		f.that(false, "authority %q is not governance, recovery or resolution", b.Authority)
	}
	if b.Seq == 0 {
		f.that(b.Prev.IsZero() && b.Federation.IsZero(), "a genesis names no parent and no federation")
		f.that(b.Authority == AuthorityGovernance && b.Round == 0, "a genesis has authority governance and round 0")
		f.nonce("nonce", b.Nonce)
	} else {
		f.that(!b.Prev.IsZero() && !b.Federation.IsZero(), "charter %d names no parent or no federation", b.Seq)
		f.that(b.Nonce == "", "charter %d has a nonce, only a genesis may", b.Seq)
	}
	f.within("round", b.Round, 0, maxRound)
	f.that((b.Round == 0) == (len(b.Released) == 0), "round %d with %d abandons released", b.Round, len(b.Released))
	f.that(len(b.Released) <= maxReleased, "%d abandons released, at most %d", len(b.Released), maxReleased)
	for i := 1; i < len(b.Released); i++ {
		f.that(b.Released[i-1].String() < b.Released[i].String(), "released is not sorted, each once")
	}
}

func (f *faults) times(b Body) {
	if !f.that(!b.IssuedAt.IsZero() && !b.NotBefore.IsZero() && !b.ExpiresAt.IsZero(), "a time is missing") {
		return
	}
	life := b.ExpiresAt.Time().Sub(b.NotBefore.Time())
	f.that(life >= minLife && life <= maxLife, "life is %d seconds, not 7..400 days", int64(life/time.Second))
}

func (f *faults) recovery(r Recovery) {
	f.within("recovery delay_s", r.DelayS, day, 14*day)
	f.that(len(r.Keys) <= maxRecovery, "%d recovery keys, at most %d", len(r.Keys), maxRecovery)
	for _, k := range r.Keys {
		f.key("recovery key", k)
	}
	if len(r.Keys) == 0 {
		f.that(r.Threshold == 0, "recovery threshold %d without keys", r.Threshold)
		return
	}
	f.within("recovery threshold", r.Threshold, 1, uint64(len(r.Keys)))
}

func (f *faults) policy(p Policy) {
	f.that(p.MaxLoanTTLS >= 1, "policy max_loan_ttl_s is 0")
	f.within("policy max_reads_per_loan", p.MaxReadsPerLoan, 1, 1_000_000_000)
	f.within("policy offline_grace_s", p.OfflineGraceS, 0, 7*day)
	f.within("policy beacon_every_s", p.BeaconEveryS, 60, hour)
	f.that(p.FreshWithinS >= 2*p.BeaconEveryS, "policy fresh_within_s %d is less than twice beacon_every_s %d", p.FreshWithinS, p.BeaconEveryS)
	f.within("policy clock_skew_s", p.ClockSkewS, 5, 600)
}

func (f *faults) spec(s Spec) {
	f.that(s.Min >= minSpec && s.Min <= s.Max, "spec %d..%d is no range", s.Min, s.Max)
	f.that(len(s.Critical) <= maxCritical, "%d critical names, at most %d", len(s.Critical), maxCritical)
	seen := map[string]bool{}
	for _, c := range s.Critical {
		f.word("critical name", c, maxName)
		f.that(!seen[c], "critical name %s twice", c)
		seen[c] = true
	}
}

func (f *faults) member(m Member, seq uint64) {
	what := "member " + m.DID.String()
	f.organization(what, m.DID, m.SCID, m.DIDHead)
	f.key(what+" key", m.Key)
	f.text(what+" name", m.Name, maxName)
	f.contact(what+" contact", m.Contact)
	f.within(what+" bindings_max", m.BindingsMax, 1, maxBindings)
	f.that(m.Generation >= 1, "%s has generation 0", what)
	f.that(m.SinceSeq <= seq, "%s is a member since charter %d, later than this one", what, m.SinceSeq)
	f.that((m.Status == StatusReplaced) == !m.ReplacedBy.IsZero(), "%s: replaced_by stands with status replaced alone", what)
	switch m.Status {
	case StatusActive:
		f.that(m.Cutoff == nil, "%s is active and has a cutoff", what)
	case StatusSuspended, StatusExpelled, StatusLeft, StatusReplaced:
		f.that(m.Cutoff != nil, "%s is %s and has no cutoff", what, m.Status)
	default:
		f.that(false, "%s has status %q", what, m.Status)
	}
	f.gaps(what, m.Gaps)
	if m.Cutoff != nil {
		f.cutoff(what, m)
	}
}

func (f *faults) gaps(what string, gaps []Gap) {
	f.that(len(gaps) <= maxGaps, "%s has %d gaps, at most %d", what, len(gaps), maxGaps)
	for i, g := range gaps {
		f.that(g.From < g.To, "%s has an empty gap", what)
		f.that(i == 0 || gaps[i-1].To < g.From, "%s has gaps out of order", what)
	}
}

func (f *faults) cutoff(what string, m Member) {
	c := m.Cutoff
	if m.DID.Method() != "key" {
		f.word(what+" cutoff did_head", c.DIDHead, maxVersion)
	}
	f.that(!c.Log.Root.IsZero(), "%s has a cutoff without a root", what)
	switch c.Reason {
	case "conduct", "lost", "compromise", "left", "other":
	default:
		f.that(false, "%s has a cutoff for reason %q", what, c.Reason)
	}
	if c.TaintFrom != nil {
		f.that(*c.TaintFrom < c.Log.Size, "%s is tainted from %d, past its cutoff %d", what, *c.TaintFrom, c.Log.Size)
	}
}

// mediation checks the form of the mediation object; who can sit is structure.
func (f *faults) mediation(m Mediation) {
	f.ladder(m)
	for _, d := range []struct {
		name string
		s    uint64
	}{{"ack", m.AckWithinS}, {"appeal", m.AppealWithinS}, {"decide", m.DecideWithinS}, {"enforce", m.EnforceWithinS},
		{"evidence", m.EvidenceWithinS}, {"respond", m.RespondWithinS}, {"vote", m.VoteWithinS}} {
		f.within("mediation "+d.name+"_within_s", d.s, hour, 90*day)
	}
	f.that(len(m.Rotating.Pool) <= maxPool && once(m.Rotating.Pool), "mediation pool names one organization twice, or more than %d", maxPool)
	f.that(len(m.Rotating.Ties) <= maxTies, "mediation has %d ties, at most %d", len(m.Rotating.Ties), maxTies)
	for _, t := range m.Rotating.Ties {
		f.that(!t.A.IsZero() && !t.B.IsZero() && t.A != t.B, "mediation ties one organization to itself")
	}
	if n := m.Neutral; n != nil {
		f.that(!n.DID.IsZero() && len(n.Alternates) <= maxAlternates && once(append([]did.DID{n.DID}, n.Alternates...)),
			"mediation neutral names one organization twice, or more than %d alternates", maxAlternates)
	}
	if j := m.Jury; j != nil {
		f.within("mediation jury size", j.Size, 3, 15)
		f.that(j.Mode == "rules" || j.Mode == "members" || j.Mode == "bench", "mediation jury mode %q is not rules, members or bench", j.Mode)
	}
	if m.Contract != nil {
		f.contract(*m.Contract)
	}
}

func (f *faults) ladder(m Mediation) {
	n := len(m.Ladder)
	f.that(n >= 1 && n <= 5, "mediation ladder has %d rungs, not 1..5", n)
	on := map[string]bool{}
	for i, r := range m.Ladder {
		switch r {
		case RungJury:
			f.that(i == 0, "mediation ladder: jury is not first")
		case RungPanel:
			f.that(i == n-1, "mediation ladder: panel is not last")
		case RungNeutral, RungRotating, RungContract:
		default:
			f.that(false, "mediation ladder: %q is no rung", r)
		}
		f.that(!on[r], "mediation ladder: %s twice", r)
		on[r] = true
	}
	f.that(on[RungNeutral] == (m.Neutral != nil), "mediation neutral stands exactly when its rung is on the ladder")
	f.that(on[RungContract] == (m.Contract != nil), "mediation contract stands exactly when its rung is on the ladder")
	f.that(on[RungJury] == (m.Jury != nil), "mediation jury stands exactly when its rung is on the ladder")
}

func (f *faults) contract(c Contract) {
	f.that(isHex(c.Address, 20), "mediation contract address is not 0x and 40 lower-case hex digits")
	f.that(isHex(c.CodeHash, 32), "mediation contract code_hash is not 0x and 64 lower-case hex digits")
	f.that(c.ChainID >= 1, "mediation contract chain_id is 0")
	f.that(len(c.AttestorKeys) >= 1 && len(c.AttestorKeys) <= maxAttestors, "mediation contract has %d attestor keys, not 1..%d", len(c.AttestorKeys), maxAttestors)
	for _, k := range c.AttestorKeys {
		f.key("mediation attestor key", k)
	}
	f.within("mediation contract attestor_threshold", c.AttestorThreshold, 1, uint64(len(c.AttestorKeys)))
}

func isHex(s string, bytes int) bool {
	if len(s) != 2+2*bytes || s[:2] != "0x" {
		return false
	}
	for _, c := range s[2:] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func once[T comparable](list []T) bool {
	seen := make(map[T]bool, len(list))
	for _, v := range list {
		if seen[v] {
			return false
		}
		seen[v] = true
	}
	return true
}

var _ envelope.Body = Body{}
var _ envelope.Body = Join{}
