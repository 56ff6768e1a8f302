package verifier

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/node/casefile"
)

// session is the verification of one file.
type session struct {
	ctx    context.Context
	o      Options
	name   string
	at     time.Time // when objects are to hold
	late   time.Time // the latest of at and now: what logs may say of the future ends here
	clock  time.Time // what the ring takes for now: late while logs are read, then at
	ring   *keyring.Ring
	report Report
	waits  []*refusal // what is pending

	own, with []casefile.Numbered // lines; those of the material are numbered below 0
	from      map[int]string      // file of each line of the material
	webs      map[did.DID]string  // did:web documents of the material, and the file they came in
	logs      map[did.DID]int     // newest version of each log that the file itself holds
	about     []envelope.ID       // what a proof names; nil of another file
	evidence  casefile.Evidence
	agents    []envelope.Verified[keyring.Agent] // of the file and the material
	vouchers  []voucher
	pinned    casefile.Known   // what was seen before
	names     casefile.Names   // of who has a part in the files
	members   map[did.DID]bool // named by the charters of the file, once these verify; nil without
}

func newSession(ctx context.Context, o Options) *session {
	s := &session{ctx: ctx, o: o, name: named(o.Name), at: o.At, late: o.Now, from: map[int]string{}, webs: map[did.DID]string{}, logs: map[did.DID]int{}, names: casefile.Names{}}
	if s.at.IsZero() {
		s.at = o.Now
	}
	if s.at.After(s.late) {
		s.late = s.at
	}
	s.clock = s.late
	s.ring = keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return s.clock })
	s.pinned = casefile.Known{Pins: o.Pins}
	s.report.Name = s.name
	return s
}

func (s *session) wait(r *refusal) { s.waits = append(s.waits, r) }

// refuse returns a refusal that ends the verification, and gathers one that is pending.
func (s *session) refuse(err error) error {
	var r *refusal
	if errors.As(err, &r) && (r.outcome == Pending || r.outcome == Unproven) {
		s.wait(r)
		return nil
	}
	return err
}

// judge verifies the bytes of a file as what they are.
func (s *session) judge(kind Kind, b []byte) error {
	switch kind {
	case KindDIDLog:
		return s.didLog(b)
	case KindBundle:
		return s.bundle(b)
	case KindProof:
		return s.proof(b)
	case KindObject:
		return s.object(b)
	case KindCompact:
		return s.compact()
	case KindCredential:
		return s.credential(b)
	case KindDocument:
		return s.document(b)
	case KindWitness:
		return s.witnessFile(b)
	case KindResolution:
		return &refusal{outcome: Unproven, what: "a DID resolution result is somebody's answer, nothing in it is signed",
			hint: "verify the DID log itself (did.jsonl), which proves its document"}
	}
	return broken("%s is of no known kind", s.name)
}

// signature is what an object says of who signed it.
type signature struct {
	line    int
	what    string // "agent object zQm…"
	org     did.DID
	kid     string
	version string // of org's DID
}

// stands verifies an object that lies in no log: open is to find it signed by a key of the
// version it names, and that key must be at the head still. What it says else is open's.
func (s *session) stands(c signature, open func(envelope.KeySource) error) error {
	if !knownMethod(c.org) {
		return broken("%s is of %s; an organization has a did:webvh, did:web or did:key", c.what, c.org).at(c.line)
	}
	err := open(s.ring.AtSource(c.version))
	switch {
	case errors.Is(err, keyring.ErrAbsent):
		return s.lacks(c.what, c.org).at(c.line)
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(c.org).at(c.line)
	case errors.Is(err, keyring.ErrUnknownVersion):
		return pending("%s names version %s of %s, which is not here", c.what, quote(c.version), s.short(c.org)).at(c.line).
			hinted("give a newer DID log of %s with --with FILE", s.short(c.org))
	case errors.Is(err, keyring.ErrDeactivated):
		return s.ended(c)
	case err != nil:
		return broken("%s: %v", c.what, err).at(c.line)
	}
	return s.atHead(c)
}

// atHead wants the key to count for something new.
func (s *session) atHead(c signature) error {
	_, err := s.ring.HeadSource().Key(s.ctx, c.org, c.kid)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(c.org).at(c.line)
	case errors.Is(err, keyring.ErrDeactivated):
		return s.ended(c)
	}
	if index, ok := s.evidence.Retired(c.org, c.kid); ok {
		return broken("%s is signed by %s, retired at index %d", c.what, c.kid, index).at(c.line)
	}
	if n, ok := s.left(c.org, c.kid); ok {
		return pending("%s left the document of %s in entry %d, its key.rotated event is not known here", c.kid, s.short(c.org), n).at(c.line).
			hinted("retry after catch-up, or add the event to the bundle")
	}
	return broken("%s: %v", c.what, err).at(c.line)
}

// ended is an object of an organization whose DID is over.
func (s *session) ended(c signature) error {
	return broken("%s: %s ended its DID, and its objects with it", c.what, s.short(c.org)).at(c.line)
}

// left gives the entry that dropped a key which an earlier one lists.
func (s *session) left(d did.DID, kid string) (int, bool) {
	h, err := s.ring.History(s.ctx, d)
	if err != nil {
		return 0, false
	}
	listed := false
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		now := v.Document.Lists(kid, did.AssertionMethod)
		if listed && !now {
			return n, true
		}
		listed = now
	}
	return 0, false
}

// knownMethod says whether an organization can have such a DID.
func knownMethod(d did.DID) bool {
	return slices.Contains([]string{didwebvh.Method, didkey.Method, "web"}, d.Method())
}

// lacks says which material is needed of an organization.
func (s *session) lacks(what string, d did.DID) *refusal {
	if d.Method() == "web" {
		return pending("%s is signed in the name of %s, whose did.json proves nothing by itself", what, d).
			hinted("a did:web is pinned by its join or by the operator: give the did.json you pinned with --with FILE")
	}
	return pending("%s is signed in the name of %s, whose DID log is not here", what, s.short(d)).
		hinted("give the did.jsonl of %s, or a bundle that holds it, with --with FILE", s.short(d))
}

// frozen says what two histories of one DID mean.
func (s *session) frozen(d did.DID) *refusal {
	f, err := s.ring.Forked(s.ctx, d)
	if err != nil || f == nil {
		return broken("frozen: two histories of %s", s.short(d))
	}
	return broken("frozen: two valid entries %d for %s: %s, %s; keys after entry %d are not accepted", f.Number, s.short(d), f.Held, f.Offered, f.Number-1).
		hinted("trustnode did show %s; the charter decides: fed propose --set or --rekey", d)
}

// pool gathers the lines of the file and of the material, what the file holds itself only from it.
func (s *session) pool() []casefile.Numbered {
	seen := map[string]bool{}
	var out []casefile.Numbered
	for _, l := range slices.Concat(s.own, s.with) {
		key := poolKey(l.Line)
		if l.N < 0 && seen[key] {
			continue
		}
		seen[key] = true
		out = append(out, l)
	}
	return out
}

// poolKey is what two lines that say the same share: an entry has many proofs.
func poolKey(l bundle.Line) string {
	switch l := l.(type) {
	case bundle.Entry:
		return "entry" + string(l.Entry)
	case bundle.Row:
		return "row" + l.Event.String() + string(l.Row)
	case bundle.Envelope, bundle.Compact:
		e, _ := asEnvelope(l)
		return "object" + string(e.Type) + e.ID().String()
	}
	b, err := bundle.EncodeLine(l)
	if err != nil {
		return ""
	}
	return string(b)
}
