package keyring

import "trustnode/did"

// Revocation is what an organization said of one of its agents: objects of
// this name with a serial up to ThroughSerial are void.
type Revocation struct {
	Org           did.DID
	Name          string
	ThroughSerial uint64
}

// Covers reports whether the revocation voids a.
func (r Revocation) Covers(a Agent) bool {
	return r.Org == a.Org && r.Name == a.Name && a.Serial <= r.ThroughSerial
}
