package didwebvh

import (
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/weblocation"
)

// Method is the name of the method, as did.DID.Method returns it.
const Method = "webvh"

// Identifier is what a did:webvh DID says: its SCID and the place of its log.
type Identifier struct {
	SCID string // base58btc multihash of the first entry
	weblocation.Location
}

// ParseIdentifier reads the method-specific part of d: did:webvh 1.0, section
// "Method-Specific Identifier". The place is read by weblocation.Parse; its host
// must be a fully qualified name. Every refusal wraps ErrIdentifier.
func ParseIdentifier(d did.DID) (Identifier, error) {
	if d.Method() != Method {
		return Identifier{}, fmt.Errorf("%w: the method is %q", ErrIdentifier, d.Method())
	}
	scid, place, ok := strings.Cut(d.ID(), ":")
	if !ok {
		return Identifier{}, fmt.Errorf("%w: no host", ErrIdentifier)
	}
	if !isHash(scid) {
		return Identifier{}, fmt.Errorf("%w: the SCID is not a sha2-256 multihash", ErrIdentifier)
	}
	at, err := weblocation.Parse(place)
	if err != nil {
		return Identifier{}, fmt.Errorf("%w: %w", ErrIdentifier, err)
	}
	if !at.Qualified() {
		return Identifier{}, fmt.Errorf("%w: host %q is not a fully qualified name", ErrIdentifier, at.Host)
	}
	return Identifier{SCID: scid, Location: at}, nil
}

// URL is where the log is published.
func (id Identifier) URL() string { return id.File("did.jsonl") }

// WitnessURL is where the witness proofs are published.
func (id Identifier) WitnessURL() string { return id.File("did-witness.json") }

// escapeSegment writes a path segment, or a host with its port, as it stands in a DID.
func escapeSegment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// isHash reports whether s is base58btc of a sha2-256 multihash in its one spelling.
func isHash(s string) bool {
	id, err := envelope.ParseID("z" + s)
	return err == nil && id.String() == "z"+s
}

// hashText is base58btc of the multihash of sum.
func hashText(sum [32]byte) string { return did.Base58(append([]byte{0x12, 0x20}, sum[:]...)) }
