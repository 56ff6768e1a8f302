package lending

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRef is wrapped by every refusal of the text of a Ref.
var ErrRef = errors.New("invalid entry reference")

// Ref names one revision of one entry, "e…@2": it always renders to the same
// bytes.
type Ref struct {
	Entry string // "e" and base58btc of 16 random bytes
	Rev   uint64 // from 1
}

// String returns the text, "e…@2".
func (r Ref) String() string { return r.Entry + "@" + strconv.FormatUint(r.Rev, 10) }

// MarshalText returns the text of a well-formed Ref.
func (r Ref) MarshalText() ([]byte, error) {
	if _, err := ParseRef(r.String()); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText is ParseRef.
func (r *Ref) UnmarshalText(b []byte) error {
	got, err := ParseRef(string(b))
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// ParseRef reads "e…@2". Errors wrap ErrRef.
func ParseRef(text string) (Ref, error) {
	id, rev, ok := strings.Cut(text, "@")
	if !ok || len(text) > maxRefBytes {
		return Ref{}, fmt.Errorf("%w: not of the form e…@2", ErrRef)
	}
	if err := CheckEntryID(id); err != nil {
		return Ref{}, err
	}
	n, err := strconv.ParseUint(rev, 10, 53)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != rev {
		return Ref{}, fmt.Errorf("%w: revision %q", ErrRef, rev)
	}
	return Ref{Entry: id, Rev: n}, nil
}

// CheckEntryID reports whether a text has the form of an entry's id: "e" and
// 16..22 characters of base58btc.
func CheckEntryID(id string) error { return checkPseudonym(id, 'e') }

// CheckSubject reports whether a text has the form of a subject's pseudonym:
// "s" and 16..22 characters of base58btc.
func CheckSubject(s string) error { return checkPseudonym(s, 's') }

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

func checkPseudonym(text string, first byte) error {
	if len(text) < 17 || len(text) > 23 || text[0] != first {
		return fmt.Errorf("%w: %q is not %c and 16 bytes in base58btc", ErrRef, text, first)
	}
	for _, c := range []byte(text[1:]) {
		if strings.IndexByte(base58, c) < 0 {
			return fmt.Errorf("%w: %q holds a character outside base58btc", ErrRef, text)
		}
	}
	return nil
}
