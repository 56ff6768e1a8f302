package attestation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did"
	"trustnode/did/envelope"
)

// ErrPackage is wrapped by the error for bytes that are no package.
var ErrPackage = errors.New("not a package of log entries")

// Package carries entries of one log between nodes, with what proves that
// they lie under a signed head: entries [From, From+len), and in Rest the
// compact range from there to the note's size. With no entries it is a head.
// A Package is a claim; Ingest checks it.
type Package struct {
	Did        did.DID
	Entries    []Entry // 0 to MaxBatch
	Federation envelope.ID
	From       uint64
	Note       []byte // the signed note, with the cosignatures at hand
	Rest       []tlog.Hash
}

type packageWire struct {
	Did        did.DID     `json:"did"`
	Entries    []string    `json:"entries"`
	Federation envelope.ID `json:"federation"`
	From       uint64      `json:"from"`
	Note       string      `json:"note" text:"multiline"`
	Rest       string      `json:"rest"`
}

// Bytes returns p in its one wire form, canonical JSON.
func (p Package) Bytes() ([]byte, error) {
	w := packageWire{Did: p.Did, Federation: p.Federation, From: p.From, Note: string(p.Note), Rest: FormatHashes(p.Rest), Entries: make([]string, len(p.Entries))}
	for i, e := range p.Entries {
		w.Entries[i] = base64.RawURLEncoding.EncodeToString(e)
	}
	return envelope.Marshal(w)
}

// ParsePackage reads a package of at most max bytes. What it returns has the
// form of one; nothing of it is verified.
func ParsePackage(b []byte, max int) (Package, error) {
	if len(b) > max {
		return Package{}, fmt.Errorf("%w: package of %d bytes, limit %d", ErrTooLarge, len(b), max)
	}
	var w packageWire
	if err := envelope.Unmarshal(b, &w); err != nil {
		return Package{}, fmt.Errorf("%w: %v", ErrPackage, err)
	}
	rest, err := ParseHashes(w.Rest)
	if err != nil {
		return Package{}, fmt.Errorf("%w: rest: %v", ErrPackage, err)
	}
	p := Package{Did: w.Did, Federation: w.Federation, From: w.From, Note: []byte(w.Note), Rest: rest, Entries: make([]Entry, len(w.Entries))}
	for i, text := range w.Entries {
		if p.Entries[i], err = ParseEntry(text); err != nil {
			return Package{}, fmt.Errorf("%w: entry %d: %v", ErrPackage, i, err)
		}
	}
	return p, p.Check()
}

// Check reports whether p keeps the caps and the frame of each entry.
func (p Package) Check() error {
	switch {
	case p.Did.IsZero():
		return fmt.Errorf("%w: no did", ErrPackage)
	case len(p.Entries) > MaxBatch:
		return fmt.Errorf("%w: %d entries, limit %d", ErrPackage, len(p.Entries), MaxBatch)
	case len(p.Rest) > MaxRange:
		return fmt.Errorf("%w: rest of %d hashes", ErrPackage, len(p.Rest))
	case len(p.Note) > MaxNote:
		return fmt.Errorf("%w: note of %d bytes", ErrPackage, len(p.Note))
	case p.From > 1<<53-1:
		return fmt.Errorf("%w: from %d", ErrPackage, p.From)
	}
	for i, e := range p.Entries {
		if err := e.Check(); err != nil {
			return fmt.Errorf("%w: entry %d: %v", ErrPackage, i, err)
		}
	}
	return nil
}

// ParseEntry reads an entry from its base64url text.
func ParseEntry(text string) (Entry, error) {
	if len(text) > base64.RawURLEncoding.EncodedLen(MaxEntry) {
		return nil, fmt.Errorf("%w: %d characters", ErrEntry, len(text))
	}
	b, err := decode64(text)
	if err != nil {
		return nil, err
	}
	return Entry(b), Entry(b).Check()
}

// FormatEntry returns an entry as base64url text.
func FormatEntry(e Entry) string { return base64.RawURLEncoding.EncodeToString(e) }

// FormatHashes writes a run of hashes as one base64url string of 32 bytes each.
func FormatHashes(h []tlog.Hash) string {
	b := make([]byte, 0, len(h)*tlog.HashSize)
	for i := range h {
		b = append(b, h[i][:]...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseHashes reads what FormatHashes writes; at most MaxRange hashes.
func ParseHashes(text string) ([]tlog.Hash, error) {
	if len(text) > base64.RawURLEncoding.EncodedLen(MaxRange*tlog.HashSize) {
		return nil, fmt.Errorf("%d characters of hashes", len(text))
	}
	b, err := decode64(text)
	if err != nil {
		return nil, err
	}
	if len(b)%tlog.HashSize != 0 {
		return nil, fmt.Errorf("%d bytes are no run of hashes", len(b))
	}
	var out []tlog.Hash
	for ; len(b) > 0; b = b[tlog.HashSize:] {
		out = append(out, tlog.Hash(b[:tlog.HashSize]))
	}
	return out, nil
}

func decode64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("line break in base64url")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not base64url in its one spelling")
	}
	return b, nil
}
