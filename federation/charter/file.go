package charter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

// ErrNoDraft is returned where a file holds no charter.
var ErrNoDraft = errors.New("file holds no charter")

// ErrTwoDrafts is returned where a file holds two charters with the highest seq.
var ErrTwoDrafts = errors.New("file holds two different charters for one place")

// ErrNotNamed is returned where a charter does not name an organization, or not
// with that key.
var ErrNotNamed = errors.New("charter does not name this organization with this key")

// File is what members pass around by hand, read from a bundle and unverified:
// a join file, a draft or a boot file. A draft is the charter with the highest seq.
type File struct {
	Pin      *bundle.Pin
	Charters []envelope.Envelope // by seq, then id; one envelope per id
	Joins    []envelope.Envelope // by id
	Bindings []envelope.Envelope // by id
	Abandons []envelope.Envelope // by id
	Logs     []bundle.DIDLog     // by DID, then from
	Others   []bundle.Line       // known lines that mean nothing here; carried along
	Skipped  int                 // lines of unknown shape that were dropped
}

// ReadFile reads a bundle of at most MaxFile bytes. Lines of unknown shape are
// skipped and counted; a line that is not well formed is a *bundle.LineError.
// bundle.ErrNotBundle where the first line is no header.
func ReadFile(r io.Reader) (File, error) {
	in, err := bundle.NewReader(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return File{}, err
	}
	f := File{Pin: in.Header().Pin}
	for {
		l, err := in.Next()
		if in.Bytes() > MaxFile {
			return File{}, fmt.Errorf("file is longer than %d bytes", MaxFile)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return File{}, err
		}
		if err := f.add(l); err != nil {
			return File{}, &bundle.LineError{Line: in.Line(), Err: err}
		}
	}
	return f.tidy()
}

func (f *File) add(l bundle.Line) error {
	switch l := l.(type) {
	case bundle.DIDLog:
		f.Logs = append(f.Logs, l)
	case bundle.Envelope:
		return f.addObject(l.Envelope)
	case bundle.Unknown:
		f.Skipped++
	default:
		return f.addOther(l)
	}
	return nil
}

func (f *File) addOther(l bundle.Line) error {
	if len(f.Others) >= maxDraftOthers {
		return fmt.Errorf("more than %d lines that are no part of a charter", maxDraftOthers)
	}
	f.Others = append(f.Others, l)
	return nil
}

// addObject sorts an object by its type, so that each list holds what it says, in form.
func (f *File) addObject(e envelope.Envelope) (err error) {
	switch e.Type {
	case Type:
		_, err = decode(e)
		f.Charters = append(f.Charters, e)
	case JoinType:
		_, err = envelope.Decode[Join](e)
		f.Joins = append(f.Joins, e)
	case AbandonType:
		_, err = envelope.Decode[Abandon](e)
		f.Abandons = append(f.Abandons, e)
	case federation.BindingType: // carried here, read by whoever applies the file
		f.Bindings = append(f.Bindings, e)
	default:
		return f.addOther(bundle.Envelope{Envelope: e})
	}
	return err
}

// tidy puts the lists in order and unites the signatures of one charter.
func (f File) tidy() (File, error) {
	charters, err := unite(f.Charters)
	if err != nil {
		return File{}, err
	}
	for i := range charters {
		b, err := decode(charters[i].Envelope)
		if err != nil {
			return File{}, err
		}
		charters[i].seq = b.Seq
	}
	slices.SortStableFunc(charters, func(a, b inOrder) int { return cmp.Compare(a.seq, b.seq) })
	f.Charters = envelopes(charters)
	for _, list := range []*[]envelope.Envelope{&f.Joins, &f.Bindings, &f.Abandons} {
		united, err := unite(*list)
		if err != nil {
			return File{}, err
		}
		*list = envelopes(united)
	}
	slices.SortFunc(f.Logs, compareLogs)
	f.Logs = slices.CompactFunc(f.Logs, func(a, b bundle.DIDLog) bool { return compareLogs(a, b) == 0 })
	return f, nil
}

func compareLogs(a, b bundle.DIDLog) int {
	return cmp.Or(cmp.Compare(a.DID.String(), b.DID.String()), cmp.Compare(a.From, b.From),
		bytes.Compare(a.Log, b.Log), bytes.Compare(a.Witness, b.Witness))
}

// inOrder is an envelope with what orders it, computed once.
type inOrder struct {
	envelope.Envelope
	id  string
	seq uint64 // charters alone
}

func envelopes(list []inOrder) []envelope.Envelope {
	var out []envelope.Envelope
	for _, n := range list {
		out = append(out, n.Envelope)
	}
	return out
}

// unite keeps one envelope per id, with the signatures of all, in order of id.
func unite(list []envelope.Envelope) ([]inOrder, error) {
	byID := map[envelope.ID]int{}
	var out []inOrder
	for _, e := range list {
		id := e.ID()
		at, held := byID[id]
		if !held {
			byID[id] = len(out)
			out = append(out, inOrder{Envelope: e, id: id.String()})
			continue
		}
		out[at].Envelope = out[at].With(e.Signatures...)
		if len(out[at].Signatures) > envelope.MaxSignatures {
			return nil, fmt.Errorf("more than %d signatures on %s", envelope.MaxSignatures, id)
		}
	}
	slices.SortFunc(out, func(a, b inOrder) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// Encode gives the bytes of the file: equal contents are equal bytes.
func (f File) Encode() ([]byte, error) {
	var lines []bundle.Line
	for _, list := range [][]envelope.Envelope{f.Charters, f.Joins, f.Bindings, f.Abandons} {
		for _, e := range list {
			lines = append(lines, bundle.Envelope{Envelope: e})
		}
	}
	for _, l := range f.Logs {
		lines = append(lines, l)
	}
	return bundle.Encode(bundle.Header{Pin: f.Pin}, append(lines, f.Others...)...)
}

// Merge unites copies of one file, or a file with what belongs to it, in any
// order. The greatest pin stands. ErrTwoDrafts if they hold different drafts for one place.
func Merge(files ...File) (File, error) {
	var m File
	for _, f := range files {
		m.Charters = append(m.Charters, f.Charters...)
		m.Joins = append(m.Joins, f.Joins...)
		m.Bindings = append(m.Bindings, f.Bindings...)
		m.Abandons = append(m.Abandons, f.Abandons...)
		m.Logs = append(m.Logs, f.Logs...)
		m.Others = append(m.Others, f.Others...)
		m.Skipped += f.Skipped
		if f.Pin != nil && (m.Pin == nil || m.Pin.Seq < f.Pin.Seq) {
			m.Pin = f.Pin
		}
	}
	m, err := m.tidy()
	if err != nil {
		return File{}, err
	}
	if _, _, err := m.Draft(); err != nil && !errors.Is(err, ErrNoDraft) {
		return File{}, err
	}
	return m, nil
}

// Draft gives the charter with the highest seq: its envelope and, unverified, its
// body and id. ErrNoDraft, ErrTwoDrafts.
func (f File) Draft() (envelope.Envelope, Head, error) {
	if len(f.Charters) == 0 {
		return envelope.Envelope{}, Head{}, ErrNoDraft
	}
	e := f.Charters[len(f.Charters)-1]
	b, err := decode(e)
	if err != nil {
		return envelope.Envelope{}, Head{}, err
	}
	if n := len(f.Charters); n > 1 {
		if before, err := decode(f.Charters[n-2]); err != nil || before.Seq == b.Seq {
			return envelope.Envelope{}, Head{}, ErrTwoDrafts
		}
	}
	return e, Head{ID: e.ID(), Body: b}, nil
}

// Sign adds to the draft the signature of org, whose charter key s holds. The
// caller has read the body, verified the file with Review, and made the slot
// durable: a signature on a charter cannot be taken back. ErrNotNamed if the draft
// names org not at all, or with another key.
func (f File) Sign(ctx context.Context, org did.DID, s envelope.Signer) (File, error) {
	e, head, err := f.Draft()
	if err != nil {
		return File{}, err
	}
	m, ok := head.Member(org)
	if !ok || m.Key.Pub != s.Public() {
		return File{}, ErrNotNamed
	}
	if e, err = envelope.Cosign(ctx, e, s); err != nil {
		return File{}, err
	}
	f.Charters = slices.Clone(f.Charters)
	f.Charters[len(f.Charters)-1] = e
	return f, nil
}

// Behind lists a charter of the file and all it is built on, by the ids in their
// bodies: whoever trusts the one id has all of them fixed. Empty if the file does not hold it.
func (f File) Behind(id envelope.ID) map[envelope.ID]bool {
	prev := map[envelope.ID]envelope.ID{}
	for _, e := range f.Charters {
		if b, err := decode(e); err == nil {
			prev[e.ID()] = b.Prev
		}
	}
	behind := map[envelope.ID]bool{}
	for {
		before, held := prev[id]
		if !held || behind[id] {
			return behind
		}
		behind[id] = true
		id = before
	}
}
