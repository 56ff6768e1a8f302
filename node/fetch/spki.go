package fetch

import "encoding/hex"

// SPKI is the SHA-256 of a server certificate's SubjectPublicKeyInfo (RFC 5280, section
// 4.1). It tells which server key delivered a document; it is shown and decides nothing.
type SPKI [32]byte

// String returns 64 lower-case hexadecimal digits, "" for the zero value.
func (s SPKI) String() string {
	if s == (SPKI{}) {
		return ""
	}
	return hex.EncodeToString(s[:])
}
