package keyring

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"trustnode/did"
)

const fingerprintPrefix = "org1"

// fingerprintBytes is how much of the hash people compare: a second preimage of 160 bits is out of reach.
const fingerprintBytes = 20

var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Fingerprint is what two people compare by voice: "org1-" and nine groups of
// four letters over the DID and the version at its head, the last group a
// checksum of the others. 01, section 7; 02, section 4.
func Fingerprint(d did.DID, version string) string {
	sum := sha256.Sum256([]byte(d.String() + "\n" + version))
	kept := sum[:fingerprintBytes]
	check := sha256.Sum256(append([]byte(fingerprintPrefix), kept...))
	text := base32Lower.EncodeToString(kept) + base32Lower.EncodeToString(check[:])[:4]
	var b strings.Builder
	b.WriteString(fingerprintPrefix)
	for ; text != ""; text = text[4:] {
		b.WriteString("-" + text[:4])
	}
	return b.String()
}
