package log

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

// ErrProofText is wrapped by the error for bytes that are no tlog-proof.
var ErrProofText = errors.New("not a tlog-proof")

const proofHeader = "c2sp.org/tlog-proof@v1\n"

// Proof says that a leaf is at Index under the head of Note. Nothing of a
// parsed one is verified.
type Proof struct {
	Index uint64
	Path  []tlog.Hash
	Note  Note
}

// Bytes returns p as a C2SP tlog-proof.
func (p Proof) Bytes() []byte {
	return torchwood.FormatProof(int64(p.Index), p.Path, p.Note.Bytes())
}

// ParseProof reads what Bytes returns, and nothing else; no extra line.
func ParseProof(b []byte) (Proof, error) {
	if len(b) > MaxText {
		return Proof{}, fmt.Errorf("%w: %d bytes", ErrProofText, len(b))
	}
	rest, ok := strings.CutPrefix(string(b), proofHeader+"index ")
	head, note, cut := strings.Cut(rest, "\n\n")
	if !ok || !cut {
		return Proof{}, fmt.Errorf("%w: header, index or note is missing", ErrProofText)
	}
	lines := strings.Split(head, "\n")
	var p Proof
	var err error
	if p.Index, err = parseSize(lines[0]); err != nil {
		return Proof{}, fmt.Errorf("%w: %v", ErrProofText, err)
	}
	if p.Path, err = parseHashLines(lines[1:]); err != nil {
		return Proof{}, fmt.Errorf("%w: %v", ErrProofText, err)
	}
	if p.Note, err = ParseNote([]byte(note)); err != nil {
		return Proof{}, fmt.Errorf("%w: %v", ErrProofText, err)
	}
	return p, nil
}

// Check verifies that leaf is where p says, under the head of p's note. Whose
// key signed that note is for Note.Verify.
func (p Proof) Check(leaf tlog.Hash) error { return CheckInclusion(p.Note.Head, p.Index, leaf, p.Path) }
