package log

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// The errors a caller may branch on.
var (
	// ErrNote is wrapped by the error for bytes that are no signed note.
	ErrNote = errors.New("not a signed note")
	// ErrUnsigned says that no line of the key asked for verifies.
	ErrUnsigned = errors.New("no line of this key verifies")
)

const (
	algHead     = 0x01 // C2SP signed-note: Ed25519
	algCosigned = 0x04 // C2SP tlog-cosignature: cosignature/v1

	logWord     = "/log"
	witnessWord = "/witness"
)

// Origin is the name of an organization's log, and of the key line of its heads.
func Origin(d did.DID) string { return d.String() + logWord }

// WitnessName is the name of an organization's cosignature lines.
func WitnessName(d did.DID) string { return d.String() + witnessWord }

// Line is one signature line of a note. It says nothing until it was verified.
type Line struct {
	Name string
	Hash uint32 // key hash, C2SP signed-note
	Sig  []byte
}

// String returns the line as it stands in a note, newline included.
func (l Line) String() string {
	b := binary.BigEndian.AppendUint32(nil, l.Hash)
	return "— " + l.Name + " " + base64.StdEncoding.EncodeToString(append(b, l.Sig...)) + "\n"
}

// Note is a signed head in parsed form: what it says, and its lines. Neither
// is verified.
type Note struct {
	Org   did.DID // whose log it names
	Head  attestation.Head
	Lines []Line
}

// Text returns what the lines of a head of d sign, newline included. It is a
// C2SP tlog-checkpoint without extension lines.
func Text(d did.DID, h attestation.Head) []byte {
	c := torchwood.Checkpoint{Origin: Origin(d), Tree: tlog.Tree{N: int64(h.Size), Hash: h.Root.Sum()}}
	return []byte(c.String())
}

// Text returns what the lines of n sign.
func (n Note) Text() []byte { return Text(n.Org, n.Head) }

// Bytes returns n as a C2SP signed note.
func (n Note) Bytes() []byte {
	var b bytes.Buffer
	b.Write(n.Text())
	b.WriteByte('\n')
	for _, l := range n.Lines {
		b.WriteString(l.String())
	}
	return b.Bytes()
}

// With returns n with lines added; those it has are not added again.
func (n Note) With(lines ...Line) Note {
	n.Lines = slices.Clone(n.Lines)
	for _, l := range lines {
		if !slices.ContainsFunc(n.Lines, l.equal) {
			n.Lines = append(n.Lines, l)
		}
	}
	return n
}

func (l Line) equal(o Line) bool {
	return l.Name == o.Name && l.Hash == o.Hash && bytes.Equal(l.Sig, o.Sig)
}

// ParseNote reads a signed note over a head. It accepts exactly the bytes that
// Bytes returns, so that a note has one spelling.
func ParseNote(b []byte) (Note, error) {
	if len(b) > MaxText {
		return Note{}, fmt.Errorf("%w: %d bytes", ErrNote, len(b))
	}
	text, tail, ok := strings.Cut(string(b), "\n\n")
	if !ok {
		return Note{}, fmt.Errorf("%w: no signature lines", ErrNote)
	}
	n, err := parseText(text + "\n")
	if err != nil {
		return Note{}, err
	}
	if n.Lines, err = ParseLines(tail); err != nil {
		return Note{}, err
	}
	if len(n.Lines) == 0 {
		return Note{}, fmt.Errorf("%w: no signature lines", ErrNote)
	}
	return n, nil
}

func parseText(text string) (Note, error) {
	c, err := torchwood.ParseCheckpoint(text)
	if err != nil || c.Extension != "" || c.String() != text || c.N > maxSize {
		return Note{}, fmt.Errorf("%w: text is no head in its one spelling", ErrNote)
	}
	name, ok := strings.CutSuffix(c.Origin, logWord)
	if !ok {
		return Note{}, fmt.Errorf("%w: origin is no organization's log", ErrNote)
	}
	d, err := did.Parse(name)
	if err != nil {
		return Note{}, fmt.Errorf("%w: origin is no organization's log", ErrNote)
	}
	return Note{Org: d, Head: attestation.Head{Size: uint64(c.N), Root: envelope.IDFromSum(c.Hash)}}, nil
}

// ParseLines reads 0 to MaxLines signature lines, each ended by a newline.
func ParseLines(text string) ([]Line, error) {
	var out []Line
	for text != "" {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok || len(out) == MaxLines {
			return nil, fmt.Errorf("%w: line %d", ErrNote, len(out)+1)
		}
		l, err := parseLine(line)
		if err != nil {
			return nil, err
		}
		out, text = append(out, l), rest
	}
	return out, nil
}

func parseLine(line string) (Line, error) {
	bad := fmt.Errorf("%w: line has not the form of one", ErrNote)
	rest, ok := strings.CutPrefix(line, "— ")
	name, text, cut := strings.Cut(rest, " ")
	if !ok || !cut || !validName(name) || strings.ContainsAny(text, "\r\n") {
		return Line{}, bad
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 5 {
		return Line{}, bad
	}
	return Line{Name: name, Hash: binary.BigEndian.Uint32(b), Sig: b[4:]}, nil
}

func validName(s string) bool {
	return s != "" && len(s) <= MaxName && !strings.ContainsAny(s, "+#") &&
		strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) < 0
}

func keyHash(name string, alg byte, k did.PublicKey) uint32 {
	sum := sha256.Sum256(append([]byte(name+"\n"+string([]byte{alg})), k.Raw()...))
	return binary.BigEndian.Uint32(sum[:])
}

// Sign returns the head of d as a note with the log's own line, and verifies
// the signature it made.
func Sign(ctx context.Context, s envelope.Signer, d did.DID, h attestation.Head) (Note, error) {
	n := Note{Org: d, Head: h}
	sig, err := signNote(ctx, s, n.Text())
	if err != nil {
		return Note{}, err
	}
	n.Lines = []Line{{Name: Origin(d), Hash: keyHash(Origin(d), algHead, s.Public()), Sig: sig[:]}}
	return n, n.Verify(s.Public())
}

func signNote(ctx context.Context, s envelope.Signer, text []byte) (did.Signature, error) {
	p, err := envelope.Note(text)
	if err != nil {
		return did.Signature{}, err
	}
	sig, err := s.Sign(ctx, p)
	if err != nil {
		return did.Signature{}, err
	}
	return sig, s.Public().Verify(text, sig)
}

// Verify reports whether n carries the log's own line under key, or
// ErrUnsigned.
func (n Note) Verify(key did.PublicKey) error {
	_, err := n.LogLine(key)
	return err
}

// LogLine returns the log's own line that verifies under key, or ErrUnsigned.
func (n Note) LogLine(key did.PublicKey) (Line, error) {
	name := Origin(n.Org)
	hash := keyHash(name, algHead, key)
	for _, l := range n.Lines {
		if l.Name != name || l.Hash != hash || len(l.Sig) != len(did.Signature{}) {
			continue
		}
		if key.Verify(n.Text(), did.Signature(l.Sig)) == nil {
			return l, nil
		}
	}
	return Line{}, fmt.Errorf("%w: %s, size %d", ErrUnsigned, name, n.Head.Size)
}

// Under judges the log's own line under the keys that may sign it: LineGood
// where it verifies under one of them, LineFalse where a line names one and
// none verifies, else LineUnknown.
func (n Note) Under(keys []did.PublicKey) LineVerdict {
	name, verdict := Origin(n.Org), LineUnknown
	for _, k := range keys {
		if n.Verify(k) == nil {
			return LineGood
		}
		hash := keyHash(name, algHead, k)
		if slices.ContainsFunc(n.Lines, func(l Line) bool { return l.Name == name && l.Hash == hash }) {
			verdict = LineFalse
		}
	}
	return verdict
}
