package envelope_test

import (
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
)

// The bodies below repeat, field by field, formats that other packages own. They stand here so that this package's
// golden values need nothing above it.

var errNoReads = errors.New("max_reads is 0")

type pin struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"`
}

type permission struct {
	Lender     did.DID       `json:"lender"`
	Kid        string        `json:"kid"`
	Borrower   did.DID       `json:"borrower"`
	Scope      string        `json:"scope"`
	Purpose    string        `json:"purpose"`
	IssuedAt   envelope.Time `json:"issued_at"`
	ExpiresAt  envelope.Time `json:"expires_at"`
	MaxReads   uint64        `json:"max_reads"`
	Patterns   []string      `json:"patterns"`
	Revocation string        `json:"revocation"`
	Nonce      string        `json:"nonce"`
	Charter    *pin          `json:"governing_charter"`
	Cost       *costCap      `json:"cost_cap"`
	Cache      uint64        `json:"cache_s,omitempty"`
	Parent     envelope.ID   `json:"parent,omitempty"`
	NotBefore  envelope.Time `json:"not_before,omitempty"`
}

type costCap struct {
	Amount string `json:"amount"`
	Asset  string `json:"asset"`
}

func (permission) Payload() envelope.Type      { return envelope.TypeOf("permission") }
func (p permission) Signer() (did.DID, string) { return p.Lender, p.Kid }
func (permission) MaxBytes() int               { return 4096 }
func (p permission) Check() error {
	if p.MaxReads == 0 {
		return errNoReads
	}
	return nil
}

type readRequest struct {
	Aud      did.DID       `json:"aud"`
	Borrower did.DID       `json:"borrower"`
	Kid      string        `json:"kid"`
	Op       string        `json:"op"`
	Perm     envelope.ID   `json:"perm"`
	Purpose  string        `json:"purpose,omitempty"`
	Limit    uint64        `json:"limit,omitempty"`
	Nonce    string        `json:"nonce"`
	At       envelope.Time `json:"at"`
}

func (readRequest) Payload() envelope.Type      { return envelope.TypeOf("readrequest") }
func (r readRequest) Signer() (did.DID, string) { return r.Borrower, r.Kid }
func (readRequest) Check() error                { return nil }

type ballot struct {
	At         envelope.Time `json:"at"`
	Body       envelope.ID   `json:"body"`
	DIDVersion string        `json:"did_version"`
	Federation envelope.ID   `json:"federation"`
	Kid        string        `json:"kid"`
	N          uint64        `json:"n"`
	Org        did.DID       `json:"org"`
	Prev       envelope.ID   `json:"prev"`
	Round      uint64        `json:"round"`
	Seq        uint64        `json:"seq"`
	Vote       string        `json:"vote"`
}

func (ballot) Payload() envelope.Type      { return envelope.TypeOf("ballot") }
func (b ballot) Signer() (did.DID, string) { return b.Org, b.Kid }
func (ballot) Check() error                { return nil }

// shapes uses every kind of member the format has. Its issuer is one of several.
type shapes struct {
	header
	Flag  bool           `json:"flag"`
	Maybe *uint64        `json:"maybe"`
	Small uint8          `json:"small"`
	Sign  int64          `json:"sign"`
	Text  string         `json:"text" text:"multiline"`
	Line  string         `json:"line"`
	Tags  []string       `json:"tags"`
	More  []string       `json:"more,omitempty"`
	Pins  []pin          `json:"pins"`
	Inner inner          `json:"inner,omitempty"`
	Key   did.PublicKey  `json:"key,omitempty"`
	Kind  upper          `json:"kind,omitempty"`
	Data  envelope.Raw   `json:"data,omitempty"`
	Ext   envelope.Raw   `json:"ext"`
	Deep  []deep         `json:"deep,omitempty"`
	Many  []envelope.Raw `json:"many,omitempty"`
	_     int            // not part of the format
}

type header struct {
	At envelope.Time `json:"at"`
}

type inner struct {
	A string `json:"a,omitempty"`
}

type deep struct {
	Deep []deep `json:"deep,omitempty"`
}

// upper is a text type with two spellings of one value, of which only one is canonical.
type upper struct{ s string }

func (u upper) MarshalText() ([]byte, error) { return []byte(u.s), nil }

func (u *upper) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("empty")
	}
	u.s = ""
	for _, c := range b {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		u.s += string(rune(c))
	}
	return nil
}

func (shapes) Payload() envelope.Type    { return envelope.TypeOf("shapes") }
func (shapes) Signer() (did.DID, string) { return did.DID{}, "" }
func (shapes) Check() error              { return nil }
