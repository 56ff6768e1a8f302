package daemon

import (
	"slices"

	"trustnode/did/didwebvh"
	"trustnode/did/keys"
	"trustnode/node/fault"
)

// NewRecoveryKey makes a recovery key for a charter: the text to write down, which is kept
// nowhere, and the multikey that the charter names.
func NewRecoveryKey() (text, multikey string, err error) {
	r, err := keys.NewRecovery()
	if err != nil {
		return "", "", err
	}
	defer r.Forget()
	return r.Text(), r.Public().Multikey(), nil
}

// CheckRecovery refuses a text that is not the recovery key that a DID log commits to, by the
// hashes of its head. The caller clears text.
func CheckRecovery(text []byte, nextKeyHashes []string) error {
	r, err := parseRecovery(text)
	if err != nil {
		return err
	}
	defer r.Forget()
	if !slices.Contains(nextKeyHashes, didwebvh.KeyHash(r.Public())) {
		return fault.New(fault.Refused, "recovery_key", "the DID log does not commit to this recovery key").
			WithHint("it is another organization's, or was used before: each use of one brings a new one, shown then")
	}
	return nil
}

func parseRecovery(text []byte) (*keys.Recovery, error) {
	r, err := keys.ParseRecovery(text)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "recovery_key", err).WithHint("it begins with rec1- and was shown once, by init or by the rotation that last used it")
	}
	return r, nil
}
