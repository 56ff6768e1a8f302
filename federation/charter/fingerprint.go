package charter

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"strings"

	"trustnode/did/envelope"
)

// ErrFingerprint is returned for text that is no fingerprint: a typing mistake,
// found by its last group.
var ErrFingerprint = errors.New("not a fingerprint: its last group does not fit")

// ErrOtherFingerprint is returned for a sound fingerprint of something else.
var ErrOtherFingerprint = errors.New("fingerprint is of something else")

var base32lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Fingerprint is the name of a federation that people compare aloud: fed1-, eight
// groups of four characters that are the first 20 bytes of the genesis digest, and
// a group that checks them. An organization's org1- is that of did/keyring.
func Fingerprint(genesis envelope.ID) string { return fingerprint("fed1", genesis.Sum()) }

func fingerprint(prefix string, sum [32]byte) string {
	first := sum[:20]
	check := sha256.Sum256(append([]byte(prefix), first...))
	text := base32lower.EncodeToString(first) + base32lower.EncodeToString(check[:])[:4]
	groups := []string{prefix}
	for ; len(text) >= 4; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return strings.Join(groups, "-")
}

// CheckFingerprint compares text, as typed or read, with the fingerprint of a
// genesis. ErrFingerprint for a typing mistake, ErrOtherFingerprint for that of
// another federation.
func CheckFingerprint(text string, genesis envelope.ID) error {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == Fingerprint(genesis) {
		return nil
	}
	raw := strings.ReplaceAll(strings.TrimPrefix(text, "fed1-"), "-", "")
	first, err := base32lower.DecodeString(raw[:min(32, len(raw))])
	if err != nil || len(first) != 20 {
		return ErrFingerprint
	}
	var sum [32]byte
	copy(sum[:], first)
	if fingerprint("fed1", sum) != text {
		return ErrFingerprint
	}
	return ErrOtherFingerprint
}
