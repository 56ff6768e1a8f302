package gossip

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// The frames of sync and witness. Frozen.
type (
	headsFrame struct {
		Heads heads `json:"heads"`
	}
	heads struct {
		Charter    federation.CharterRef `json:"charter"`
		DIDs       []didHead             `json:"dids"` // ascending by did
		Federation envelope.ID           `json:"federation"`
		Sets       sets                  `json:"sets"`
	}
	didHead struct {
		DID     did.DID     `json:"did"`
		DIDHead string      `json:"did_head,omitempty"`
		Note    string      `json:"note,omitempty" text:"multiline"`
		Notes   envelope.ID `json:"notes,omitempty"` // set digest of the cosigned notes
	}
	sets struct {
		Beacons    envelope.ID `json:"beacons"`
		Bindings   envelope.ID `json:"bindings"`
		Governance envelope.ID `json:"governance"`
	}
	// ask has exactly one member.
	ask struct {
		Beacons  *haveAsk      `json:"beacons,omitempty"`
		Bindings *haveAsk      `json:"bindings,omitempty"`
		Bodies   []envelope.ID `json:"bodies,omitempty"`
		Charters *afterAsk     `json:"charters,omitempty"`
		DIDLog   *didLogAsk    `json:"did_log,omitempty"`
		Events   *rangeAsk     `json:"events,omitempty"`
		Notes    *rangeAsk     `json:"notes,omitempty"`
		Object   *objectAsk    `json:"object,omitempty"`
		Ranges   *rangesAsk    `json:"ranges,omitempty"`
	}
	haveAsk struct {
		Have []envelope.ID `json:"have"`
	}
	afterAsk struct {
		After uint64 `json:"after"`
	}
	didLogAsk struct {
		After uint64  `json:"after"`
		DID   did.DID `json:"did"`
	}
	rangeAsk struct {
		DID  did.DID `json:"did"`
		From uint64  `json:"from"`
		To   uint64  `json:"to"`
	}
	rangesAsk struct {
		At   uint64  `json:"at"`
		DID  did.DID `json:"did"`
		Size uint64  `json:"size"`
	}
	objectAsk struct {
		ID envelope.ID `json:"id"`
	}
	entriesLine struct {
		DID     did.DID  `json:"did"`
		Entries []string `json:"entries"`
		From    uint64   `json:"from"`
		Rest    string   `json:"rest"`
		Size    uint64   `json:"size"`
	}
	rangesLine struct {
		At    uint64  `json:"at"`
		DID   did.DID `json:"did"`
		Left  string  `json:"left"`
		Right string  `json:"right"`
		Size  uint64  `json:"size"`
	}
	notesLine struct {
		DID   did.DID  `json:"did"`
		Notes []string `json:"notes" text:"multiline"`
	}
	bodiesLine struct {
		Bodies []string `json:"bodies"`
	}
	end struct {
		Code   string `json:"code,omitempty"`
		End    bool   `json:"end"`
		More   bool   `json:"more"`
		RetryS uint64 `json:"retry_s,omitempty"`
		Size   uint64 `json:"size,omitempty"`
	}
	witnessAsk struct { // exactly one member
		Checkpoint string `json:"checkpoint,omitempty" text:"multiline"`
		Entry      string `json:"entry,omitempty"`
	}
	witnessAnswer struct {
		Body   string `json:"body" text:"multiline"`
		Status uint64 `json:"status"`
	}
)

// The codes of an end.
const (
	codeNotFound = "not_found"
	codeStale    = "stale"
)

// parseHeads reads the first frame of a sync stream.
func parseHeads(b []byte) (heads, error) {
	var f headsFrame
	if err := envelope.Unmarshal(b, &f); err != nil {
		return heads{}, blame("heads: %v", err)
	}
	h := f.Heads
	if len(h.DIDs) > maxDIDs {
		return heads{}, blame("heads of %d organizations, cap %d", len(h.DIDs), maxDIDs)
	}
	for i, d := range h.DIDs {
		switch {
		case i > 0 && h.DIDs[i-1].DID.String() >= d.DID.String():
			return heads{}, blame("heads are not in ascending order at %s", d.DID)
		case len(d.Note) > attestation.MaxNote || len(d.DIDHead) > federation.MaxVersion:
			return heads{}, blame("head of %s is too long", d.DID)
		}
	}
	return h, nil
}

// isEnd reports whether a frame is an end rather than a line.
func isEnd(b []byte) bool {
	return bytes.HasPrefix(b, []byte(`{"code":`)) || bytes.HasPrefix(b, []byte(`{"end":`))
}

func parseEnd(b []byte) (end, error) {
	var e end
	if err := envelope.Unmarshal(b, &e); err != nil || !e.End {
		return end{}, blame("a malformed end")
	}
	return e, nil
}

// errUnknownAsk: the frame is sound, but asks for what this version does not know.
var errUnknownAsk = errors.New("ask is not known")

// parseAsk reads what a peer asks for: errUnknownAsk where it is canonical JSON
// of another shape.
func parseAsk(b []byte) (ask, error) {
	if err := envelope.Canonical(b, envelope.MaxDepth); err != nil {
		return ask{}, blame("ask: %v", err)
	}
	var a ask
	if err := envelope.Unmarshal(b, &a); err != nil {
		return ask{}, errUnknownAsk
	}
	if err := a.check(); err != nil {
		return ask{}, err
	}
	return a, nil
}

func (a ask) check() error {
	members := 0
	for _, has := range []bool{a.Beacons != nil, a.Bindings != nil, a.Bodies != nil, a.Charters != nil,
		a.DIDLog != nil, a.Events != nil, a.Notes != nil, a.Object != nil, a.Ranges != nil} {
		if has {
			members++
		}
	}
	switch {
	case members == 0:
		return errUnknownAsk
	case members > 1:
		return blame("an ask for %d things", members)
	case len(a.Bodies) > maxBodies, a.Beacons != nil && len(a.Beacons.Have) > maxHave, a.Bindings != nil && len(a.Bindings.Have) > maxHave:
		return blame("an ask with too many ids")
	case a.Events != nil && a.Events.From > a.Events.To, a.Notes != nil && a.Notes.From > a.Notes.To:
		return blame("an ask for a range that ends before it begins")
	case a.Ranges != nil && (a.Ranges.At == 0 || a.Ranges.At >= a.Ranges.Size):
		return blame("an ask for ranges that meet at %d of %d", a.Ranges.At, a.Ranges.Size)
	}
	return nil
}

// entriesOf makes the line of a package whose note is in the heads.
func entriesOf(p attestation.Package, size uint64) ([]byte, error) {
	l := entriesLine{DID: p.Did, From: p.From, Rest: attestation.FormatHashes(p.Rest), Size: size}
	for _, e := range p.Entries {
		l.Entries = append(l.Entries, attestation.FormatEntry(e))
	}
	return envelope.Marshal(l)
}

// parseEntries reads a line of entries as a package under the note of the heads.
func parseEntries(b []byte, a rangeAsk, fed envelope.ID, note string) (attestation.Package, error) {
	var l entriesLine
	if err := envelope.Unmarshal(b, &l); err != nil {
		return attestation.Package{}, blame("entries: %v", err)
	}
	if l.DID != a.DID || l.Size != a.To {
		return attestation.Package{}, blame("entries of %s under size %d instead of %s under %d", l.DID, l.Size, a.DID, a.To)
	}
	if len(l.Entries) == 0 || len(l.Entries) > attestation.MaxBatch {
		return attestation.Package{}, blame("a line of %d entries", len(l.Entries))
	}
	rest, err := attestation.ParseHashes(l.Rest)
	if err != nil {
		return attestation.Package{}, blame("rest: %v", err)
	}
	p := attestation.Package{Did: l.DID, Federation: fed, From: l.From, Note: []byte(note), Rest: rest}
	for _, text := range l.Entries {
		e, err := attestation.ParseEntry(text)
		if err != nil {
			return attestation.Package{}, blame("entry: %v", err)
		}
		p.Entries = append(p.Entries, e)
	}
	return p, nil
}

// rangesOf makes the line of the compact ranges [0, at) and [at, size).
func rangesOf(a rangesAsk, left, right attlog.Range) ([]byte, error) {
	return envelope.Marshal(rangesLine{At: a.At, DID: a.DID, Left: attestation.FormatHashes(left.Hashes()), Right: attestation.FormatHashes(right.Hashes()), Size: a.Size})
}

// parseRanges reads one. Whether it is of the tree that was asked about is not looked at.
func parseRanges(b []byte, a rangesAsk) (left, right attlog.Range, err error) {
	var l rangesLine
	if err := envelope.Unmarshal(b, &l); err != nil {
		return left, right, blame("ranges: %v", err)
	}
	if l.DID != a.DID || l.At != a.At || l.Size != a.Size {
		return left, right, blame("ranges of %s that meet at %d of %d instead of %s at %d of %d", l.DID, l.At, l.Size, a.DID, a.At, a.Size)
	}
	if left, err = parseRange(0, l.At, l.Left); err == nil {
		right, err = parseRange(l.At, l.Size, l.Right)
	}
	return left, right, err
}

func parseRange(from, to uint64, text string) (attlog.Range, error) {
	hashes, err := attestation.ParseHashes(text)
	if err != nil {
		return attlog.Range{}, blame("ranges: %v", err)
	}
	r, err := attlog.ParseRange(from, to, hashes)
	if err != nil {
		return attlog.Range{}, blame("ranges: %v", err)
	}
	return r, nil
}

func parseNotes(b []byte, d did.DID) ([]string, error) {
	var l notesLine
	if err := envelope.Unmarshal(b, &l); err != nil {
		return nil, blame("notes: %v", err)
	}
	if l.DID != d || len(l.Notes) > maxNotes {
		return nil, blame("a line of %d notes of %s", len(l.Notes), l.DID)
	}
	return l.Notes, nil
}

func parseBodies(b []byte) ([][]byte, error) {
	var l bodiesLine
	if err := envelope.Unmarshal(b, &l); err != nil || len(l.Bodies) > maxBodies {
		return nil, blame("a malformed line of bodies")
	}
	var out [][]byte
	for _, text := range l.Bodies {
		// The decoder skips line breaks, which canonical JSON does not have here.
		body, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err != nil || len(body) == 0 {
			return nil, blame("a body that is not base64url")
		}
		out = append(out, body)
	}
	return out, nil
}

// parseWitnessAsk reads the request of a witness stream: a checkpoint, or the bytes of
// a line of a DID log.
func parseWitnessAsk(b []byte) (checkpoint, line []byte, err error) {
	var a witnessAsk
	if err := envelope.Unmarshal(b, &a); err != nil {
		return nil, nil, blame("witness: %v", err)
	}
	if (a.Checkpoint == "") == (a.Entry == "") {
		return nil, nil, blame("witness: neither a checkpoint nor an entry, or both")
	}
	if a.Entry == "" {
		return []byte(a.Checkpoint), nil, nil
	}
	line, err = base64.RawURLEncoding.Strict().DecodeString(a.Entry)
	if err != nil || len(line) == 0 || bytes.ContainsAny(line, "\r\n") {
		return nil, nil, blame("witness: an entry that is not base64url of a line")
	}
	return nil, line, nil
}

// parseWitnessAnswer reads the answer to one.
func parseWitnessAnswer(b []byte) (witnessAnswer, error) {
	var a witnessAnswer
	if err := envelope.Unmarshal(b, &a); err != nil || a.Status < 100 || a.Status > 999 {
		return witnessAnswer{}, blame("a malformed answer of a witness")
	}
	return a, nil
}

// digest is the digest of a set of ids.
func digest(ids []envelope.ID) envelope.ID {
	texts := make([]string, 0, len(ids))
	byText := make(map[string]envelope.ID, len(ids))
	for _, id := range ids {
		if _, ok := byText[id.String()]; !ok {
			texts = append(texts, id.String())
			byText[id.String()] = id
		}
	}
	slices.Sort(texts)
	sorted := make([]envelope.ID, len(texts))
	for i, t := range texts {
		sorted[i] = byText[t]
	}
	return attlog.RootOf(attlog.IDLeaves(sorted))
}

func idsOf(list []envelope.Envelope) []envelope.ID {
	ids := make([]envelope.ID, len(list))
	for i, e := range list {
		ids[i] = e.ID()
	}
	return ids
}

// noteSize returns the size a note claims; 0 where it is none.
func noteSize(note []byte) uint64 {
	if len(note) == 0 {
		return 0
	}
	n, err := attlog.ParseNote(note)
	if err != nil {
		return 0
	}
	return n.Head.Size
}

// versionNumber returns the number before the dash of a version of a DID log; 0
// where there is none.
func versionNumber(v string) uint64 {
	text, _, ok := strings.Cut(v, "-")
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return n
}

func marshalAsk(a ask) ([]byte, error) {
	b, err := envelope.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	return b, nil
}
