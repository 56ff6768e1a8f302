package charter

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// AbandonType is the payload type of an abandon.
var AbandonType = envelope.TypeOf("abandon")

// Abandon is the signed body in which a voter freezes a slot for ever: it will
// sign no body there beyond the one it names. Frozen.
type Abandon struct {
	At         envelope.Time `json:"at"`
	Committed  envelope.ID   `json:"committed,omitempty"` // absent: it signed nothing in this slot
	DIDVersion string        `json:"did_version,omitempty"`
	Federation envelope.ID   `json:"federation"`
	Kid        string        `json:"kid"`
	Org        did.DID       `json:"org"`
	Prev       envelope.ID   `json:"prev"`
	Round      uint64        `json:"round"`
	Seq        uint64        `json:"seq"`
}

// Payload is AbandonType.
func (a Abandon) Payload() envelope.Type { return AbandonType }

// Signer is the organization and its kid.
func (a Abandon) Signer() (did.DID, string) { return a.Org, a.Kid }

// MaxBytes is 2 KiB.
func (a Abandon) MaxBytes() int { return maxAbandon }

// Check tests the form of the abandon; it returns a *Fault.
func (a Abandon) Check() error {
	var f faults
	f.that(!a.At.IsZero() && !a.Federation.IsZero() && !a.Prev.IsZero() && !a.Org.IsZero(), "abandon lacks at, federation, prev or org")
	f.that((a.DIDVersion == "") == (a.Org.Method() == "key"), "abandon did_version does not fit method %s", a.Org.Method())
	f.word("abandon kid", a.Kid, maxKid)
	f.within("abandon round", a.Round, 0, maxRound)
	f.that(a.Seq >= 1, "abandon of a genesis")
	return f.first()
}
