package charter

import (
	"errors"
	"strings"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

// ErrFingerprint is returned for text that is no fingerprint: a typing mistake,
// found by its last group.
var ErrFingerprint = errors.New("not a fingerprint: its last group does not fit")

// ErrOtherFingerprint is returned for a sound fingerprint of something else.
var ErrOtherFingerprint = errors.New("fingerprint is of something else")

const fingerprintPrefix = "fed1"

// Fingerprint is the name of a federation that people compare aloud: fed1-, eight
// groups of four characters that are the first 20 bytes of the genesis digest, and
// a group that checks them. An organization's org1- is that of did/keyring.
func Fingerprint(genesis envelope.ID) string {
	return keyring.Spell(fingerprintPrefix, genesis.Sum())
}

// CheckFingerprint compares text, as typed or read, with the fingerprint of a
// genesis. ErrFingerprint for a typing mistake, ErrOtherFingerprint for that of
// another federation.
func CheckFingerprint(text string, genesis envelope.ID) error {
	text = strings.ToLower(strings.TrimSpace(text))
	switch {
	case text == Fingerprint(genesis):
		return nil
	case keyring.Spelled(fingerprintPrefix, text):
		return ErrOtherFingerprint
	}
	return ErrFingerprint
}
