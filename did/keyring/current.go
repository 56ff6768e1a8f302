package keyring

import (
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
)

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

// Errors of Current.
var (
	// ErrRevoked: the newest object of the name is revoked.
	ErrRevoked = errors.New("agent is revoked")
	// ErrSerial: two different objects share the newest serial; neither holds.
	ErrSerial = errors.New("two agent objects of one serial")
)

// Current answers the object that holds for one organization and name: the one
// with the greatest serial, unless a revocation covers it. Older serials are
// superseded, revoked or not, so an agent returns only with a higher serial.
// Errors: ErrAbsent if there is no object, ErrRevoked, ErrSerial. The result
// does not depend on the order of its inputs.
func Current(org did.DID, name string, objects []envelope.Verified[Agent], revoked []Revocation) (envelope.Verified[Agent], error) {
	var best envelope.Verified[Agent]
	var top uint64
	twice := false
	for _, v := range objects {
		a := v.Body()
		switch {
		case a.Org != org || a.Name != name || a.Serial < top:
		case a.Serial > top:
			best, top, twice = v, a.Serial, false
		case v.ID() != best.ID():
			twice = true
		}
	}
	if top == 0 {
		return envelope.Verified[Agent]{}, fmt.Errorf("agent %s of %s: %w", name, org, ErrAbsent)
	}
	for _, r := range revoked {
		if r.Covers(best.Body()) {
			return envelope.Verified[Agent]{}, fmt.Errorf("agent %s of %s, through serial %d: %w", name, org, r.ThroughSerial, ErrRevoked)
		}
	}
	if twice {
		return envelope.Verified[Agent]{}, fmt.Errorf("agent %s of %s, serial %d: %w", name, org, top, ErrSerial)
	}
	return best, nil
}
