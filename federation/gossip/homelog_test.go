package gossip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// memLog is one log in memory.
type memLog struct {
	entries []attestation.Entry
	hashes  []tlog.Hash // stored hashes
	note    []byte
	notes   map[uint64]attlog.Note
}

func (l *memLog) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		if x >= int64(len(l.hashes)) {
			return nil, fmt.Errorf("hash %d of %d", x, len(l.hashes))
		}
		out[i] = l.hashes[x]
	}
	return out, nil
}

func (l *memLog) add(e attestation.Entry) {
	hs, err := tlog.StoredHashesForRecordHash(int64(len(l.entries)), e.Hash(), l)
	if err != nil {
		panic(err)
	}
	l.entries, l.hashes = append(l.entries, e), append(l.hashes, hs...)
}

// snapshot is a log at one size.
type snapshot struct{ memLog }

func (s *snapshot) Head() (attestation.Head, []byte) {
	h, err := attlog.RootAt(uint64(len(s.entries)), &s.memLog)
	if err != nil {
		panic(err)
	}
	return h, s.note
}

func (s *snapshot) Find(_ context.Context, id envelope.ID) (uint64, error) {
	for i, e := range s.entries {
		if e.ID() == id {
			return uint64(i), nil
		}
	}
	return 0, attestation.ErrNotFound
}

func (s *snapshot) Entries(_ context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error {
	if to > uint64(len(s.entries)) {
		return &attestation.Beyond{Size: uint64(len(s.entries))}
	}
	for i := from; i < to; i++ {
		if err := yield(i, s.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

type logsOf struct{ *home }

func (h logsOf) Orgs(context.Context) ([]did.DID, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.logs)), nil
}

func (h logsOf) Log(_ context.Context, d did.DID) (attestation.Log, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[d]
	if !ok {
		return nil, attestation.ErrNotFound
	}
	return &snapshot{memLog{entries: slices.Clip(l.entries), hashes: slices.Clip(l.hashes), note: l.note}}, nil
}

func (h logsOf) Notes(_ context.Context, d did.DID, from, to uint64, most int) (out [][]byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l, ok := h.logs[d]
	if !ok {
		return nil, attestation.ErrNotFound
	}
	for _, size := range slices.Sorted(maps.Keys(l.notes)) {
		if n := l.notes[size]; size > from && size <= to && len(n.Lines) > 1 && len(out) < most {
			out = append(out, n.Bytes())
		}
	}
	return out, nil
}

func (h *home) size(d did.DID) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[d]; l != nil {
		return uint64(len(l.entries))
	}
	return 0
}

// witnesses says by whom the log of d was cosigned at its newest head.
func (h *home) witnesses(d did.DID) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.logs[d]; l != nil {
		n = max(0, len(l.notes[uint64(len(l.entries))].Lines)-1)
	}
	return n
}

// intake

func (h logsOf) Ingest(_ context.Context, p attestation.Package) (Outcome, error) {
	h.gate("ingest")
	note, err := attlog.ParseNote(p.Note)
	if err != nil || note.Org != p.Did {
		return False, fmt.Errorf("note: %v", err)
	}
	k, ok := h.key(p.Did)
	if !ok || note.Verify(k) != nil {
		return Parked, nil
	}
	h.mu.Lock()
	if other := h.others[p.Did]; other != nil && p.From >= h.partedAt(p.Did) {
		if o, _ := other.ingest(p, note); o == Taken || o == Held {
			h.mu.Unlock()
			return Forked, nil
		}
		if p.From == uint64(len(other.entries)) {
			h.tried++
		}
	}
	l, ok := h.logs[p.Did]
	if !ok {
		l = &memLog{notes: map[uint64]attlog.Note{}}
		h.logs[p.Did] = l
	}
	o, err := l.ingest(p, note)
	if o == Taken {
		for _, e := range p.Entries {
			h.named(p.Did, e)
		}
	}
	h.mu.Unlock()
	if o == Taken {
		h.tell(p.Did, false)
	}
	return o, err
}

func (l *memLog) ingest(p attestation.Package, note attlog.Note) (Outcome, error) {
	held, end := uint64(len(l.entries)), p.From+uint64(len(p.Entries))
	if end <= held {
		return Held, nil
	}
	if p.From > held {
		return Behind, nil
	}
	edge, err := attlog.ReadRange(0, held, l)
	if err != nil {
		return 0, err
	}
	fresh := p.Entries[held-p.From:]
	for _, e := range fresh {
		if err := edge.Append(e.Hash()); err != nil {
			return 0, err
		}
	}
	rest, err := attlog.ParseRange(end, note.Head.Size, p.Rest)
	if err != nil {
		return False, err
	}
	if err := edge.Join(rest); err != nil {
		return False, err
	}
	if root, err := edge.Root(); err != nil || root != note.Head.Root {
		return False, fmt.Errorf("root %v, %v", root, err)
	}
	for _, e := range fresh {
		l.add(e)
	}
	if end == note.Head.Size {
		l.note = note.Bytes()
		l.merge(note)
	}
	return Taken, nil
}

// named notes what an entry says is missing here. h.mu is held.
func (h *home) named(d did.DID, e attestation.Entry) {
	_, ev, err := e.Envelope()
	if err != nil {
		h.t.Errorf("entry: %v", err)
		return
	}
	if !ev.Body.IsZero() && h.things[ev.Body] == nil {
		h.missing[ev.Body] = Want{ID: ev.Body, From: d, Body: true}
	}
	for _, id := range ev.Refs {
		if h.things[id] == nil {
			h.missing[id] = Want{ID: id, From: d}
		}
	}
}

// merge keeps the log's line and each witness's earliest one.
func (l *memLog) merge(n attlog.Note) bool {
	old, ok := l.notes[n.Head.Size]
	if !ok {
		old = attlog.Note{Org: n.Org, Head: n.Head}
	}
	all := old.With(n.Lines...)
	slices.SortFunc(all.Lines, func(a, b attlog.Line) int {
		_, aw := a.Witness()
		_, bw := b.Witness()
		switch {
		case aw != bw && !aw:
			return -1
		case aw != bw:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.Sig, b.Sig)) // the time is what Sig begins with
	})
	all.Lines = slices.CompactFunc(all.Lines, func(a, b attlog.Line) bool { return a.Name == b.Name })
	l.notes[n.Head.Size] = all
	if n.Head.Size == uint64(len(l.entries)) {
		l.note = all.Bytes()
	}
	return string(all.Bytes()) != string(old.Bytes())
}

func (h logsOf) Merge(_ context.Context, d did.DID, b []byte) (Outcome, error) {
	n, err := attlog.ParseNote(b)
	if err != nil || n.Org != d {
		return False, fmt.Errorf("note: %v", err)
	}
	k, ok := h.key(d)
	if !ok || n.Verify(k) != nil {
		return Parked, nil
	}
	good, _ := n.Cosignatures(func(w did.DID) []did.PublicKey {
		k, _ := h.key(w)
		return []did.PublicKey{k}
	})
	own, _ := n.LogLine(k)
	n.Lines = []attlog.Line{own}
	for _, c := range good {
		n.Lines = append(n.Lines, c.Line)
	}
	h.mu.Lock()
	l := h.logs[d]
	if l == nil || n.Head.Size > uint64(len(l.entries)) {
		h.mu.Unlock()
		return Behind, nil
	}
	if root, err := attlog.RootAt(n.Head.Size, l); err != nil || root != n.Head {
		h.twos[d]++
		h.mu.Unlock()
		return Forked, fmt.Errorf("root %v, %v", root, err)
	}
	news := l.merge(n)
	h.mu.Unlock()
	if !news {
		return Held, nil
	}
	h.tell(d, false)
	return Taken, nil
}

func (h logsOf) Part(ctx context.Context, d did.DID, b []byte, ranges Ranges) (Outcome, error) {
	n, err := attlog.ParseNote(b)
	if err != nil || n.Org != d {
		return False, fmt.Errorf("note: %v", err)
	}
	if k, ok := h.key(d); !ok || n.Verify(k) != nil {
		return Parked, nil
	}
	l, err := h.Log(ctx, d)
	if err != nil {
		return 0, err
	}
	held, _ := l.Head()
	h.mu.Lock()
	known := h.node != nil && h.node.isParted(d, parting{held, n.Head})
	h.mu.Unlock()
	if known {
		return Forked, nil
	}
	at, err := attlog.Parting(l, held.Size, n.Head, ranges)
	switch {
	case errors.Is(err, attlog.ErrConsistent):
		return Held, nil
	case errors.Is(err, attlog.ErrProof):
		return False, err
	case err != nil:
		return 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts[d] = append(h.parts[d], at)
	if h.others[d] == nil {
		h.others[d] = &memLog{notes: map[uint64]attlog.Note{}}
		for _, e := range h.logs[d].entries[:at] {
			h.others[d].add(e)
		}
	}
	return Forked, nil
}

// partedAt is where another branch of a log parts. h.mu is held.
func (h *home) partedAt(d did.DID) uint64 { return h.parts[d][0] }

func (h logsOf) Lacks(_ context.Context, d did.DID, theirs attestation.Head) (uint64, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	other := h.others[d]
	if other == nil || h.room > 0 && len(other.entries) >= h.room {
		return 0, false, nil
	}
	at := uint64(len(other.entries))
	return at, at < theirs.Size, nil
}

// other are the entries kept of another branch of the log of d, with what both have.
func (h *home) other(d did.DID) []attestation.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.others[d]; l != nil {
		return slices.Clone(l.entries)
	}
	return nil
}

func (h logsOf) Edge(d did.DID) attlog.Range {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.logs[d]
	if l == nil {
		return attlog.NewRange(0)
	}
	r, err := attlog.ReadRange(0, uint64(len(l.entries)), l)
	if err != nil {
		panic(err)
	}
	return r
}

func (h logsOf) HeadKeys(d did.DID) []did.PublicKey {
	if k, ok := h.key(d); ok {
		return []did.PublicKey{k}
	}
	return nil
}

// say appends own events, signs the head and tells the node.
func (h *home) say(prompt bool, events ...attestation.Event) {
	h.t.Helper()
	ctx := context.Background()
	h.mu.Lock()
	l := h.logs[h.me]
	for _, ev := range events {
		ev.At, ev.Kid, ev.Org, ev.Data = envelope.TimeOf(time.Now()), h.sign.Public().Multikey(), h.me, envelope.Raw("{}")
		ev.Nonce, ev.Type = "oKCgoKCgoKCgoKCgoKCgoA", cmp.Or(ev.Type, "test.said")
		if ev.Subject == "" {
			ev.Subject = envelope.IDOf(fmt.Appendf(nil, "%d", len(l.entries))).String()
		}
		env, err := envelope.Seal(ctx, ev, h.sign)
		if err != nil {
			h.t.Fatal(err)
		}
		e, err := attestation.EntryOf(env)
		if err != nil {
			h.t.Fatal(err)
		}
		l.add(e)
	}
	head, err := attlog.RootAt(uint64(len(l.entries)), l)
	if err != nil {
		h.t.Fatal(err)
	}
	n, err := attlog.Sign(ctx, h.sign, h.me, head)
	if err != nil {
		h.t.Fatal(err)
	}
	l.note = n.Bytes()
	l.merge(n)
	h.mu.Unlock()
	h.tell(h.me, prompt)
}

func some(n int) []attestation.Event { return make([]attestation.Event, n) }

// witnessing

type witnessingOf struct{ *home }

func (h witnessingOf) Cosign(ctx context.Context, w did.DID) error {
	h.mu.Lock()
	l, node := h.logs[h.me], h.node
	n, ok := l.notes[uint64(len(l.entries))]
	h.mu.Unlock()
	if !ok {
		return nil
	}
	req := attlog.Request{Note: attlog.Note{Org: n.Org, Head: n.Head, Lines: n.Lines[:1]}}
	status, body, err := node.Cosign(ctx, w, req.Bytes())
	if err != nil {
		return err
	}
	if status != attlog.StatusCosigned {
		return fmt.Errorf("status %d", status)
	}
	lines, err := attlog.ParseLines(string(body))
	if err != nil {
		return err
	}
	_, err = logsOf(h).Merge(ctx, h.me, req.Note.With(lines...).Bytes())
	return err
}

// Entry witnesses any line by repeating it, and none that says no.
func (h witnessingOf) Entry(_ context.Context, d did.DID, line []byte) (int, []byte, error) {
	switch string(line) {
	case "no":
		return 403, []byte("not_listed"), nil
	case "broken":
		return 0, nil, errors.New("disk")
	}
	return 200, []byte(d.String() + " " + string(line)), nil
}

func (h witnessingOf) Answer(ctx context.Context, d did.DID, request []byte) (int, []byte, error) {
	req, err := attlog.ParseRequest(request)
	if err != nil || req.Note.Org != d {
		return attlog.StatusMalformed, nil, nil
	}
	line, err := attlog.Cosign(ctx, h.sign, h.me, req.Note, time.Now())
	if err != nil {
		return 0, nil, err
	}
	_, err = logsOf(h).Merge(ctx, d, req.Note.With(line).Bytes())
	return attlog.StatusCosigned, []byte(line.String()), err
}
