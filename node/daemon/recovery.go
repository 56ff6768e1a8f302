package daemon

import "trustnode/did/keys"

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
