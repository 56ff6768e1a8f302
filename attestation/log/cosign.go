package log

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// maxUnix is the last second of the year 9999, the greatest time there is.
const maxUnix = 253402300799

const cosignatureBytes = 8 + len(did.Signature{})

func cosignText(at uint64, text []byte) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", at), text...)
}

// Cosign returns the line by which witness says, at the time at, that it has
// seen the head of n and none that contradicts it (C2SP tlog-cosignature).
// Whoever calls it has pinned the head before.
func Cosign(ctx context.Context, s envelope.Signer, witness did.DID, n Note, at time.Time) (Line, error) {
	unix := at.Unix()
	if unix < 0 || unix > maxUnix {
		return Line{}, fmt.Errorf("time %d is none", unix)
	}
	sig, err := signNote(ctx, s, cosignText(uint64(unix), n.Text()))
	if err != nil {
		return Line{}, err
	}
	name := WitnessName(witness)
	b := binary.BigEndian.AppendUint64(nil, uint64(unix))
	return Line{Name: name, Hash: keyHash(name, algCosigned, s.Public()), Sig: append(b, sig[:]...)}, nil
}

// Witness returns the organization whose witness line l claims to be, and
// false when it is no witness line.
func (l Line) Witness() (did.DID, bool) {
	name, ok := strings.CutSuffix(l.Name, witnessWord)
	if !ok {
		return did.DID{}, false
	}
	d, err := did.Parse(name)
	return d, err == nil
}

// Witnesses returns the organizations that n has a witness line of, each once and
// without the log's own, in the order of the lines. No line is verified.
func (n Note) Witnesses() []did.DID {
	var out []did.DID
	for _, l := range n.Lines {
		if w, ok := l.Witness(); ok && w != n.Org && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// Cosigned verifies l as a cosignature of witness over n under key, and
// returns its time.
func (n Note) Cosigned(l Line, witness did.DID, key did.PublicKey) (envelope.Time, error) {
	name := WitnessName(witness)
	if l.Name != name || l.Hash != keyHash(name, algCosigned, key) || len(l.Sig) != cosignatureBytes {
		return envelope.Time{}, fmt.Errorf("%w: %s", ErrUnsigned, name)
	}
	at := binary.BigEndian.Uint64(l.Sig)
	if at > maxUnix {
		return envelope.Time{}, fmt.Errorf("%w: %s, time %d", ErrUnsigned, name, at)
	}
	if err := key.Verify(cosignText(at, n.Text()), did.Signature(l.Sig[8:])); err != nil {
		return envelope.Time{}, fmt.Errorf("%w: %s", ErrUnsigned, name)
	}
	return envelope.TimeOf(time.Unix(int64(at), 0)), nil
}

// Cosignature is a verified witness line.
type Cosignature struct {
	Witness did.DID
	At      envelope.Time
	Line    Line
}

// LineVerdict says what was found about one line of a note.
type LineVerdict uint8

// The verdicts.
const (
	LineGood    LineVerdict = iota + 1
	LineFalse               // a known key, and the signature is not its
	LineUnknown             // no key known here
)

// KeysOf returns the witness keys of an organization, or none.
type KeysOf func(witness did.DID) []did.PublicKey

// Cosignatures judges the lines of n one by one and returns each witness's
// earliest true one, by organization. The origin's own witness line counts
// for nothing. verdicts has one element per line of n; the log's own line is
// LineUnknown there.
func (n Note) Cosignatures(keys KeysOf) (good []Cosignature, verdicts []LineVerdict) {
	best := map[did.DID]Cosignature{}
	for _, l := range n.Lines {
		c, v := n.judge(l, keys)
		verdicts = append(verdicts, v)
		if v != LineGood || c.Witness == n.Org {
			continue
		}
		if old, ok := best[c.Witness]; !ok || c.At.Time().Before(old.At.Time()) {
			best[c.Witness] = c
		}
	}
	for _, c := range best {
		good = append(good, c)
	}
	slices.SortFunc(good, func(a, b Cosignature) int { return cmp.Compare(a.Witness.String(), b.Witness.String()) })
	return good, verdicts
}

func (n Note) judge(l Line, keys KeysOf) (Cosignature, LineVerdict) {
	w, ok := l.Witness()
	if !ok {
		return Cosignature{}, LineUnknown
	}
	verdict := LineUnknown
	for _, k := range keys(w) {
		if l.Hash == keyHash(l.Name, algCosigned, k) {
			verdict = LineFalse
		}
		if at, err := n.Cosigned(l, w, k); err == nil {
			return Cosignature{Witness: w, At: at, Line: l}, LineGood
		}
	}
	return Cosignature{}, verdict
}
