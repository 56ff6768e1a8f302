package didweb

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Errors of snapshots.
var (
	// ErrSnapshot: a row is no snapshot.
	ErrSnapshot = errors.New("not a did:web snapshot")
	// ErrNoKeys: a document lists no usable key under assertionMethod, so there is nothing to pin.
	ErrNoKeys = errors.New("document has no assertion key")
	// ErrMismatch: bytes are not those that a snapshot was taken of.
	ErrMismatch = errors.New("snapshot and document differ")
)

// SPKI is the SHA-256 of a server certificate's SubjectPublicKeyInfo (RFC 5280, section 4.1). It tells which server
// key delivered a document; it is shown and decides nothing. The zero value: the bytes came by another road than TLS.
type SPKI [32]byte

// String returns 64 lower-case hexadecimal digits, "" for the zero value.
func (s SPKI) String() string {
	if s == (SPKI{}) {
		return ""
	}
	return hex.EncodeToString(s[:])
}

// MarshalText returns String; the zero value is an error.
func (s SPKI) MarshalText() ([]byte, error) {
	if s == (SPKI{}) {
		return nil, errors.New("hash is missing")
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads hexadecimal digits; envelope.Unmarshal refuses upper case, which String would not write.
func (s *SPKI) UnmarshalText(b []byte) error {
	var sum SPKI
	if len(b) != hex.EncodedLen(len(sum)) {
		return errors.New("not a SHA-256 in hexadecimal")
	}
	if _, err := hex.Decode(sum[:], b); err != nil {
		return errors.New("not a SHA-256 in hexadecimal")
	}
	*s = sum
	return nil
}

// Snapshot says which document of a did:web DID is pinned. The row is unsigned and belongs to the node that keeps it,
// beside the exact bytes. Made by Take and ParseSnapshot; a value put together by hand is checked by Marshal.
type Snapshot struct {
	ApprovedBy Approval        `json:"approved_by"` // how its keys came to be trusted
	BytesID    envelope.ID     `json:"bytes_id"`    // of the exact bytes; the version of the DID
	DID        did.DID         `json:"did"`
	FetchedAt  envelope.Time   `json:"fetched_at"`
	Keys       []did.PublicKey `json:"keys"` // assertion keys, 1 to 64, ascending by multikey text, each once
	SPKI       SPKI            `json:"spki_sha256,omitempty"`
}

// Take makes the snapshot of a did.json: raw, received at the time at from a server whose key hashes to spki (zero if it
// came in a file or from a peer), approved by the way by. Errors: ErrIdentifier, those of did.ParseDocument, ErrNoKeys,
// ErrSnapshot for a zero time or way.
func Take(d did.DID, raw []byte, spki SPKI, at envelope.Time, by Approval) (Snapshot, error) {
	doc, err := did.ParseDocument(raw, d)
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{ApprovedBy: by, BytesID: envelope.IDOf(raw), DID: d, FetchedAt: at, Keys: sorted(keysOf(doc)), SPKI: spki}
	if len(s.Keys) == 0 {
		return Snapshot{}, fmt.Errorf("%s: %w", d, ErrNoKeys)
	}
	if _, err := s.Marshal(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// ParseSnapshot reads a row in canonical form (did/envelope, SPEC.md, section 1), at most 8 KiB. Errors: ErrSnapshot,
// did.ErrTooLarge.
func ParseSnapshot(b []byte) (Snapshot, error) {
	if len(b) > maxSnapshot {
		return Snapshot{}, fmt.Errorf("snapshot of %d bytes: %w", len(b), did.ErrTooLarge)
	}
	var s Snapshot
	if err := envelope.Unmarshal(b, &s); err != nil {
		return Snapshot{}, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if err := s.check(); err != nil {
		return Snapshot{}, err
	}
	return s, nil
}

// Marshal returns the row. Errors: ErrSnapshot, ErrIdentifier.
func (s Snapshot) Marshal() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	b, err := envelope.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return b, nil
}

func (s Snapshot) check() error {
	if _, err := ParseIdentifier(s.DID); err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if len(s.Keys) == 0 || len(s.Keys) > maxKeys {
		return fmt.Errorf("%w: %d keys, expected 1 to %d", ErrSnapshot, len(s.Keys), maxKeys)
	}
	for i := 1; i < len(s.Keys); i++ {
		if byText(s.Keys[i-1], s.Keys[i]) >= 0 {
			return fmt.Errorf("%w: keys do not ascend", ErrSnapshot)
		}
	}
	return nil
}

// SameKeys reports whether both snapshots list the same keys, by algorithm and raw bytes.
func (s Snapshot) SameKeys(o Snapshot) bool { return slices.Equal(s.Keys, o.Keys) }

// Open returns the document that s was taken of, if raw is exactly that. Errors: ErrMismatch, and those of
// did.ParseDocument.
func Open(s Snapshot, raw []byte) (did.Document, error) {
	if id := envelope.IDOf(raw); id != s.BytesID {
		return did.Document{}, fmt.Errorf("%w: bytes are %s, the snapshot of %s is %s", ErrMismatch, id, s.DID, s.BytesID)
	}
	doc, err := did.ParseDocument(raw, s.DID)
	if err != nil {
		return did.Document{}, err
	}
	if !slices.Equal(sorted(keysOf(doc)), s.Keys) {
		return did.Document{}, fmt.Errorf("%w: %s lists other keys than its snapshot", ErrMismatch, s.BytesID)
	}
	return doc, nil
}

// keysOf maps each usable key that a document lists under assertionMethod to the time it ends by itself, zero for
// never. A key listed twice ends with the later method.
func keysOf(doc did.Document) map[did.PublicKey]time.Time {
	out := map[did.PublicKey]time.Time{}
	for _, m := range doc.Methods() {
		if !speaks(doc, m) {
			continue
		}
		end := endOf(m)
		if was, ok := out[m.Public]; ok && !lasts(end, was) {
			continue
		}
		out[m.Public] = end
	}
	return out
}

// speaks reports whether a method is listed under assertionMethod and usable; one whose id or controller is another DID
// never speaks for this one.
func speaks(doc did.Document, m did.Method) bool {
	own := doc.ID().String()
	return m.Err == nil && m.Controller == own && strings.HasPrefix(m.ID, own+"#") &&
		slices.Contains(doc.Listed(did.AssertionMethod), m.ID)
}

func endOf(m did.Method) time.Time {
	if m.Expires.IsZero() || !m.Revoked.IsZero() && m.Revoked.Before(m.Expires) {
		return m.Revoked
	}
	return m.Expires
}

// lasts reports whether the end a is later than the end b; the zero time is no end.
func lasts(a, b time.Time) bool { return !b.IsZero() && (a.IsZero() || a.After(b)) }

func sorted(keys map[did.PublicKey]time.Time) []did.PublicKey {
	return slices.SortedFunc(maps.Keys(keys), byText)
}

func byText(a, b did.PublicKey) int { return cmp.Compare(a.Multikey(), b.Multikey()) }
