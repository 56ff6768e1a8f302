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
	ID         string // versionId, or did.StaticVersion
	State      did.State
	VerifiedAt time.Time // when its bytes were verified first; zero for a self-contained method
}

// Same reports whether two versions are one, whenever they were verified.
func (v Version) Same(o Version) bool {
	return v.DID == o.DID && v.Number == o.Number && v.ID == o.ID && v.State == o.State
}

// Branch is the other side of a fork: lines that verify, and differ from the
// held ones right after the version Parent.
type Branch struct {
	Parent  int // number of the last common version, 0 if there is none
	Lines   []byte
	Witness []byte
}

// Record is what is kept of one DID: the bytes everything else follows from.
type Record struct {
	Version Version
	Log     []byte
	Witness []byte  // nil if no entry had to be witnessed
	Fork    *Branch // nil without a fork
}

func (r Record) clone() Record {
	r.Log, r.Witness = bytes.Clone(r.Log), bytes.Clone(r.Witness)
	if r.Fork != nil {
		f := *r.Fork
		f.Lines, f.Witness = bytes.Clone(f.Lines), bytes.Clone(f.Witness)
		r.Fork = &f
	}
	return r
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
