package member

import (
	"context"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// Draft is a file to hand on, with what a person should know of it.
type Draft struct {
	ID          envelope.ID // of the charter, or of the join
	Fingerprint string      // fed1-… of a draft, org1-… of a join file
	Data        []byte      // the file
	Signed      []did.DID   // organizations whose signature counts
	Missing     []did.DID   // organizations whose signature is needed or could help
}

// Reviewed says in words what a draft binds its signer to.
type Reviewed struct {
	ID          envelope.ID
	Fingerprint string
	Lines       []string
	Signed      []did.DID
	Missing     []did.DID
}

// Applied is a charter that is in force here.
type Applied struct {
	ID          envelope.ID
	Seq         uint64
	Fingerprint string
	Members     []did.DID // active ones
	Walk        []string  // what was checked, in words
	Changed     bool      // false: it was in force before
}

// CreateInput is what the founder of a federation decides.
type CreateInput struct {
	Name      string
	With      [][]byte // join files of the other members
	Mediators [][]byte // join files of the mediators; the first is asked first
	Recovery  []string // multikeys of recovery keys
	// Governance is as for Sign.
	Governance envelope.Signer
}

// UpdateKeys is the store of the organization's update keys, opened for one rotation.
type UpdateKeys interface {
	// Place names the store to its operator.
	Place() string
	// Remember makes it the store that is looked in where no other is named. It is called
	// once an entry is pinned whose next key lies there.
	Remember() error
	List(ctx context.Context) ([]did.PublicKey, error)
	Signer(ctx context.Context, pub did.PublicKey) (envelope.Signer, error)
	Generate(ctx context.Context) (envelope.Signer, error)
	Delete(ctx context.Context, pub did.PublicKey) error
}

// Status is what people and programs ask of a node's place in its federation.
type Status struct {
	State      federation.State
	Allowed    federation.Allowed
	Reasons    []string // in words, gravest first; none when fresh
	Federation *FedStatus
	Peers      []PeerStatus // other active members, by DID
}

// FedStatus names the federation and the charter in force.
type FedStatus struct {
	ID          envelope.ID
	Name        string
	Seq         uint64
	Charter     envelope.ID
	Fingerprint string
	ExpiresAt   envelope.Time
	Mediator    did.DID // zero: none is named
}

// PeerStatus is what is known of another member.
type PeerStatus struct {
	Org     did.DID
	Name    string
	Held    uint64        // entries of its log held here
	BeaconN uint64        // n of its newest beacon; 0: none
	HeardAt envelope.Time // by its own clock; zero: not heard
	Age     time.Duration // since its newest beacon came; meaningless unless Live
	Live    bool          // heard in this run
	Bound   bool          // a binding of one of its nodes holds
}
