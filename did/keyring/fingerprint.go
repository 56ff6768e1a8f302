package keyring

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"trustnode/did"
)

const (
	fingerprintPrefix = "org1"
	// fingerprintBytes is how much of the hash people compare: a second preimage of 160 bits is out of reach.
	fingerprintBytes = 20
	// fingerprintText is the length of those bytes in base32: eight groups of four.
	fingerprintText = fingerprintBytes * 8 / 5
)

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Fingerprint is what two people compare by voice: "org1-" and nine groups of
// four letters over the DID and the version at its head, the last group a
// checksum of the others. d is the DID of that version's document: of what a
// ring holds, Ring.Fingerprint is that of its newest. SPEC.md, "Fingerprint".
func Fingerprint(d did.DID, version string) string {
	return Spell(fingerprintPrefix, sha256.Sum256([]byte(d.String()+"\n"+version)))
}

// Spell writes a hash as people compare it by voice: the prefix, which says of
// what it is, eight groups of four that are its first 20 bytes in lower-case
// base32 (RFC 4648), and a ninth that checks the others. SPEC.md, "Fingerprint".
func Spell(prefix string, sum [sha256.Size]byte) string {
	kept := sum[:fingerprintBytes]
	check := sha256.Sum256(append([]byte(prefix), kept...))
	text := base32Lower.EncodeToString(kept) + base32Lower.EncodeToString(check[:])[:4]
	var b strings.Builder
	b.WriteString(prefix)
	for ; text != ""; text = text[4:] {
		b.WriteString("-" + text[:4])
	}
	return b.String()
}

// Spelled reports whether text is what Spell writes of some hash under prefix.
// What is mistyped is not, as its last group tells.
func Spelled(prefix, text string) bool {
	raw := strings.ReplaceAll(strings.TrimPrefix(text, prefix+"-"), "-", "")
	kept, err := base32Lower.DecodeString(raw[:min(fingerprintText, len(raw))])
	if err != nil || len(kept) != fingerprintBytes {
		return false
	}
	var sum [sha256.Size]byte
	copy(sum[:], kept)
	return Spell(prefix, sum) == text
}
