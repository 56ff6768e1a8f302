package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/pins"
)

const webMethod = "web"

// byRotated is what lets a document be trusted that a key.rotated event names.
const byRotated = "key.rotated"

// OfferWeb judges a did.json of d, a did:web DID, at most 256 KiB. at is when
// it was fetched or came; spki names the TLS key it was fetched under and is
// empty unless its host itself served it; approvedBy names who lets it be
// trusted, such as "join" or an act of the operator, empty for nobody.
//
//   - The first document is pinned only if it is approved: ErrUnapproved.
//   - The newest bytes again confirm them, if they were fetched or approved.
//   - Other bytes that make this node trust the same keys are a new version, if
//     they were fetched or approved. Bytes that only a peer brought are not:
//     nothing in them is signed.
//   - Everything else is a *Changed: the held version stands, and the bytes are
//     kept for AcceptHead and Rotated. approvedBy does not change that.
//
// Other errors: did.ErrDocument and did.ErrTooLarge for what is no document of
// d or lists no usable assertion key; *Rollback for a version that was
// replaced; ErrMethod, ErrFull, ErrVersions; *pins.Taken, *pins.Below and
// errors of the store as they come.
func (r *Ring) OfferWeb(ctx context.Context, d did.DID, doc []byte, approvedBy string, at time.Time, spki string) (Result, error) {
	if d.Method() != webMethod {
		return Result{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	if len(approvedBy) > maxSource || len(spki) > maxSource {
		return Result{}, fmt.Errorf("source of a document: %w", did.ErrTooLarge)
	}
	parsed, err := did.ParseDocument(doc, d)
	if err != nil {
		return Result{}, err
	}
	if len(assertionKeys(parsed)) == 0 {
		return Result{}, fmt.Errorf("%s lists no usable key under assertionMethod: %w", d, did.ErrDocument)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	s := Snapshot{Bytes: bytes.Clone(doc), ApprovedBy: approvedBy, FetchedAt: at.UTC().Truncate(time.Second), SPKI: spki}
	m := r.find(d)
	if m == nil {
		return r.firstWeb(ctx, d, parsed, s)
	}
	return r.judgeWeb(ctx, m, parsed, s)
}

// firstWeb judges a document of a DID of which nothing is held.
func (r *Ring) firstWeb(ctx context.Context, d did.DID, doc did.Document, s Snapshot) (Result, error) {
	if r.count() >= maxPinned {
		return Result{}, ErrFull
	}
	m := &member{record: Record{Version: Version{DID: d}}}
	if m.below = r.behind(d, m, nil); m.below != nil {
		return r.judgeWeb(ctx, m, doc, s)
	}
	if s.ApprovedBy == "" {
		return Result{}, fmt.Errorf("first document of %s: %w", d, ErrUnapproved)
	}
	return r.takeWeb(ctx, m, s, 1, "")
}

func (r *Ring) judgeWeb(ctx context.Context, m *member, doc did.Document, s Snapshot) (Result, error) {
	id, head := s.ID(), m.head()
	if m.below != nil && id == m.below.Pinned {
		return r.takeWeb(ctx, m, s, m.below.Number, byPin) // the pin is the approval
	}
	if m.below == nil && id == head.id {
		r.confirmSource(m, s)
		return r.unchanged(m), nil
	}
	if v, replaced := m.byID(id); replaced {
		return Result{}, &Rollback{DID: m.did(), Offered: v.id, Held: head.id, Number: head.number}
	}
	vouched := s.ApprovedBy != "" || s.SPKI != ""
	if m.below == nil && vouched && slices.Equal(trusted(doc), trusted(head.doc)) {
		// A site that changes all the time must not use up what a decision may need.
		if !fits(append(slices.Clone(m.record.Web), s), maxSnapshots/2, maxWeb/2) {
			return Result{}, fmt.Errorf("%s: %w", m.did(), ErrVersions)
		}
		return r.takeWeb(ctx, m, s, head.number+1, "")
	}
	return Result{}, r.setAside(ctx, m, doc, s)
}

// trusted is what a document makes this node trust, in order: its assertion
// keys, each with the time it ends by itself if any, and the did:key endpoints
// of its services, as witnesses are named by. A document that moves no more than
// contact data leaves it as it is.
func trusted(doc did.Document) []string {
	var out []string
	for _, m := range doc.Methods() {
		kid, own := strings.CutPrefix(m.ID, doc.ID().String()+"#")
		if !own || m.Err != nil || m.Controller != doc.ID().String() || !doc.Lists(kid, did.AssertionMethod) {
			continue
		}
		text := m.Public.Multikey()
		for _, end := range []time.Time{m.Expires, m.Revoked} {
			if !end.IsZero() {
				text += " until " + end.UTC().Format(time.RFC3339Nano)
			}
		}
		out = append(out, text)
	}
	for _, s := range doc.Services() {
		for _, e := range s.Endpoints {
			if strings.HasPrefix(e, "did:"+didkey.Method+":") {
				out = append(out, strings.Join(s.Types, " ")+" "+e)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func fits(list []Snapshot, count, size int) bool {
	for _, s := range list {
		size -= len(s.Bytes)
	}
	return len(list) <= count && size >= 0
}

// takeWeb makes a snapshot the head of m, under a number.
func (r *Ring) takeWeb(ctx context.Context, m *member, s Snapshot, number int, by string) (Result, error) {
	n, err := m.withSnapshot(s, number)
	if err != nil {
		return Result{}, err
	}
	return r.commit(ctx, m, n, by)
}

// withSnapshot is m with s for its newest version. What else was offered stays: it is evidence.
func (m *member) withSnapshot(s Snapshot, number int) (*member, error) {
	s.Number = number
	n := &member{versions: slices.Clip(m.versions)}
	if len(m.versions) > 0 { // what could not be read is no version
		n.record.Web = slices.Clip(m.record.Web)
	}
	if err := n.push(m.did(), s); err != nil {
		return nil, err
	}
	n.retired = retirements(n.versions)
	n.record.Version.DID = m.did()
	id := s.ID()
	n.record.Offered = slices.DeleteFunc(slices.Clone(m.record.Offered), func(o Snapshot) bool { return o.ID() == id })
	return n, nil
}

// snapshots is the member that trusted documents make. Errors: did.ErrDocument, ErrUnknownVersion for numbers that do not rise.
func snapshots(d did.DID, list []Snapshot) (*member, error) {
	m := &member{}
	for _, s := range list {
		if err := m.push(d, s); err != nil {
			return nil, err
		}
	}
	m.retired = retirements(m.versions)
	return m, nil
}

// push adds the next trusted document.
func (m *member) push(d did.DID, s Snapshot) error {
	doc, err := did.ParseDocument(s.Bytes, d)
	if err != nil {
		return err
	}
	id := s.ID()
	if _, twice := m.byID(id); twice || s.Number <= m.head().number {
		return fmt.Errorf("snapshot %d of %s: %w", s.Number, d, ErrUnknownVersion)
	}
	m.record.Web = append(m.record.Web, s)
	m.versions = append(m.versions, version{number: s.Number, id: id, time: s.FetchedAt, doc: doc})
	return nil
}

// setAside keeps a document that is not trusted, and answers the *Changed.
func (r *Ring) setAside(ctx context.Context, m *member, doc did.Document, s Snapshot) error {
	changed := m.changed(doc, s)
	list, ok := aside(m.record.Offered, s)
	if !ok {
		return changed
	}
	n := *m
	n.record.Offered = list
	if n.record.Version.State == 0 {
		n.record.Version.State = did.Frozen // nothing of it counts
	}
	if err := r.put(ctx, m, &n); err != nil {
		return errors.Join(changed, err)
	}
	return changed
}

func (m *member) changed(doc did.Document, s Snapshot) *Changed {
	c := &Changed{DID: m.did(), Held: m.head().id, Offered: s.ID(), OfferedKeys: trusted(doc)}
	if m.below != nil {
		c.Held = m.below.Pinned
	} else {
		c.HeldKeys = trusted(m.head().doc)
	}
	return c
}

// aside adds a document to those that are not trusted; false where that changes
// nothing. What a peer brought makes no room for itself among what a host
// served or somebody approved, as anybody could otherwise push that out.
func aside(list []Snapshot, s Snapshot) ([]Snapshot, bool) {
	fromPeer := func(o Snapshot) bool { return o.SPKI == "" && o.ApprovedBy == "" }
	list = slices.Clone(list)
	id := s.ID()
	if i := slices.IndexFunc(list, func(o Snapshot) bool { return o.ID() == id }); i >= 0 {
		if fromPeer(s) || !fromPeer(list[i]) {
			return list, false
		}
		list = slices.Delete(list, i, i+1)
	}
	if len(list) >= maxOffered {
		i := max(0, slices.IndexFunc(list, fromPeer))
		if fromPeer(s) && !fromPeer(list[i]) {
			return list, false
		}
		list = slices.Delete(list, i, i+1)
	}
	return append(list, s), true
}

// decidedWeb is m with an offered document for its newest version, nil if it was not offered.
func (r *Ring) decidedWeb(m *member, id, by string) *member {
	for _, s := range m.record.Offered {
		if s.ID() != id {
			continue
		}
		slot, value, _ := r.pins.Highest(pins.KindDID, m.did().String())
		number := max(int(slot.N), m.head().number) + 1
		if value == id {
			number = int(slot.N) // a crash came between the pin and the record
		}
		s.ApprovedBy = by
		if n, err := m.withSnapshot(s, number); err == nil {
			return n
		}
	}
	return nil
}

// Rotated takes the offered document of a did:web DID that a key.rotated event
// names by the id of its bytes. The caller has verified the event under a key
// of a pinned version, and that it names d. Bytes that are the newest version
// already change nothing. Errors: ErrUnknownVersion if no such bytes were
// offered yet: they may come; *Rollback, ErrMethod, ErrAbsent, *Below,
// ErrVersions; *pins.Taken, *pins.Below and errors of the store as they come.
func (r *Ring) Rotated(ctx context.Context, d did.DID, bytesID string) (Result, error) {
	if d.Method() != webMethod {
		return Result{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	m, err := r.get(d)
	if err != nil {
		return Result{}, err
	}
	return r.decide(ctx, m, bytesID, byRotated)
}

// Changes answers the documents of a did:web DID that were offered and are not
// trusted, the oldest first; nil for other methods. Errors: ErrAbsent.
func (r *Ring) Changes(_ context.Context, d did.DID) ([]Changed, error) {
	m := r.find(d)
	if m == nil {
		return nil, fmt.Errorf("%s: %w", d, ErrAbsent)
	}
	var out []Changed
	for _, s := range m.record.Offered {
		doc, err := did.ParseDocument(s.Bytes, d)
		if err != nil {
			return nil, err
		}
		out = append(out, *m.changed(doc, s))
	}
	return out, nil
}

// Snapshots answers the trusted documents of a did:web DID, the oldest first;
// nil for other methods. Errors: those of Head.
func (r *Ring) Snapshots(_ context.Context, d did.DID) ([]Snapshot, error) {
	if d.Method() != webMethod {
		return nil, nil
	}
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	return m.record.clone().Web, nil
}
