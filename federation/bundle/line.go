package bundle

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// Kind is the shape of a line. The values are the order in which lines are
// written, so they are never reordered.
type Kind uint8

// The kinds of lines; the zero value is no kind.
const (
	KindDIDLog   Kind = 1 // exact lines of a DID log: {"did","did_log","did_witness"?,"from"}
	KindEnvelope Kind = 2 // a DSSE envelope
	KindEntry    Kind = 3 // a log entry with its proof: {"entry","proof"}
	KindBody     Kind = 4 // a body by its id: {"body","id"}
	KindRow      Kind = 5 // an audit row with its path: {"event","index","path","row","size"}
	KindCompact  Kind = 6 // an object in compact form: {"compact","what"}
	KindUnknown  Kind = 7 // canonical JSON of a shape this version does not know
)

// String names the kind in one word.
func (k Kind) String() string {
	names := [...]string{"none", "did_log", "envelope", "entry", "body", "row", "compact", "unknown"}
	if int(k) < len(names) {
		return names[k]
	}
	return "none"
}

// Line is one line of a bundle: DIDLog, Envelope, Entry, Body, Row, Compact or
// Unknown. It is unverified.
type Line interface {
	// Kind is the shape of the line.
	Kind() Kind
	// encode gives the canonical bytes of the line, without the newline.
	encode() ([]byte, error)
	// order gives what sorts lines of one kind.
	order() string
}

// Header is the first line.
type Header struct {
	About []envelope.ID // proof files: the ids the file is for; empty elsewhere
	Pin   *Pin          // boot files: a charter the sender vouches for; nil if none
}

// Pin names a charter that was the head as of a time.
type Pin struct {
	AsOf envelope.Time `json:"as_of"`
	ID   envelope.ID   `json:"id"`
	Seq  uint64        `json:"seq"`
}

// DIDLog carries exact bytes of a DID's log from version From on; a long log
// takes several lines. For did:web, Log is did.json.
type DIDLog struct {
	DID     did.DID
	From    uint64 // number of the first version in Log, from 1
	Log     []byte // exact log lines, newlines included
	Witness []byte // the exact witness file; empty if there is none
}

// Envelope carries one signed object.
type Envelope struct{ envelope.Envelope }

// Entry carries one entry of an attestation log (0x01 ‖ signature ‖ body) and
// its C2SP tlog-proof.
type Entry struct {
	Entry []byte
	Proof []byte
}

// Body carries the bytes of a body; its id is recomputed from them and a line
// that names another is refused.
type Body struct{ Body []byte }

// ID is the id of the body.
func (b Body) ID() envelope.ID { return envelope.IDOf(b.Body) }

// Row carries one audit row and its path under the root of an audit.rows event.
type Row struct {
	Event envelope.ID // the audit.rows event
	Index uint64      // place of the row among the rows of that event
	Path  []byte      // RFC 6962 audit path, n × 32 bytes; nil where the row is the only one
	Row   []byte      // exact bytes of the row
	Size  uint64      // rows under that event; more than Index
}

// Compact carries an object of one signer in compact form.
type Compact struct {
	What string // the object's name in its type, such as "receipt"
	Text string // base64url(body).base64url(sig)
}

// Envelope is the object as an envelope.
func (c Compact) Envelope() (envelope.Envelope, error) {
	return envelope.ParseCompact(c.Text, envelope.TypeOf(c.What), MaxLine)
}

// Unknown is a canonical JSON object of a shape this version does not know.
type Unknown struct{ Raw []byte }

// Kind is KindDIDLog.
func (DIDLog) Kind() Kind { return KindDIDLog }

// Kind is KindEnvelope.
func (Envelope) Kind() Kind { return KindEnvelope }

// Kind is KindEntry.
func (Entry) Kind() Kind { return KindEntry }

// Kind is KindBody.
func (Body) Kind() Kind { return KindBody }

// Kind is KindRow.
func (Row) Kind() Kind { return KindRow }

// Kind is KindCompact.
func (Compact) Kind() Kind { return KindCompact }

// Kind is KindUnknown.
func (Unknown) Kind() Kind { return KindUnknown }
