package charter

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// JoinType is the payload type of a join.
var JoinType = envelope.TypeOf("join")

// Join is the signed body in which an organization asks to be admitted and says
// how its member record is to read. Frozen.
type Join struct {
	At          envelope.Time `json:"at"`
	BindingsMax uint64        `json:"bindings_max"`
	Contact     string        `json:"contact"`
	DIDVersion  string        `json:"did_version,omitempty"` // absent for did:key
	Federation  envelope.ID   `json:"federation,omitempty"`  // absent: not known yet
	Key         Key           `json:"key"`                   // what it will sign charters with
	Kid         string        `json:"kid"`                   // equals Key.Kid: the join proves possession
	Name        string        `json:"name"`
	Nonce       string        `json:"nonce"` // 16 bytes, base64url
	Org         did.DID       `json:"org"`
	SCID        string        `json:"scid,omitempty"` // did:webvh only
	Spec        JoinSpec      `json:"spec"`
	Votes       bool          `json:"votes"`
}

// JoinSpec is the range of charter versions the sender's node knows.
type JoinSpec struct {
	Max uint64 `json:"max"`
	Min uint64 `json:"min"`
}

// Payload is JoinType.
func (j Join) Payload() envelope.Type { return JoinType }

// Signer is the organization and its kid.
func (j Join) Signer() (did.DID, string) { return j.Org, j.Kid }

// MaxBytes is MaxJoin.
func (j Join) MaxBytes() int { return MaxJoin }

// Check tests the form of the join; it returns a *Fault.
func (j Join) Check() error {
	var f faults
	f.organization("join", j.Org, j.SCID, j.DIDVersion)
	f.text("join name", j.Name, maxName)
	f.contact("join contact", j.Contact)
	f.key("join key", j.Key)
	f.that(j.Kid == j.Key.Kid, "join is signed by kid %s, its key is %s", j.Kid, j.Key.Kid)
	f.within("join bindings_max", j.BindingsMax, 1, maxBindings)
	f.nonce("join nonce", j.Nonce)
	f.that(!j.At.IsZero(), "join without time")
	f.that(j.Spec.Min >= minSpec && j.Spec.Min <= j.Spec.Max, "join spec %d..%d is no range", j.Spec.Min, j.Spec.Max)
	return f.first()
}

// Member is the record the join asks for, active since seq.
func (j Join) Member(seq uint64) Member {
	return Member{BindingsMax: j.BindingsMax, Contact: j.Contact, DID: j.Org, DIDHead: j.DIDVersion, Gaps: []Gap{},
		Generation: 1, Key: j.Key, Name: j.Name, SCID: j.SCID, SinceSeq: seq, Status: StatusActive, Votes: j.Votes}
}
