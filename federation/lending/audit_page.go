package lending

import (
	"encoding/base64"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// MethodAudit asks for the borrower's own rows; the frame's FromSeq says from which on.
const MethodAudit = "audit"

const (
	// MaxAuditRows is the most rows of one page: the lender proves each of them.
	MaxAuditRows = 64
	// MaxAuditBytes is where a page ends though rows follow, in bytes of their lines.
	MaxAuditBytes = 512 << 10
)

// AuditPage is some rows of one permission, as its lender shows them to its borrower: each
// in the line that proves it under an audit.rows event of the lender's log, those of the
// last moment without. Nothing in it is verified.
type AuditPage struct {
	Head    []byte      // signed note of the lender's log; nil while there is none
	Next    uint64      // FromSeq of the page that follows; 0 at the end
	Perm    envelope.ID // whose rows these are
	Rows    []bundle.Row
	Waiting [][]byte // canonical rows that no event binds yet
}

type auditPageWire struct {
	Head    string      `json:"head,omitempty"`
	Next    uint64      `json:"next,omitempty"`
	Perm    envelope.ID `json:"perm"`
	Rows    []string    `json:"rows"`
	Waiting []string    `json:"waiting"`
}

var b64 = base64.RawURLEncoding.Strict()

// Bytes returns the canonical bytes of the page.
func (p AuditPage) Bytes() ([]byte, error) {
	w := auditPageWire{Head: b64.EncodeToString(p.Head), Next: p.Next, Perm: p.Perm, Rows: []string{}, Waiting: []string{}}
	for _, r := range p.Rows {
		line, err := bundle.EncodeLine(r)
		if err != nil {
			return nil, err
		}
		w.Rows = append(w.Rows, b64.EncodeToString(line))
	}
	for _, r := range p.Waiting {
		w.Waiting = append(w.Waiting, b64.EncodeToString(r))
	}
	return envelope.Marshal(w)
}

// ParseAuditPage reads the canonical bytes of a page. Errors are *envelope.FormError.
func ParseAuditPage(b []byte) (AuditPage, error) {
	var w auditPageWire
	if len(b) > MaxAnswer {
		return AuditPage{}, form("", "page of %d bytes, at most %d", len(b), MaxAnswer)
	}
	if err := envelope.Unmarshal(b, &w); err != nil {
		return AuditPage{}, err
	}
	if n := len(w.Rows) + len(w.Waiting); n > MaxAuditRows {
		return AuditPage{}, form("rows", "%d, at most %d", n, MaxAuditRows)
	}
	p := AuditPage{Next: w.Next, Perm: w.Perm}
	var err error
	if p.Head, err = b64.DecodeString(w.Head); err != nil {
		return AuditPage{}, form("head", "%v", err)
	}
	for _, text := range w.Rows {
		raw, err := b64.DecodeString(text)
		if err != nil {
			return AuditPage{}, form("rows", "%v", err)
		}
		line, err := bundle.ParseLine(raw)
		row, ok := line.(bundle.Row)
		if err != nil || !ok {
			return AuditPage{}, form("rows", "not a row with its path: %v", err)
		}
		p.Rows = append(p.Rows, row)
	}
	for _, text := range w.Waiting {
		raw, err := b64.DecodeString(text)
		if err != nil {
			return AuditPage{}, form("waiting", "%v", err)
		}
		p.Waiting = append(p.Waiting, raw)
	}
	return p, nil
}

// MayAudit judges a request for the rows of a permission that is its borrower's. How the
// permission stands does not matter: what was done under it stays the business of both.
func MayAudit(rq envelope.Verified[ReadRequest], p envelope.Verified[Permission], timeTrusted bool, at time.Time) *Denial {
	d := decision{st: State{TimeTrusted: timeTrusted, Known: true}, rq: rq.Body(), p: p.Body(), at: at}
	if !timeTrusted {
		return deny(CodeUnavailable, ReasonClock, "the lender's operator has to set its clock", "the lender's node does not trust its clock")
	}
	return d.request(OpAudit)
}
