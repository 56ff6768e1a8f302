package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
)

// open answers the undecided branch that parts from the held log first: what
// comes after its parent does not count. A branch that only goes on after the
// head contradicts nothing.
func (m *member) open() (Branch, bool) {
	var first Branch
	found := false
	for _, b := range m.record.Branches {
		if b.Decided == "" && b.Parent < len(m.versions) && (!found || b.Parent < first.Parent) {
			first, found = b, true
		}
	}
	return first, found
}

// state is where the versions and branches of m leave it. A fork comes before
// an end: of two branches one may end the DID, and which came first must not matter.
func (m *member) state() did.State {
	if _, ok := m.open(); ok || len(m.versions) == 0 {
		return did.Frozen
	}
	if m.head().ended {
		return did.Deactivated
	}
	return did.Held
}

// describe names the two entries at which a branch parts from what is held, or pinned.
func (m *member) describe(b Branch) *Fork {
	f := &Fork{DID: m.did(), Number: b.Parent + 1, Decided: b.Decided}
	lines := bytes.Split(bytes.TrimSuffix(b.Lines, []byte("\n")), []byte("\n"))
	at := 0
	if m.below != nil && b.Parent >= len(m.versions) {
		f.Number, f.Held = m.below.Number, m.below.Pinned
		at = min(max(0, f.Number-b.Parent-1), len(lines)-1)
	}
	f.OfferedLine, f.Offered = lines[at], didwebvh.VersionID(lines[at])
	if at > 0 {
		f.Parent = lines[at-1]
	} else if v, ok := m.history.At(b.Parent); ok {
		f.Parent = v.Line
	}
	if v, ok := m.history.At(b.Parent + 1); ok {
		f.Held, f.HeldLine = v.ID, v.Line
	}
	return f
}

// Forked answers the two branches of d: of the open fork, else of the newest
// one that was decided, with who decided; nil if no fork is known. A node that
// is behind its pins answers what contradicts the pin. Errors: those of Head,
// *Below where nothing contradicts the pin.
func (r *Ring) Forked(_ context.Context, d did.DID) (*Fork, error) {
	if d.Method() == didkey.Method {
		return nil, nil
	}
	m := r.find(d)
	if m == nil || m.below != nil && len(m.record.Branches) == 0 {
		_, err := r.get(d)
		return nil, err
	}
	if b, ok := m.open(); ok {
		return m.describe(b), nil
	}
	if n := len(m.record.Branches); n > 0 {
		return m.describe(m.record.Branches[n-1]), nil
	}
	return nil, nil
}

// Branches answers all that is kept of d beside its history; nil without a
// fork, and for a DID that has no log. Errors: ErrAbsent.
func (r *Ring) Branches(_ context.Context, d did.DID) ([]Branch, error) {
	m := r.find(d)
	if m == nil {
		return nil, fmt.Errorf("%s: %w", d, ErrAbsent)
	}
	return cloned(m.record.Branches, Branch.clone), nil
}

// Forks answers the two entries at which each branch parts from the held log, open
// or decided, the branch that was kept first before the others; nil without a fork.
// A branch that only goes on after the head contradicts nothing and is left out, as
// is one whose other entry this node no longer has. Errors: ErrAbsent.
func (r *Ring) Forks(_ context.Context, d did.DID) ([]*Fork, error) {
	m := r.find(d)
	if m == nil {
		return nil, fmt.Errorf("%s: %w", d, ErrAbsent)
	}
	var out []*Fork
	for _, b := range m.record.Branches {
		if f := m.describe(b); f.HeldLine != nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// Knows reports whether a version of d is here: in its history or in a branch kept
// beside it, open or decided; of a did:web, among its documents, trusted or not. It
// looks into memory alone.
func (r *Ring) Knows(d did.DID, version string) bool {
	if d.Method() == didkey.Method {
		return staticVersion(d, version) == nil
	}
	m := r.find(d)
	if m == nil {
		return false
	}
	_, held := m.byID(version)
	return held || m.beside[version]
}

// Lines answers each line of entry n of d that is here, that of the held log first,
// then those of the branches; nil for none.
func (r *Ring) Lines(d did.DID, n int) [][]byte {
	m := r.find(d)
	if m == nil {
		return nil
	}
	var out [][]byte
	if v, ok := m.history.At(n); ok {
		out = append(out, v.Line)
	}
	for _, b := range m.record.Branches {
		at := 0
		for line := range bytes.Lines(b.Lines) {
			if at++; b.Parent+at == n {
				out = append(out, bytes.TrimSuffix(line, []byte("\n")))
				break
			}
		}
	}
	return out
}

// asides are the versions kept beside a history.
func (m *member) asides() map[string]bool {
	out := map[string]bool{}
	for _, b := range m.record.Branches {
		for _, id := range lineIDs(b.Lines) {
			out[id] = true
		}
	}
	for _, s := range m.record.Offered {
		out[s.ID()] = true
	}
	return out
}

// keep keeps a log that the held one contradicts, or whose turn has not come
// because a fork is open, and answers the *Fork. The head stays.
func (r *Ring) keep(ctx context.Context, m *member, other didwebvh.History, common int) error {
	n := *m
	b, changed := n.add(other, common)
	if changed {
		n.record.Version.State = n.state()
		if err := r.put(ctx, m, &n); err != nil {
			return errors.Join(n.describe(b), err)
		}
	}
	if first, ok := n.open(); ok && b.Decided == "" {
		b = first
	}
	return n.describe(b)
}

// keepBelow keeps a log that contradicts the pin, so that a decision finds it.
// Nothing may be stored of the DID yet but that.
func (r *Ring) keepBelow(ctx context.Context, m *member, other didwebvh.History) error {
	n := *m
	shared := common(m.history, other)
	if shared == other.Len() {
		return nil // it is the held one, or its beginning: a decision finds it there
	}
	if _, changed := n.add(other, shared); !changed {
		return nil
	}
	if len(n.versions) == 0 {
		n.record.Version.State = did.Frozen
	}
	return r.put(ctx, m, &n)
}

// add adds other's lines after common to the branches, and answers the branch
// they are in and whether anything changed. A branch that other continues grows.
func (m *member) add(other didwebvh.History, common int) (Branch, bool) {
	next := Branch{Parent: common, Lines: other.After(common), Witness: other.Witness()}
	ids := lineIDs(next.Lines)
	list := slices.Clone(m.record.Branches)
	for i, b := range list {
		had := lineIDs(b.Lines)
		if b.Parent != common || had[0] != ids[0] {
			continue
		}
		if b.Decided != "" {
			next.Decided = b.Decided // what goes on after a line that was decided against does not count either
		}
		switch shared := min(len(had), len(ids)); {
		case !slices.Equal(had[:shared], ids[:shared]):
		case len(ids) <= len(had):
			return b, false
		default:
			list[i] = next
			m.record.Branches = list
			return next, true
		}
	}
	list, ok := room(list, next)
	if ok {
		m.record.Branches = list
	}
	return next, ok
}

// room appends a branch. What was decided takes no room from what is open, or
// many forks would hide the next. Where there is none left, a branch that parts
// earlier takes the place of the open one that parts last: less counts before it.
func room(list []Branch, next Branch) ([]Branch, bool) {
	if next.Decided != "" {
		return append(list, next), len(list) < maxBranches
	}
	count, size, last := 1, len(next.Lines)+len(next.Witness), -1
	for i, b := range list {
		if b.Decided != "" {
			continue
		}
		count, size = count+1, size+len(b.Lines)+len(b.Witness)
		if b.Parent > next.Parent && (last < 0 || b.Parent > list[last].Parent) {
			last = i
		}
	}
	if count <= maxBranches && size <= maxBranchBytes {
		return append(list, next), true
	}
	if last < 0 {
		return list, false
	}
	return append(slices.Delete(list, last, last+1), next), true
}

func lineIDs(lines []byte) []string {
	var out []string
	for line := range bytes.Lines(lines) {
		out = append(out, didwebvh.VersionID(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return out
}

// common is how many versions two logs share.
func common(a, b didwebvh.History) int {
	n := 0
	for n < a.Len() && n < b.Len() {
		x, _ := a.At(n + 1)
		if y, _ := b.At(n + 1); x.ID != y.ID {
			break
		}
		n++
	}
	return n
}

// strand is a whole log that is kept, and who decided against it.
type strand struct {
	history didwebvh.History
	decided string
	held    bool
}

// strands answers all logs of m but next, verified: the held one and the
// branches. What a damaged store made of a branch is no evidence, and left out.
func (m *member) strands(next didwebvh.History, now time.Time) []strand {
	out := []strand{{history: m.history, held: true}}
	for _, b := range m.record.Branches {
		base := m.history
		if base.Len() < b.Parent {
			base = next // the held log could not be read
		}
		if base.Len() < b.Parent {
			continue
		}
		if h, err := base.Prefix(b.Parent).Extend(b.Lines, b.Witness, now); err == nil {
			out = append(out, strand{history: h, decided: b.Decided})
		}
	}
	return out
}

// adopt is m with next for its log, decided for up to the version of that
// number. All else stays beside it: what parts at or before that version is
// decided against, what goes on after it is taken, what parts later is open.
// The held log was pinned once, so where next parts from it that was decided.
func (m *member) adopt(next didwebvh.History, number int, by string, now time.Time) *member {
	all := m.strands(next, now)
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if s.decided == "" && s.history.Len() > next.Len() && common(next, s.history) == next.Len() {
				next, grown = s.history, true
			}
		}
	}
	n := logged(next)
	for _, s := range all {
		c := common(next, s.history)
		if c == s.history.Len() {
			continue
		}
		b := Branch{Parent: c, Lines: s.history.After(c), Witness: s.history.Witness(), Decided: s.decided}
		if c < number || s.held {
			b.Decided = by
		}
		n.record.Branches = append(n.record.Branches, b)
	}
	n.record.Version.DID = m.did()
	return n
}

// decidedLog is m with the log among its own that has a version, nil if none has.
func (r *Ring) decidedLog(m *member, version, by string) *member {
	now := r.now()
	if m.record.Version.VerifiedAt.After(now) {
		now = m.record.Version.VerifiedAt
	}
	for _, s := range m.strands(didwebvh.History{}, now) {
		if n := pinnedIn(s.history, version); n > 0 {
			return m.adopt(s.history, n, by, now)
		}
	}
	return nil
}

// AcceptHead carries out a decision, a charter's or an audited act of the
// operator, for the branch of a frozen DID that has the version, or for a
// document of a did:web that was offered and not trusted. The pin moves first.
// The other branches are kept for ever; what parts from the decided one at or
// before that version, and all that goes on after it, does not count any more.
// A later decision may take a branch that was decided against. decidedBy is the
// charter's id or names the act, up to 512 bytes.
//
// On a DID that is not frozen, a version it has changes nothing. Errors:
// ErrUnknownVersion if no branch has the version; ErrUnapproved without
// decidedBy; *Rollback for a did:web version that was replaced; ErrFrozen, as a
// *Fork, if the DID is frozen after the decision too; ErrAbsent, *Below,
// ErrMethod, ErrVersions; *pins.Taken, *pins.Below and errors of the store as
// they come, after which the same call may be repeated.
func (r *Ring) AcceptHead(ctx context.Context, d did.DID, version, decidedBy string) (Result, error) {
	if decidedBy == "" || len(decidedBy) > maxSource {
		return Result{}, fmt.Errorf("%s of %s: %w", version, d, ErrUnapproved)
	}
	if d.Method() != didwebvh.Method && d.Method() != webMethod {
		return Result{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	m := r.find(d)
	if m == nil {
		_, err := r.get(d)
		return Result{}, err
	}
	return r.decide(ctx, m, version, decidedBy)
}

func (r *Ring) decide(ctx context.Context, m *member, version, by string) (Result, error) {
	v, held := m.byID(version)
	if held && m.below == nil && m.record.Version.State != did.Frozen {
		if m.did().Method() == webMethod && v.id != m.head().id {
			return Result{}, &Rollback{DID: m.did(), Offered: v.id, Held: m.head().id, Number: m.head().number}
		}
		return r.unchanged(m), nil
	}
	if held && m.below != nil {
		return Result{}, m.below // what the pin goes on from is no contradiction of it
	}
	n := r.decided(m, version, by)
	if n == nil {
		err := fmt.Errorf("%s of %s: %w", version, m.did(), ErrUnknownVersion)
		if m.below != nil {
			err = errors.Join(err, m.below)
		}
		return Result{}, err
	}
	if m.did().Method() == webMethod && !fits(n.record.Web, maxSnapshots, maxWeb) {
		return Result{}, fmt.Errorf("%s: %w", m.did(), ErrVersions)
	}
	res, err := r.commit(ctx, m, n, by)
	if err != nil {
		return Result{}, err
	}
	if b, open := n.open(); open {
		return Result{}, n.describe(b)
	}
	return res, nil
}
