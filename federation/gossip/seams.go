package gossip

import (
	"context"
	"errors"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

// ErrAbsent is returned by the interfaces of this package for what is not here,
// may not be given to the asker, or cannot be made now.
var ErrAbsent = errors.New("not here, or not for the asker")

// Outcome says what became of what a peer brought. The zero value is invalid.
type Outcome uint8

// The outcomes.
const (
	_      Outcome = iota
	Taken          // durable here, new at least in part
	Held           // nothing new
	Behind         // it begins above what is held
	Parked         // a key, version, member or charter it needs is not known here yet
	False          // no honest member could have sent it; nothing was kept
	Forked         // it contradicts what is held; the evidence was kept
)

// Head is what gossip needs to know of the charter in force.
type Head struct {
	Federation  envelope.ID
	Charter     federation.CharterRef
	BeaconEvery time.Duration   // policy.beacon_every_s
	Skew        time.Duration   // policy.clock_skew_s
	Spec        federation.Spec // versions this node knows
}

// Members is what the charter in force and the bindings say. It answers from
// memory and never blocks. It is safe for concurrent use.
type Members interface {
	// Head is the charter in force; false while there is none.
	Head() (Head, bool)
	// Status is the status of an organization at the head: active, suspended,
	// expelled, left, replaced; empty where it is not listed.
	Status(org did.DID) string
	// Peers lists every other node that may be linked: bound by a binding that
	// holds now, of an active member.
	Peers() []federation.Peer
	// Changed returns a channel that is closed when anything above changes.
	Changed() <-chan struct{}
}

// Greeter makes the own hello and hears what others say. It is safe for
// concurrent use.
type Greeter interface {
	// Hello is the own hello for an organization, with what is held of it in
	// AboutYou; for the zero DID with an empty AboutYou. Now and Verdict are set
	// by the caller.
	Hello(ctx context.Context, to did.DID) (federation.Hello, error)
	// Shown tells of the hello of an active member's bound node. Its AboutYou
	// may show a number of ours above what is held; that it does not is what
	// ends the recovering state of a start, before Shown returns: a beacon is
	// made right after it.
	Shown(ctx context.Context, by did.DID, h federation.Hello)
}

// Charters keeps the chain. It is safe for concurrent use.
type Charters interface {
	// After returns the accepted charters with a greater seq, in order.
	After(ctx context.Context, seq uint64) ([]envelope.Envelope, error)
	// Offer judges a charter and keeps it where it is accepted. A child of the head
	// is Parked only if the voters of the head signed it: the DID logs it names are
	// then asked for and kept. The error is this node's.
	Offer(ctx context.Context, e envelope.Envelope) (Outcome, error)
}

// Identities keeps the DID logs of members. It is safe for concurrent use.
type Identities interface {
	// Heads returns the newest version held of each DID that has versions.
	Heads(ctx context.Context) (map[did.DID]string, error)
	// Log returns the exact lines after a version number, and the witness file
	// that goes with them. No lines where there are none.
	Log(ctx context.Context, d did.DID, after uint64) (log, witness []byte, err error)
	// Offer verifies lines whose first is version from and keeps what is new.
	// What waited for a key is then judged again. The error is this node's.
	Offer(ctx context.Context, d did.DID, from uint64, log, witness []byte) (Outcome, error)
	// Knows reports whether a version is here, in the log or in what is kept beside
	// it. It answers from memory and never blocks.
	Knows(ctx context.Context, d did.DID, version string) bool
	// Branches returns what is kept beside a log that is frozen by a fork; nothing
	// of one that is not, whatever was decided before.
	Branches(ctx context.Context, d did.DID) ([]Branch, error)
	// Doubted lists the DIDs of whose logs a member has proven a fork that is not
	// known here: its nodes are asked for all they keep of them.
	Doubted(ctx context.Context, by did.DID) ([]did.DID, error)
}

// Branch is exact lines of a DID log after a version, with the witness file that
// goes with them.
type Branch struct {
	After        uint64
	Log, Witness []byte
}

// Bindings keeps the newest binding of each node of each organization, the own
// included. It is safe for concurrent use.
type Bindings interface {
	All(ctx context.Context) ([]envelope.Envelope, error)
	// Offer verifies a binding and keeps it if it is newer. The error is this node's.
	Offer(ctx context.Context, e envelope.Envelope) (Outcome, error)
}

// Beacons keeps the newest beacon of each organization, the own included. It is
// safe for concurrent use.
type Beacons interface {
	// Make makes a beacon of now, whose n is durable before it returns, and
	// keeps it as the own newest one. ErrAbsent where none may be made now.
	Make(ctx context.Context) (envelope.Envelope, error)
	// Newest returns the newest one of each organization.
	Newest(ctx context.Context) ([]envelope.Envelope, error)
	// Take verifies a beacon; its first sight is now. A beacon of this
	// organization shows a number of ours. The error is this node's.
	Take(ctx context.Context, e envelope.Envelope) (Outcome, error)
	// Synced says that a sync with a node of org has ended well.
	Synced(org did.DID)
}

// Logs is every attestation log held here. It is safe for concurrent use.
type Logs interface {
	// Orgs lists the organizations whose logs are held, the own included.
	Orgs(ctx context.Context) ([]did.DID, error)
	// Log returns a log at its present size, or attestation.ErrNotFound. Its
	// Head gives the newest note that covers no more than is held.
	Log(ctx context.Context, d did.DID) (attestation.Log, error)
	// Notes returns the cosigned notes of sizes above from and up to to,
	// ascending, at most max of them.
	Notes(ctx context.Context, d did.DID, from, to uint64, max int) ([][]byte, error)
}

// Intake takes what belongs to logs. It is safe for concurrent use.
type Intake interface {
	// Ingest verifies a package and keeps what is new of it, durable on return.
	// The error is this node's.
	Ingest(ctx context.Context, p attestation.Package) (Outcome, error)
	// Merge takes the cosignatures of a note of d whose size is held. The error
	// is this node's.
	Merge(ctx context.Context, d did.DID, note []byte) (Outcome, error)
	// Part looks into a note of d that contradicts, or may, what is held: ranges asks
	// whoever showed it for the compact ranges [0, at) and [at, size) of its tree, any
	// number of times; it is not used where all is known. Forked: it does, and where the
	// two part is known from now on.
	// False: no honest member's note, or ranges that are not of it. Errors are this
	// node's, or those of ranges.
	Part(ctx context.Context, d did.DID, note []byte, ranges Ranges) (Outcome, error)
	// Lacks is the index from which on entries of the branch behind a head of d, which Part
	// found to be another than the held one, are asked for; Ingest then takes them. False
	// where no more of them are kept. The error is this node's.
	Lacks(ctx context.Context, d did.DID, theirs attestation.Head) (from uint64, ok bool, err error)
}

// Ranges asks for the compact ranges of a tree that meet at an index.
type Ranges func(at uint64) (left, right attlog.Range, err error)

// Edges is what judging a package needs to know of a log. It answers from
// memory and never blocks. It is safe for concurrent use.
type Edges interface {
	// Edge is the compact range over all entries held, empty where none are.
	Edge(d did.DID) attlog.Range
	// HeadKeys are the keys that may sign the next head; none where the
	// organization is not known here.
	HeadKeys(d did.DID) []did.PublicKey
}

// Witnessing has own heads cosigned and cosigns those of others. It is safe for
// concurrent use.
type Witnessing interface {
	// Cosign has the newest own head cosigned by w, asking it by Node.Cosign,
	// and keeps the cosignature. Nothing to ask for is no error.
	Cosign(ctx context.Context, w did.DID) error
	// Answer answers the tlog-witness request of d about its own log. The error
	// is this node's: nothing was signed then.
	Answer(ctx context.Context, d did.DID, request []byte) (status int, body []byte, err error)
	// Entry answers the request of d to witness a line as the next one of its own DID
	// log: 200 with a witness proof as JSON, 409 with the versionId that was witnessed
	// for that number, 404 where the line does not follow what is held of d, 403 with
	// the reason of a refusal, in one word. The error is this node's: nothing was
	// signed then.
	Entry(ctx context.Context, d did.DID, line []byte) (status int, body []byte, err error)
}

// Want is an object or body that something held here names and that is missing.
type Want struct {
	ID   envelope.ID
	From did.DID // whom to ask first
	Body bool    // it is the body of an event; else an object
}

// Objects are signed objects, bodies and audit rows, by id. It is safe for
// concurrent use.
type Objects interface {
	// Give returns what has this id as a bundle line, or ErrAbsent, also where
	// the asker may not have it.
	Give(ctx context.Context, asker did.DID, id envelope.ID) (bundle.Line, error)
	// Take verifies an unverified line and keeps it, durable on return. The
	// error is this node's.
	Take(ctx context.Context, from did.DID, l bundle.Line) (Outcome, error)
	// Wants lists at most max of what is missing and may be had: bodies this
	// organization may not read are left out.
	Wants(ctx context.Context, max int) ([]Want, error)
}

// Lender answers the lending protocol. It is safe for concurrent use.
type Lender interface {
	// Serve answers one frame of an organization's node with one frame, which it
	// hands to send itself: while a loan's content leaves, the loan cannot end.
	// send returns when the frame is written, or its error. abort makes a send
	// under way return, by resetting the stream; it may be called at any time, and
	// more than once. Nothing is sent after Serve returned. An error closes the
	// stream without an answer.
	Serve(ctx context.Context, from did.DID, frame []byte, send func([]byte) error, abort func()) error
}
