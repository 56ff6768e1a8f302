package didwebvh

import (
	"bytes"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Version is one verified entry of a log. Its slices are shared and must not be changed.
type Version struct {
	Number     int          // from 1
	ID         string       // versionId: number, dash, hash
	Time       time.Time    // versionTime, as the controller claims it
	Line       []byte       // the exact bytes of the log line, without its newline
	Document   did.Document // the state
	Parameters Parameters   // in force after this entry
}

// node is a version with what verification must know to go on after it.
type node struct {
	Version
	ids  []did.DID // every DID the log had so far: more than one after a move
	runs []run     // who had to witness so far
	size int       // bytes of the log so far
}

// History is a verified log: its versions in order, at least one unless it is
// the zero value. It is immutable; copies share memory and are safe for
// concurrent use.
type History struct {
	nodes   []*node
	witness []byte
}

// Verify reads a whole log from its bytes at a given time and its witness
// file, nil if there is none. Every refusal is an *Error.
func Verify(log, witness []byte, now time.Time) (History, error) {
	h, err := History{}.Extend(log, witness, now)
	if err == nil && h.Len() == 0 {
		err = refuse(ReasonForm, "the log is empty")
	}
	if err != nil {
		return History{}, err
	}
	return h, nil
}

// Extend verifies the lines that follow h, at a given time and with the
// witness file that came along. It costs the same however long h is. The
// witness proofs h holds already count too. Every refusal is an *Error.
func (h History) Extend(log, witness []byte, now time.Time) (History, error) {
	lines, err := splitLog(log)
	if err != nil {
		return History{}, err
	}
	if h.Len()+len(lines) > maxEntries {
		return History{}, refuse(ReasonTooLarge, "log of %d entries, at most %d", h.Len()+len(lines), maxEntries)
	}
	next := History{nodes: slices.Clip(h.nodes), witness: h.witness}
	for i, line := range lines {
		n, err := next.follow(line, now)
		if err != nil {
			return History{}, at(h.Len()+i+1, err)
		}
		next.nodes = append(next.nodes, n)
	}
	if next.witness, err = next.witnessed(witness); err != nil {
		return History{}, err
	}
	return next, nil
}

// Check verifies one line as the entry after h, as Extend does, but leaves the
// witnesses out: it is for an entry they have not been asked about yet.
func (h History) Check(line []byte, now time.Time) (Version, error) {
	n, err := h.follow(line, now)
	if err != nil {
		return Version{}, at(h.Len()+1, err)
	}
	return n.Version, nil
}

// follow verifies one line as the entry after h, witnesses left out.
func (h History) follow(line []byte, now time.Time) (*node, error) {
	e, err := parseLine(line)
	if err != nil {
		return nil, err
	}
	prev := h.last()
	if prev.Parameters.Deactivated {
		return nil, refuse(ReasonDeactivated, "entry %d ended the DID", prev.Number)
	}
	n := &node{size: prev.size + len(line) + 1}
	if n.size > maxLog {
		return nil, refuse(ReasonTooLarge, "log of more than %d bytes", maxLog)
	}
	n.Version = Version{Number: e.number, ID: e.id, Time: e.time, Line: bytes.Clone(line)}
	if n.Parameters, err = apply(prev.Parameters, prev.Number == 0, e.parameters); err != nil {
		return nil, err
	}
	for _, check := range []func(*node, *node, entry) error{checkChain, checkProofs, checkDocument} {
		if err := check(prev, n, e); err != nil {
			return nil, err
		}
	}
	if latest := now.Add(maxAhead * time.Second); n.Time.After(latest) {
		return nil, refuse(ReasonTime, "versionTime %s is ahead of %s", e.timeText, formatTime(now))
	}
	n.runs = govern(prev, n)
	return n, nil
}

// last is the head, or the node before the first entry.
func (h History) last() *node {
	if len(h.nodes) == 0 {
		return &node{}
	}
	return h.nodes[len(h.nodes)-1]
}

// checkChain verifies number, SCID, entry hash and the order of times.
func checkChain(prev, n *node, e entry) error {
	if n.Number != prev.Number+1 {
		return refuse(ReasonHash, "entry number %d after %d", n.Number, prev.Number)
	}
	before := prev.ID
	if prev.Number == 0 {
		before = n.Parameters.SCID
		if err := e.checkSCID(before); err != nil {
			return err
		}
	}
	if got := hashText(e.sum(before)); got != e.hash {
		return refuse(ReasonHash, "versionId %s, the entry hashes to %s", e.id, got)
	}
	if prev.Number > 0 && !n.Time.After(prev.Time) {
		return refuse(ReasonTime, "versionTime %s is not after entry %d", e.timeText, prev.Number)
	}
	return nil
}

// checkProofs verifies every proof, with a key that may sign this entry:
// did:webvh 1.0, "Authorized Keys". With pre-rotation, and in the first entry,
// the keys the entry shows; else those shown before it.
func checkProofs(prev, n *node, e entry) error {
	active := prev.Parameters
	if prev.Number == 0 || len(prev.Parameters.NextKeyHashes) > 0 {
		active = n.Parameters
	}
	sum := e.sum(e.id)
	for _, p := range e.proofs {
		i := slices.Index(active.texts, p.key)
		if i < 0 {
			return refuse(ReasonKey, "signed by %s, which may not update", p.key)
		}
		if err := p.verify(active.UpdateKeys[i], sum); err != nil {
			return caused(ReasonProof, "proof by "+p.key, err)
		}
	}
	return nil
}

// checkDocument reads the state as a document of this DID, moved or not.
func checkDocument(prev, n *node, e entry) error {
	name, _ := e.state.Get("id")
	s, _ := name.Text()
	id, err := did.Parse(s)
	if err != nil {
		return caused(ReasonDocument, "id of the state", err)
	}
	n.ids = prev.ids
	if prev.Number == 0 || id != prev.Document.ID() {
		if err := checkName(prev, n, id); err != nil {
			return err
		}
	}
	// What was signed is the canonical form, so that is what is read.
	if n.Document, err = did.ParseDocument(e.canonicalState, id); err != nil {
		return caused(ReasonDocument, "state", err)
	}
	if prev.Number > 0 && id != prev.Document.ID() && !slices.Contains(n.Document.AlsoKnownAs(), prev.Document.ID().String()) {
		return refuse(ReasonDocument, "moved from %s without naming it in alsoKnownAs", prev.Document.ID())
	}
	return nil
}

// checkName judges the first name, and each new one: did:webvh 1.0, "DID Portability".
func checkName(prev, n *node, id did.DID) error {
	parsed, err := ParseIdentifier(id)
	if err != nil {
		return caused(ReasonDocument, "id of the state", err)
	}
	if parsed.SCID != n.Parameters.SCID {
		return refuse(ReasonDocument, "the state names SCID %s, the log is of %s", parsed.SCID, n.Parameters.SCID)
	}
	if prev.Number > 0 && !(prev.Parameters.Portable && n.Parameters.Portable) {
		return refuse(ReasonDocument, "moved to %s, but the log is not portable", id)
	}
	if !slices.Contains(n.ids, id) {
		n.ids = append(slices.Clip(n.ids), id)
	}
	return nil
}

// Len is the number of versions.
func (h History) Len() int { return len(h.nodes) }

// Head is the newest version, the zero Version if h is the zero History.
func (h History) Head() Version { return h.last().Version }

// At is version n, counted from 1; false if there is none.
func (h History) At(n int) (Version, bool) {
	if n < 1 || n > len(h.nodes) {
		return Version{}, false
	}
	return h.nodes[n-1].Version, true
}

// ByID is the version with that versionId; false if there is none.
func (h History) ByID(versionID string) (Version, bool) {
	n, _, err := parseVersionID(versionID)
	if err != nil {
		return Version{}, false
	}
	v, ok := h.At(n)
	return v, ok && v.ID == versionID
}

// ByTime is the version in force at t, by the times the controller claims; false before the first.
func (h History) ByTime(t time.Time) (Version, bool) {
	n, _ := slices.BinarySearchFunc(h.nodes, t, func(n *node, t time.Time) int {
		if n.Time.After(t) {
			return 1
		}
		return -1
	})
	return h.At(n)
}

// DID is the name of the head's document.
func (h History) DID() did.DID { return h.last().Document.ID() }

// SCID is the hash all names of the log share.
func (h History) SCID() string { return h.last().Parameters.SCID }

// Names reports whether d is a name the log has or had.
func (h History) Names(d did.DID) bool { return slices.Contains(h.last().ids, d) }

// Deactivated reports whether the head ended the DID.
func (h History) Deactivated() bool { return h.last().Parameters.Deactivated }

// Prefix is the history up to version n, h itself for a larger n.
func (h History) Prefix(n int) History {
	return History{nodes: h.nodes[:max(0, min(n, len(h.nodes)))], witness: h.witness}
}

// Log is the whole log, each line with its newline.
func (h History) Log() []byte { return h.After(0) }

// After is the lines of the versions after n, each with its newline; empty if there are none.
func (h History) After(n int) []byte {
	var out []byte
	for _, v := range h.nodes[max(0, min(n, len(h.nodes))):] {
		out = append(append(out, v.Line...), '\n')
	}
	return out
}

// Witness is a witness file that proves what had to be witnessed, nil if
// nothing had to. It is the file as it came, unless the proofs of two files
// were needed together.
func (h History) Witness() []byte { return h.witness }

// member is one name and value of an object that is built here.
func member(name string, v strictjson.Value) strictjson.Member {
	return strictjson.Member{Name: name, Value: v}
}
