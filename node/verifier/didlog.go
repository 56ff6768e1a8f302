package verifier

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/node/casefile"
)

// didLog verifies did.jsonl with the witness file beside it, and against the material.
func (s *session) didLog(b []byte) error {
	var witness []byte
	if s.o.Witness != nil {
		var err error
		if witness, err = s.o.Witness(); err != nil {
			return broken("the witness file cannot be read: %v", err)
		}
	}
	h, err := didwebvh.VerifyPart(b, witness, s.late)
	s.versions("", h, 1)
	if err != nil {
		return s.refuse(logRefusal(err, witness != nil))
	}
	if err := s.beside(h, b, witness); err != nil {
		return err
	}
	s.sayLog(h)
	if len(witness) > 0 && h.Witness() == nil {
		s.line("unsaid", "what its witness file is for: no entry has to be witnessed")
	}
	s.idle("", h, witness)
	return nil
}

// idle says how much of a witness file nothing rests on: a log verifies without it, and it with any bytes.
func (s *session) idle(whose string, h didwebvh.History, witness []byte) {
	if h.Witness() == nil {
		return
	}
	if n, all := h.Idle(witness); n > 0 {
		s.line("unsaid", "%swhat %d of %s in its witness file say: no witness of the log signed that for a version of it. They do not count, and nothing needs them", whose, n, casefile.Count(all, "proof"))
	}
}

// beside holds a log against what the material has of the same DID.
func (s *session) beside(h didwebvh.History, log, witness []byte) error {
	err := s.offer(part{DIDLog: bundle.DIDLog{DID: h.DID(), From: 1, Log: log, Witness: witness}})
	var behind *keyring.Rollback
	switch {
	case errors.As(err, &behind):
		return broken("refused: log of %s ends at %d, the one given with --with has %d (%s)", s.short(h.DID()), h.Len(), behind.Number, behind.Held).
			hinted("the peer should restore its newest did.jsonl")
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(h.DID())
	case err != nil:
		return broken("DID log of %s: %v", s.short(h.DID()), err)
	}
	return nil
}

// logRefusal says why a log is refused. Without a witness file one may still decide.
func logRefusal(err error, witness bool) *refusal {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case didwebvh.ReasonOf(err) == didwebvh.ReasonWitness && !witness:
		return pending("%v", err).hinted("its did-witness.json belongs beside it, or give it with --witness FILE")
	case didwebvh.ReasonOf(err) == didwebvh.ReasonWitness:
		return broken("%v", err).hinted("a newer did-witness.json of the same place may hold the proofs")
	case didwebvh.ReasonOf(err) == didwebvh.ReasonGap:
		return pending("%v", err).hinted("give the whole did.jsonl with --with FILE")
	}
	return broken("%v", err)
}

// sayLog says what a verified log proves.
func (s *session) sayLog(h didwebvh.History) {
	head := h.Head()
	s.orgVoucher(h.DID())
	s.line("claim", "%s had %s, each signed by a key the one before it named", h.DID(), casefile.Count(h.Len(), "version"))
	switch keys := signers(head.Document); {
	case h.Deactivated():
		s.line("claim", "entry %d ended the DID for good: nothing signed in its name since counts", head.Number)
	case len(keys) == 0:
		s.line("claim", "version %s lists no key that signs for it", head.ID)
	default:
		s.line("claim", "at version %s these sign for it: %s", head.ID, list(keys))
	}
	if len(head.Parameters.NextKeyHashes) == 0 && !h.Deactivated() && len(head.Parameters.UpdateKeys) > 0 {
		s.line("unsaid", "who writes the next entry: no next key is committed to, so whoever steals an update key can")
	}
	s.line("unsaid", "whether the log goes on after %s: nothing here says that no newer entry exists", head.ID)
}

// signers lists the assertion keys of a document, by role.
func signers(doc did.Document) []string {
	var out []string
	for _, k := range keysOf(doc) {
		if k.signs {
			out = append(out, k.words())
		}
	}
	return out
}

// versions says of each entry from number n on what it changed, and who had to witness it.
func (s *session) versions(whose string, h didwebvh.History, n int) {
	prev, _ := h.At(n - 1)
	for ; n <= h.Len(); n++ {
		v, _ := h.At(n)
		s.line("ok", "%sversion %s, dated %s by its controller: %s%s", whose, v.ID, casefile.Stamp(v.Time), strings.Join(Changes(prev, v), "; "), witnessing(prev, v))
		prev = v
	}
}

// witnessing says by which list an entry was witnessed: the old one, or the first.
func witnessing(prev, v didwebvh.Version) string {
	list := prev.Parameters.Witness
	if list.None() {
		list = v.Parameters.Witness
	}
	if list.None() {
		return ""
	}
	return fmt.Sprintf("; witnessed, %d of %d needed", list.Threshold, len(list.Keys))
}

// Changes says what an entry does, in words, beside the one before it; prev is the zero Version for the first.
func Changes(prev, v didwebvh.Version) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if v.Number == 1 {
		say("the DID begins")
	}
	if v.Number > 1 && v.Document.ID() != prev.Document.ID() {
		say("moved from %s to %s", prev.Document.ID(), v.Document.ID())
	}
	before, now := keysOf(prev.Document), keysOf(v.Document)
	for _, k := range before {
		if !slices.Contains(now, k) {
			say("retires %s", k.words())
		}
	}
	for _, k := range now {
		if !slices.Contains(before, k) {
			say("adds %s", k.words())
		}
	}
	out = append(out, witnessChange(prev.Parameters.Witness, v.Parameters.Witness)...)
	if v.Parameters.Deactivated {
		say("ends the DID")
	}
	if w := updateChange(prev.Parameters, v.Parameters); w != "" && (len(out) == 0 || len(prev.Parameters.NextKeyHashes) == 0) {
		say("%s", w) // with pre-rotation each entry does it
	}
	if byRecovery(prev.Parameters, v.Parameters) {
		say("written with the recovery key, by the order in which the keys were committed to")
	}
	if len(out) == 0 && !bytes.Equal(prev.Document.Raw(), v.Document.Raw()) {
		say("no key changes, the document does")
	}
	if len(out) == 0 {
		say("no key changes")
	}
	return out
}

// byRecovery reports whether an entry shows the key behind the next one, which this program commits to for recovery, and
// lets go of both.
func byRecovery(was, now didwebvh.Parameters) bool {
	if len(was.NextKeyHashes) != 2 || len(now.UpdateKeys) != 1 || didwebvh.KeyHash(now.UpdateKeys[0]) != was.NextKeyHashes[1] {
		return false
	}
	return !slices.ContainsFunc(now.NextKeyHashes, func(h string) bool { return slices.Contains(was.NextKeyHashes, h) })
}

// updateChange says how the keys changed that may write entries; "" for the first entry and where they stay.
func updateChange(was, now didwebvh.Parameters) string {
	switch {
	case len(was.UpdateKeys) == 0 || slices.Equal(was.UpdateKeys, now.UpdateKeys):
		return ""
	case len(now.UpdateKeys) == 0:
		return "ends its update keys"
	case len(now.UpdateKeys) == 1:
		return "replaces the update key, which writes entries and signs nothing else, by " + now.UpdateKeys[0].Multikey()
	}
	return "replaces the update keys, which write entries and sign nothing else"
}

// witnessChange says how the list of witnesses changed.
func witnessChange(was, now didwebvh.WitnessList) []string {
	if was.Threshold == now.Threshold && slices.Equal(was.Keys, now.Keys) {
		return nil
	}
	if now.None() {
		return []string{"ends witnessing"}
	}
	var keys []string
	for _, k := range now.Keys {
		keys = append(keys, k.Multikey())
	}
	return []string{fmt.Sprintf("names witnesses: %d of %s", now.Threshold, list(keys))}
}

// roleKey is a key of a document and what it is for.
type roleKey struct {
	role, key string
	signs     bool // under assertionMethod
}

func (k roleKey) words() string { return k.role + " " + k.key }

// keysOf lists the keys of a document by role, in its order; none for the zero Document.
func keysOf(doc did.Document) []roleKey {
	var out []roleKey
	roles := didwebvh.RolesOf(doc)
	for _, m := range doc.Methods() {
		kid, ok := strings.CutPrefix(m.ID, doc.ID().String()+"#")
		if !ok || m.Err != nil {
			continue
		}
		k := roleKey{key: m.Public.Multikey(), signs: doc.Lists(kid, did.AssertionMethod)}
		switch own := doc.ID().Method() == didwebvh.Method; {
		case own && m.Public == roles.Issuer:
			k.role = "issuer key"
		case own && m.Public == roles.Governance:
			k.role = "governance key"
		default:
			k.role = strings.Join(purposes(doc, kid), " and ") + " key"
		}
		out = append(out, k)
	}
	if !roles.Witness.IsZero() {
		out = append(out, roleKey{role: "own witness key", key: roles.Witness.Multikey()})
	}
	return out
}

// purposes lists the relationships under which a document lists a key.
func purposes(doc did.Document, kid string) []string {
	var out []string
	for _, r := range []did.Relationship{did.AssertionMethod, did.Authentication, did.KeyAgreement, did.CapabilityInvocation, did.CapabilityDelegation} {
		if doc.Lists(kid, r) {
			out = append(out, string(r))
		}
	}
	if len(out) == 0 {
		return []string{"unused"}
	}
	return out
}

// ownLogs verifies the DID logs of a bundle, and that each of their bytes counts.
func (s *session) ownLogs() error {
	for _, p := range logsOf(s.own) {
		if err := s.refuse(s.ownLog(p)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) ownLog(p part) error {
	_, err := s.ring.Head(s.ctx, p.DID)
	first := errors.Is(err, keyring.ErrAbsent)
	err = s.offer(p)
	var behind *keyring.Rollback
	var other *keyring.Changed
	switch {
	case errors.As(err, &behind):
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(p.DID).at(p.line)
	case errors.As(err, &other):
		return broken("%v", other).at(p.line).hinted("compare by voice, then did resolve --accept-head %s --reason …", other.Offered)
	case errors.Is(err, keyring.ErrUnapproved):
		return (&refusal{outcome: Unproven, what: fmt.Sprintf("the did.json of %s is self-asserted and proves nothing by itself", p.DID)}).at(p.line).
			hinted("a did:web is pinned by its join or by the operator: give the did.json you pinned with --with FILE")
	case err != nil:
		r := logRefusal(err, p.Witness != nil)
		return &refusal{r.outcome, p.line, fmt.Sprintf("DID log of %s: %s", s.short(p.DID), r.what), r.hint}
	}
	if p.DID.Method() == "web" {
		s.line("ok", "did.json of %s, the one given with --with", p.DID)
		return nil
	}
	h, err := s.ring.History(s.ctx, p.DID)
	if err != nil {
		return broken("DID log of %s: %v", s.short(p.DID), err).at(p.line)
	}
	last := int(p.From) - 1 + bytes.Count(p.Log, []byte("\n"))
	part := h.Prefix(last)
	if !bytes.Equal(part.After(int(p.From)-1), p.Log) || first && !bytes.Equal(h.Witness(), p.Witness) {
		return broken("DID log of %s: it or its witness file holds what nothing needs, or is not spelled as a log is", s.short(p.DID)).at(p.line)
	}
	s.logs[part.DID()] = last
	s.versions("DID log of "+s.short(p.DID)+", ", part, int(p.From))
	s.idle("DID log of "+s.short(p.DID)+", ", h, p.Witness)
	if behind != nil {
		s.line("claim", "its log in the file ends at %s, the one given with --with goes on to %s", part.Head().ID, behind.Held)
	}
	return nil
}
