package didwebvh

import (
	"bytes"
	"slices"
	"time"
)

// Verify reads a whole log from its bytes at a given time and its witness
// file, nil if there is none. Every refusal is an *Error, and of several broken
// entries it names the first.
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

// VerifyPart is Verify, but beside the refusal it answers the versions before
// the entry that is refused, as many as the witness file proves; none, and the
// zero History, if it is the first. did:webvh 1.0, "Read (Resolve)", steps 10
// and 11, leaves it to a resolver to go on answering for these. They verify,
// but say nothing about the head: a caller that asks for the present must take
// the refusal, and only one that names a version may use them.
func VerifyPart(log, witness []byte, now time.Time) (History, error) {
	h, err := Verify(log, witness, now)
	if err == nil {
		return h, nil
	}
	lines, splitErr := splitLog(log)
	if splitErr != nil {
		return History{}, err
	}
	part, _ := History{}.grow(lines, now)
	return part.provable(witness), err
}

// Extend verifies the lines that follow h, at a given time and with the
// witness file that came along. It costs the same however long h is, but for
// one look at each witness list it had. The witness proofs h holds already count too. Long logs are read and their proofs
// verified on as many processors as there are; what it answers does not depend
// on their number. Every refusal is an *Error.
func (h History) Extend(log, witness []byte, now time.Time) (History, error) {
	lines, err := splitLog(log)
	if err != nil {
		return History{}, err
	}
	if h.Len()+len(lines) > maxEntries {
		return History{}, refuse(ReasonTooLarge, "log of %d entries, at most %d", h.Len()+len(lines), maxEntries)
	}
	next, err := h.grow(lines, now)
	if err != nil {
		return History{}, err
	}
	if next.witness, err = next.witnessed(witness); err != nil {
		return History{}, err
	}
	return next, nil
}

// Check verifies one line as the entry after h, as Extend does, but leaves the
// witnesses out: it is for an entry they have not been asked about yet.
func (h History) Check(line []byte, now time.Time) (Version, error) {
	next, err := h.grow([][]byte{line}, now)
	if err != nil {
		return Version{}, err
	}
	return next.Head(), nil
}

// grow is h and the lines after it, witnesses left out. With an error it is h
// and the lines before the first that is refused.
func (h History) grow(lines [][]byte, now time.Time) (History, error) {
	next := History{nodes: slices.Clip(h.nodes), witness: h.witness}
	for some := range slices.Chunk(lines, batch) {
		if err := next.take(some, now); err != nil {
			return next, err
		}
	}
	return next, nil
}

// batch is how many lines are read before their order is judged: enough to keep
// all processors busy, few enough that a log that is broken at its start does
// not cost what a whole one does.
const batch = 128

// reading is a line and what reading it came to.
type reading struct {
	entry
	err error
}

// take adds the lines to h up to the first that is refused. Reading an entry
// and verifying its signature concern that entry alone and are done side by
// side; what ties it to the one before is judged in between, in order. The
// signature is the last thing judged of an entry, so the refusal is that of the
// first broken entry and the same as one after the other.
func (h *History) take(lines [][]byte, now time.Time) error {
	read := make([]reading, len(lines))
	parallel(len(lines), func(i int) { read[i].entry, read[i].err = readLine(lines[i]) })
	from := len(h.nodes)
	err := h.link(read, now)
	signed := make([]error, len(h.nodes)-from)
	parallel(len(signed), func(i int) { signed[i] = read[i].verify() })
	for i, bad := range signed {
		if bad != nil {
			h.nodes = h.nodes[:from+i]
			return at(from+i+1, bad)
		}
	}
	return err
}

// link adds the entries to h, their signatures not yet verified, up to the first that does not follow.
func (h *History) link(read []reading, now time.Time) error {
	for i := range read {
		n, err := h.follow(&read[i], now)
		if err != nil {
			return at(len(h.nodes)+1, err)
		}
		h.nodes = append(h.nodes, n)
	}
	return nil
}

func (h *History) follow(r *reading, now time.Time) (*node, error) {
	if r.err != nil {
		return nil, r.err
	}
	prev, e := h.last(), &r.entry
	if prev.Parameters.Deactivated {
		return nil, refuse(ReasonDeactivated, "entry %d ended the DID", prev.Number)
	}
	n := &node{size: prev.size + len(e.line) + 1}
	if n.size > maxLog {
		return nil, refuse(ReasonTooLarge, "log of more than %d bytes", maxLog)
	}
	var err error
	n.Version = Version{Number: e.number, ID: e.id, Time: e.time, Line: bytes.Clone(e.line), Document: e.document}
	if n.Parameters, err = apply(prev.Parameters, prev.Number == 0, e.parameters); err != nil {
		return nil, err
	}
	for _, check := range []func(*node, *node, *entry) error{checkChain, authorize, checkDocument} {
		if err := check(prev, n, e); err != nil {
			return nil, err
		}
	}
	if latest := now.Add(maxAhead * time.Second); n.Time.After(latest) {
		return nil, refuse(ReasonTime, "versionTime %s is ahead of %s", e.timeText, formatTime(now))
	}
	n.run = govern(prev, n)
	return n, nil
}

// checkChain verifies number, SCID, entry hash and the order of times.
func checkChain(prev, n *node, e *entry) error {
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

// authorize finds for every proof the key that made it among those that may
// sign this entry: did:webvh 1.0, "Authorized Keys". With pre-rotation, and in
// the first entry, the keys the entry shows; else those shown before it.
func authorize(prev, n *node, e *entry) error {
	active := prev.Parameters
	if prev.Number == 0 || len(prev.Parameters.NextKeyHashes) > 0 {
		active = n.Parameters
	}
	for _, p := range e.proofs {
		i := slices.Index(active.texts, p.key)
		if i < 0 {
			return refuse(ReasonKey, "signed by %s, which may not update", p.key)
		}
		e.signers = append(e.signers, active.UpdateKeys[i])
	}
	return nil
}

// verify verifies every proof of an entry with the key authorize found for it.
func (e *entry) verify() error {
	sum := e.sum(e.id)
	for i, p := range e.proofs {
		if err := p.verify(e.signers[i], sum); err != nil {
			return caused(ReasonProof, "proof by "+p.key, err)
		}
	}
	return nil
}

// checkDocument judges whose document the state is, moved or not.
func checkDocument(prev, n *node, e *entry) error {
	id := n.Document.ID()
	n.names = prev.names
	if prev.Number > 0 && id == prev.Document.ID() {
		return nil
	}
	if err := checkName(prev, n); err != nil {
		return err
	}
	if prev.Number > 0 && !slices.Contains(n.Document.AlsoKnownAs(), prev.Document.ID().String()) {
		return refuse(ReasonDocument, "moved from %s without naming it in alsoKnownAs", prev.Document.ID())
	}
	return nil
}

// checkName judges the first name, and each new one: did:webvh 1.0, "DID Portability".
func checkName(prev, n *node) error {
	id := n.Document.ID()
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
	if !n.names.has(id) {
		n.names = &name{id, n.names}
	}
	return nil
}
