package envelope

import (
	"crypto/sha256"
	"errors"

	"trustnode/did"
)

// ID names a document by the hash of its bytes: "z", then base58btc of the sha2-256 multihash. Comparable; the zero
// value names nothing. Signatures never enter it.
type ID struct{ sum [32]byte }

var errID = errors.New("not an id: expected z and base58btc of a sha2-256 multihash")

// idTextLen is the length of every id's text in bytes: "z", "Qm" and 44 more.
const idTextLen = 47

// IDOf returns the id of a document with these exact bytes.
func IDOf(body []byte) ID { return ID{sha256.Sum256(body)} }

// IDFromSum makes an id of a SHA-256 sum.
func IDFromSum(sum [32]byte) ID { return ID{sum} }

// ParseID reads an id's text, which has one spelling.
func ParseID(s string) (ID, error) {
	if len(s) != idTextLen {
		return ID{}, errID
	}
	b, err := did.ParseMultibase(s)
	if err != nil || len(b) != 34 || b[0] != 0x12 || b[1] != 0x20 {
		return ID{}, errID
	}
	id := ID{[32]byte(b[2:])}
	if id.IsZero() {
		return ID{}, errID
	}
	return id, nil
}

// Sum returns the SHA-256 sum in the id, all zero for the zero value.
func (id ID) Sum() [32]byte { return id.sum }

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id.sum == [32]byte{} }

// String returns the id's text of 47 bytes, and "" for the zero value.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return did.Multibase(id.multihash())
}

func (id ID) multihash() []byte {
	return append([]byte{0x12, 0x20}, id.sum[:]...)
}

// MarshalText returns the id's text; the zero value is an error.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, errors.New("id is missing")
	}
	return []byte(id.String()), nil
}

// UnmarshalText is ParseID.
func (id *ID) UnmarshalText(b []byte) error {
	p, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = p
	return nil
}
