package did

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooLarge says that an input is longer than its cap in limits.go; nothing of it was parsed.
var ErrTooLarge = errors.New("input too large")

// ErrSyntax says that a text is no DID or DID URL.
var ErrSyntax = errors.New("not a DID")

// DID is a decentralized identifier exactly as it was written. It is comparable; two DIDs are the same party's name
// only if they are equal byte for byte. The zero value names nobody. Made by Parse.
type DID struct{ s string }

// Parse reads a bare DID by the grammar of DID Core 1.0, section 3.1: no path, query, fragment or surrounding space.
// Errors are ErrSyntax and, above MaxDID bytes (MaxLongDID for did:peer:4), ErrTooLarge.
func Parse(s string) (DID, error) {
	if len(s) > limitOf(s) {
		return DID{}, fmt.Errorf("DID of %d bytes: %w", len(s), ErrTooLarge)
	}
	n, err := scanDID(s)
	if err != nil {
		return DID{}, err
	}
	if n < len(s) {
		return DID{}, fmt.Errorf("byte 0x%02x at %d has no place in a DID: %w", s[n], n, ErrSyntax)
	}
	return DID{s}, nil
}

// MustParse is Parse for constants; it panics on an error.
func MustParse(s string) DID {
	d, err := Parse(s)
	if err != nil {
		panic("did: " + err.Error())
	}
	return d
}

func limitOf(s string) int {
	if strings.HasPrefix(s, "did:peer:4") {
		return MaxLongDID
	}
	return MaxDID
}

// scanDID returns the length of the longest DID that s begins with.
func scanDID(s string) (int, error) {
	if !strings.HasPrefix(s, "did:") {
		return 0, fmt.Errorf("no did: scheme: %w", ErrSyntax)
	}
	i := len("did:")
	for i < len(s) && isMethodChar(s[i]) {
		i++
	}
	if i == len("did:") {
		return 0, fmt.Errorf("no method name: %w", ErrSyntax)
	}
	if i == len(s) || s[i] != ':' {
		return 0, fmt.Errorf("no colon after the method name: %w", ErrSyntax)
	}
	end := scanID(s, i+1)
	if s[end-1] == ':' {
		return 0, fmt.Errorf("identifier is empty or ends in a colon: %w", ErrSyntax)
	}
	return end, nil
}

// scanID steps over *( *idchar ":" ) *idchar from i.
func scanID(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case isIDChar(c) || c == ':':
			i++
		case isEscape(s, i):
			i += 3
		default:
			return i
		}
	}
	return i
}

func isMethodChar(c byte) bool { return c >= 'a' && c <= 'z' || isDigit(c) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIDChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '.' || c == '-' || c == '_'
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isEscape(s string, i int) bool {
	return len(s)-i >= 3 && s[i] == '%' && isHex(s[i+1]) && isHex(s[i+2])
}

// String returns the DID byte for byte as it was parsed, "" for the zero value.
func (d DID) String() string { return d.s }

// IsZero reports whether d names nobody.
func (d DID) IsZero() bool { return d.s == "" }

// Method returns the method name, "key" of did:key:z6Mk…, and "" for the zero value.
func (d DID) Method() string {
	method, _ := d.split()
	return method
}

// ID returns the method-specific identifier, what follows "did:method:".
func (d DID) ID() string {
	_, id := d.split()
	return id
}

func (d DID) split() (method, id string) {
	if d.s == "" {
		return "", ""
	}
	method, id, _ = strings.Cut(d.s[len("did:"):], ":")
	return method, id
}

// URL returns the DID URL d#fragment. A fragment that DID Core does not allow is ErrSyntax.
func (d DID) URL(fragment string) (URL, error) { return ParseURL(d.s + "#" + fragment) }

// MarshalText returns the DID; the zero value is an error, since it has no text.
func (d DID) MarshalText() ([]byte, error) {
	if d.s == "" {
		return nil, errors.New("DID is missing")
	}
	return []byte(d.s), nil
}

// UnmarshalText is Parse.
func (d *DID) UnmarshalText(b []byte) error {
	p, err := Parse(string(b))
	if err != nil {
		return err
	}
	*d = p
	return nil
}
