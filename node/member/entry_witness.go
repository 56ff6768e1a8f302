package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/recorder"
)

const reasonWitnesses = "witnesses"

// Endorse asks a member's node to witness a line of the own DID log; gossip.Node.Endorse
// is one. federation.ErrUnreachable, or self.ErrOffline.
type Endorse func(ctx context.Context, d did.DID, line []byte) (status int, body []byte, err error)

// votes is what the witnesses say of an entry under way.
type votes struct {
	have, need int
	file       []byte // did-witness.json, once have is need
	missing    []witnessOf
}

// witnessOf is a member whose witness key governs an entry.
type witnessOf struct {
	org did.DID
	key did.PublicKey
}

// votes counts the proofs of an entry.
func (m *Member) votes(ctx context.Context, row entryRow) (votes, error) {
	line, err := row.line()
	if err != nil {
		return votes{}, err
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return votes{}, err
	}
	if _, held := h.ByID(row.Version); held { // taken before a crash
		return votes{file: h.Witness()}, nil
	}
	proofs := make([][]byte, len(row.Proofs))
	for i, p := range row.Proofs {
		proofs[i] = []byte(p)
	}
	list, err := didwebvh.Governing(h, line)
	if err != nil {
		return votes{}, err
	}
	t, err := h.Proofs(line, proofs)
	if err != nil {
		return votes{}, err
	}
	v := votes{have: len(t.By), need: t.Need, file: t.Witness}
	for _, k := range list.Keys {
		if !slices.Contains(t.By, k) {
			v.missing = append(v.missing, witnessOf{m.holderOf(ctx, k), k})
		}
	}
	return v, nil
}

// holderOf is the member whose witness key it is; zero for none that is known here.
func (m *Member) holderOf(ctx context.Context, k did.PublicKey) did.DID {
	for _, r := range m.others() {
		if slices.Contains(recorder.RingOf(m.n.Ring).Witness(ctx, r.DID), k) {
			return r.DID
		}
	}
	return did.DID{}
}

// count marks an entry ready where its proofs suffice, or none are needed.
func (m *Member) count(ctx context.Context, row entryRow) (entryRow, error) {
	if row.step() != stepCommitted {
		return row, nil
	}
	v, err := m.votes(ctx, row)
	if err != nil || v.have < v.need {
		return row, err
	}
	row.Witness, row.Witless = b64.EncodeToString(v.file), len(v.file) == 0
	return row, m.keepEntry(ctx, row)
}

// Times of asking witnesses.
const (
	askWait  = 5 * time.Second // for one witness
	askAgain = 2 * time.Second // between two rounds while an operator waits
)

// collect asks witnesses until enough have signed, at least once and for as long as wait.
func (m *Member) collect(ctx context.Context, row entryRow, wait time.Duration) (entryRow, error) {
	for end := time.Now().Add(wait); ; {
		row, err := m.count(ctx, row)
		if err != nil || row.step() >= stepReady {
			return row, err
		}
		v, err := m.votes(ctx, row)
		if err != nil {
			return row, err
		}
		said := m.askAll(ctx, row, v.missing)
		if row, err = m.addProofs(ctx, row, proofsOf(said)); err != nil {
			return row, err
		}
		if row, err = m.count(ctx, row); err != nil || row.step() >= stepReady {
			return row, err
		}
		if time.Now().Add(askAgain).After(end) {
			return row, m.waiting(ctx, row, said)
		}
		select {
		case <-ctx.Done():
			return row, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}

// said is the answer of one witness.
type said struct {
	org   did.DID
	proof []byte // nil: none
	why   string // in words, where there is no proof
}

func proofsOf(list []said) (out [][]byte) {
	for _, s := range list {
		if s.proof != nil {
			out = append(out, s.proof)
		}
	}
	return out
}

// askAll asks all missing witnesses at once.
func (m *Member) askAll(ctx context.Context, row entryRow, missing []witnessOf) []said {
	line, err := row.line()
	if err != nil {
		return nil
	}
	out := make([]said, len(missing))
	var wg sync.WaitGroup
	for i, w := range missing {
		wg.Go(func() { out[i] = m.askOne(ctx, w, line) })
	}
	wg.Wait()
	return out
}

func (m *Member) askOne(ctx context.Context, w witnessOf, line []byte) said {
	s := said{org: w.org}
	switch {
	case w.org.IsZero():
		s.why = w.key.Multikey() + " is no member's witness key"
		return s
	case m.cfg.Endorse == nil:
		s.why = place(w.org) + " was not asked: no node runs"
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	status, body, err := m.cfg.Endorse(ctx, w.org, line)
	switch {
	case err != nil:
		s.why = place(w.org) + " has not answered"
	case status == http.StatusOK:
		s.proof = body
	case status == http.StatusNotFound:
		s.why = place(w.org) + " does not hold the entry before yet"
	case status == http.StatusConflict:
		s.why = fmt.Sprintf("%s has signed another entry of that number: %.80q", place(w.org), body)
	default:
		s.why = fmt.Sprintf("%s refuses: %.80q", place(w.org), body)
	}
	return s
}

// waiting is the refusal of an entry that lacks witnesses.
func (m *Member) waiting(ctx context.Context, row entryRow, list []said) error {
	v, err := m.votes(ctx, row)
	if err != nil {
		return err
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	var why []string
	for _, s := range list {
		if s.proof == nil {
			why = append(why, s.why)
		}
	}
	since := at.Sub(row.Since.Time()).Truncate(time.Second)
	return fault.New(fault.NeedsApproval, reasonWitnesses, "waiting for witness proofs of entry %s: %d of %d (%s; asked for %s)", row.Version, v.have, v.need, strings.Join(why, "; "), since).
		WithHint("the node asks on by itself; trustnode did rotate --resume asks now, or carry the file: did witness request, did witness sign")
}

// addProofs keeps witness proofs that count for the entry under way. One that does not is
// refused, lest its carrier believe that it helped.
func (m *Member) addProofs(ctx context.Context, row entryRow, proofs [][]byte) (entryRow, error) {
	if len(proofs) == 0 {
		return row, nil
	}
	line, err := row.line()
	if err != nil {
		return row, err
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return row, err
	}
	list, err := didwebvh.Governing(h, line)
	if err != nil {
		return row, err
	}
	for _, p := range proofs {
		if _, err := didwebvh.CheckWitnessProof(list, row.Version, p); err != nil {
			return row, fault.Wrap(fault.Invalid, "proof", err).WithHint("a proof is for one entry and from one of its witnesses: did witness sign FILE makes it")
		}
		if text := string(p); !slices.Contains(row.Proofs, text) {
			row.Proofs = append(row.Proofs, text)
		}
	}
	return row, m.keepEntry(ctx, row)
}

// WitnessEntry witnesses a line as the next one of a member's DID log, at the request of
// that member's bound node, or of the own operator. It signs one versionId for each
// number of a log, ever: the number is pinned before the proof is made. The result is a
// witness proof as JSON. Errors are *fault.Denied: refused with the reasons not_listed,
// frozen, deactivated and invalid, not_found where the line does not follow what is held,
// conflict where another entry of that number was witnessed.
func (m *Member) WitnessEntry(ctx context.Context, d did.DID, line []byte) ([]byte, error) {
	proof, err := m.witnessEntry(ctx, d, line)
	var denied *fault.Denied
	if errors.As(err, &denied) {
		m.mu.Lock()
		m.refused[denied.Reason]++
		m.mu.Unlock()
	}
	return proof, err
}

// Refused counts the entries that were not witnessed since the start, by reason.
func (m *Member) Refused() map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.refused)
}

func (m *Member) witnessEntry(ctx context.Context, d did.DID, line []byte) ([]byte, error) {
	at, err := m.now()
	if err != nil {
		return nil, err
	}
	h, err := m.n.Ring.History(ctx, d)
	if err != nil {
		return nil, fault.New(fault.NotFound, "did_log", "no DID log of %s is held here", place(d)).WithHint("a member's log comes by sync, or with its join file")
	}
	if _, err := m.n.Ring.Document(ctx, d); err != nil {
		return nil, witnessRefusal(err)
	}
	if err := follows(h, d, line); err != nil {
		return nil, err
	}
	v, err := h.Check(line, at)
	if err != nil {
		return nil, fault.Wrap(fault.Refused, "invalid", err)
	}
	signer, err := m.governs(ctx, h, line)
	if err != nil {
		return nil, err
	}
	slot := pins.Slot{Kind: pins.KindWitness, Key: h.SCID(), N: uint64(v.Number)}
	if err := m.cfg.Pins.Put(ctx, slot, v.ID); err != nil {
		return nil, m.witnessed(ctx, d, err)
	}
	return didwebvh.SignWitness(ctx, signer, v.ID, at)
}

// follows refuses a line whose number is not the next one: its predecessor may come yet,
// or it is held here already.
func follows(h didwebvh.History, d did.DID, line []byte) error {
	id := didwebvh.VersionID(line)
	n, err := entryNumber(id)
	switch {
	case err != nil:
		return fault.New(fault.Refused, "invalid", "the line is no entry that could be witnessed")
	case n > uint64(h.Len())+1:
		return fault.New(fault.NotFound, "behind", "entry %d of %s is the last one held here, the line is entry %d", h.Len(), place(d), n).
			WithHint("what lies between may come by the next sync; then ask again")
	}
	if v, ok := h.ByID(id); ok && bytes.Equal(v.Line, line) {
		return fault.New(fault.Conflict, "held", "entry %s of %s is held here already", v.ID, place(d))
	}
	return nil
}

// governs is the own witness signer, if its key may witness this line.
func (m *Member) governs(ctx context.Context, h didwebvh.History, line []byte) (envelope.Signer, error) {
	list, err := didwebvh.Governing(h, line)
	if err != nil {
		return nil, fault.Wrap(fault.Refused, "invalid", err)
	}
	for _, k := range list.Keys {
		if s, err := m.cfg.Witness(ctx, k); err == nil {
			return s, nil
		}
	}
	return nil, fault.New(fault.Refused, "not_listed", "no witness key of this organization governs that entry")
}

// witnessed refuses a second entry of one number. Two of them signed by one organization
// are evidence of a fork, so the log of the node keeps both names.
func (m *Member) witnessed(ctx context.Context, d did.DID, err error) error {
	var t *pins.Taken
	var b *pins.Below
	switch {
	case errors.As(err, &t):
		m.n.Log.WarnContext(ctx, "a second entry of one number was to be witnessed", "did", d.String(), "number", t.Slot.N, "witnessed", t.Value)
		return fault.New(fault.Conflict, "witnessed", "entry %s of %s was witnessed here, and no other of that number will be", t.Value, place(d))
	case errors.As(err, &b):
		return fault.New(fault.Conflict, "witnessed", "entry %s of %s was witnessed here, a lower number is closed", b.Value, place(d))
	}
	return err
}

func witnessRefusal(err error) error {
	switch {
	case errors.Is(err, keyring.ErrFrozen):
		return fault.Wrap(fault.Refused, "frozen", err)
	case errors.Is(err, keyring.ErrDeactivated):
		return fault.Wrap(fault.Refused, "deactivated", err)
	}
	return fault.Wrap(fault.Refused, "unavailable", err)
}
