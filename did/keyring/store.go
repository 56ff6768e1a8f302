package keyring

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Errors of a Store.
var (
	// ErrAbsent says that nothing is held of this DID.
	ErrAbsent = errors.New("DID is not held here")
	// ErrConflict says that the record is not at the version the change starts from.
	ErrConflict = errors.New("record is at another version")
)

// Version is where a DID stands: its newest verified version here.
type Version struct {
	DID        did.DID
	Number     int    // from 1; 0 for a self-contained method
	ID         string // versionId, the id of a did:web document's bytes, or did.StaticVersion
	State      did.State
	VerifiedAt time.Time // when its bytes were verified first; zero for a self-contained method
}

// Same reports whether two versions are one, whenever they were verified.
func (v Version) Same(o Version) bool {
	return v.DID == o.DID && v.Number == o.Number && v.ID == o.ID && v.State == o.State
}

// Branch is lines that verify and are not accepted: they differ from the held
// ones right after the version Parent, or go on after all of them while a fork
// is open.
type Branch struct {
	Parent  int // number of the last common version, 0 if there is none
	Lines   []byte
	Witness []byte
	Decided string // who decided against the branch, a charter's id or an operator's act; empty while it is open
}

func (b Branch) clone() Branch {
	b.Lines, b.Witness = bytes.Clone(b.Lines), bytes.Clone(b.Witness)
	return b
}

// Snapshot is one document of a did:web DID, exactly as it was served.
type Snapshot struct {
	Number     int       // from 1; 0 for one that is not trusted
	Bytes      []byte    // did.json
	ApprovedBy string    // who let it be trusted; empty for a new document with the same keys
	FetchedAt  time.Time // whole seconds
	SPKI       string    // of the TLS key it was fetched under; empty where it came otherwise
}

// ID is the version a snapshot is: the id of its bytes.
func (s Snapshot) ID() string { return envelope.IDOf(s.Bytes).String() }

// Record is what is kept of one DID: the bytes everything else follows from.
type Record struct {
	Version  Version
	Log      []byte     // of did:webvh
	Witness  []byte     // nil if no entry had to be witnessed
	Branches []Branch   // nil without a fork
	Web      []Snapshot // of did:web: the trusted ones, oldest first
	Offered  []Snapshot // of did:web: seen and not trusted, oldest first
}

func (r Record) clone() Record {
	r.Log, r.Witness = bytes.Clone(r.Log), bytes.Clone(r.Witness)
	r.Branches = cloned(r.Branches, Branch.clone)
	snapshot := func(s Snapshot) Snapshot { s.Bytes = bytes.Clone(s.Bytes); return s }
	r.Web, r.Offered = cloned(r.Web, snapshot), cloned(r.Offered, snapshot)
	return r
}

func cloned[T any](list []T, clone func(T) T) []T {
	list = slices.Clone(list)
	for i := range list {
		list[i] = clone(list[i])
	}
	return list
}

// Store keeps the records. Implementations are safe for concurrent use, hand
// out copies and pass keyringtest.Run.
type Store interface {
	// Load answers the record of d, or ErrAbsent.
	Load(ctx context.Context, d did.DID) (Record, error)
	// Advance replaces the record of next.Version.DID if it stands at from, the
	// zero Version meaning that there is none, else ErrConflict. It is durable
	// on return.
	Advance(ctx context.Context, from Version, next Record) error
	// List answers up to n records in ascending order of their DIDs' text,
	// those after the given one only; from the first for the zero DID.
	List(ctx context.Context, after did.DID, n int) ([]Record, error)
}

// Memory is a Store that lives as long as the process.
func Memory() Store { return &memory{records: map[did.DID]Record{}} }

type memory struct {
	mu      sync.Mutex
	records map[did.DID]Record // guarded by mu
}

var _ Store = (*memory)(nil)

func (m *memory) Load(ctx context.Context, d did.DID) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[d]
	if !ok {
		return Record{}, ErrAbsent
	}
	return r.clone(), ctx.Err()
}

func (m *memory) Advance(ctx context.Context, from Version, next Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.records[next.Version.DID].Version.Same(from) {
		return ErrConflict
	}
	m.records[next.Version.DID] = next.clone()
	return nil
}

func (m *memory) List(ctx context.Context, after did.DID, n int) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for d, r := range m.records {
		if d.String() > after.String() {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Record) int {
		return strings.Compare(a.Version.DID.String(), b.Version.DID.String())
	})
	out = out[:min(n, len(out))]
	for i := range out {
		out[i] = out[i].clone()
	}
	return out, ctx.Err()
}
