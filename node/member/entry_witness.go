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
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/recorder"
)

const reasonWitnesses = "witnesses"

// Endorsement is what a member's node answered that was asked to witness a line:
// as gossip.Node.Endorse returns it.
type Endorsement struct {
	Status int
	Body   []byte
	Err    error // federation.ErrUnreachable, self.ErrOffline
}

// Endorse asks nodes of members, all at once and each for at most a few seconds, to
// witness a line of the own DID log. It answers in their order.
type Endorse func(ctx context.Context, members []did.DID, line []byte) []Endorsement

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
	row.Witness, row.Unwitnessed = b64.EncodeToString(v.file), len(v.file) == 0
	return row, m.keepEntry(ctx, row)
}

// askAgain is the time between two rounds of asking while an operator waits.
const askAgain = 2 * time.Second

// collect asks the witnesses whose proof is missing, once.
func (m *Member) collect(ctx context.Context, row entryRow) (entryRow, []said, error) {
	row, err := m.count(ctx, row)
	if err != nil || row.step() >= stepReady {
		return row, nil, err
	}
	list, err := m.askAll(ctx, row)
	if err != nil {
		return row, nil, err
	}
	var proofs [][]byte
	for _, s := range list {
		if s.proof != nil {
			proofs = append(proofs, s.proof)
		}
	}
	if len(proofs) > 0 {
		if row, err = m.addProofs(ctx, row, proofs); err != nil {
			return row, list, err
		}
	}
	row, err = m.count(ctx, row)
	return row, list, err
}

// said is the answer of one witness.
type said struct {
	proof []byte // that counts; nil: none
	why   string // in words, where there is no proof
	mute  bool   // it was asked and gave no answer
}

// askAll asks all witnesses whose proof is missing.
func (m *Member) askAll(ctx context.Context, row entryRow) ([]said, error) {
	line, err := row.line()
	if err != nil {
		return nil, err
	}
	v, err := m.votes(ctx, row)
	if err != nil {
		return nil, err
	}
	var out []said
	var ask []did.DID
	var keys []did.PublicKey
	for _, w := range v.missing {
		switch {
		case w.org.IsZero():
			out = append(out, said{why: w.key.Multikey() + " is no member's witness key"})
		case m.cfg.Endorse == nil:
			out = append(out, said{why: place(w.org) + " was not asked: no node runs"})
		default:
			ask, keys = append(ask, w.org), append(keys, w.key)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	for i, e := range m.cfg.Endorse(ctx, ask, line) {
		out = append(out, answered(ask[i], keys[i], row.Version, e))
	}
	return out, nil
}

// answered says what the answer of a witness comes to. A proof that does not count is no
// error of the entry: one witness must not hold up what the others sign.
func answered(org did.DID, key did.PublicKey, version string, e Endorsement) said {
	switch {
	case e.Err != nil:
		return said{why: place(org) + " has not answered", mute: true}
	case e.Status == http.StatusOK:
		one := didwebvh.WitnessList{Keys: []did.PublicKey{key}, Threshold: 1}
		if _, err := didwebvh.CheckWitnessProof(one, version, e.Body); err != nil {
			return said{why: place(org) + " sent a proof that is none"}
		}
		return said{proof: e.Body}
	case e.Status == http.StatusNotFound:
		return said{why: place(org) + " does not hold the entry before yet"}
	case e.Status == http.StatusConflict:
		return said{why: fmt.Sprintf("%s has witnessed another entry of that number: %.80q", place(org), e.Body)}
	}
	if words, ok := refusals[string(e.Body)]; ok {
		return said{why: place(org) + " " + words}
	}
	return said{why: fmt.Sprintf("%s refuses: %.80q", place(org), e.Body)}
}

// refusals says to people what the reasons of WitnessEntry mean.
var refusals = map[string]string{
	"restored":    "was put back from a copy and leaves this entry to another witness; its operator may sign it by hand",
	"not_listed":  "has another witness key by now",
	"frozen":      "holds two branches of this log",
	"deactivated": "holds this DID as ended",
	"held":        "holds the entry already",
	"recovering":  "is recovering and signs nothing yet",
	"invalid":     "refuses: the entry does not verify there",
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
		switch {
		case s.mute: // since its number was pinned, each of them is asked
			why = append(why, fmt.Sprintf("%s for %s", s.why, at.Sub(row.Since.Time()).Truncate(time.Second)))
		case s.proof == nil:
			why = append(why, s.why)
		}
	}
	return fault.New(fault.NeedsApproval, reasonWitnesses, "waiting for witness proofs of entry %s: %d of %d (%s)", row.Version, v.have, v.need, strings.Join(why, "; ")).
		WithHint("the node asks on by itself; trustnode did rotate --resume asks now, or carry the file: trustnode did witness request, trustnode did witness sign")
}

// addProofs keeps witness proofs that count for the entry under way. One that does not is
// refused, lest its carrier believe that it helped.
func (m *Member) addProofs(ctx context.Context, row entryRow, proofs [][]byte) (entryRow, error) {
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
			return row, fault.Wrap(fault.Invalid, "proof", err).WithHint("a proof is for one entry and from one of its witnesses: trustnode did witness sign FILE makes it")
		}
		if text := string(p); !slices.Contains(row.Proofs, text) {
			row.Proofs = append(row.Proofs, text)
		}
	}
	return row, m.keepEntry(ctx, row)
}

// Witnessed is the refusal of a second entry of one number. It names the one that this
// node has witnessed; two of them signed by one organization are evidence of a fork.
type Witnessed struct {
	DID     did.DID
	Version string // versionId that was witnessed
	Later   bool   // of a higher number: the number asked for is closed
}

// Error implements error.
func (e *Witnessed) Error() string {
	if e.Later {
		return fmt.Sprintf("entry %s of %s was witnessed here, a lower number is closed", e.Version, place(e.DID))
	}
	return fmt.Sprintf("entry %s of %s was witnessed here, and no other of that number will be", e.Version, place(e.DID))
}

// WitnessEntry witnesses a line as the next one of a member's DID log, at the request of
// that member's bound node. It signs one versionId for each
// number of a log, ever: the number is pinned before the proof is made. The result is a
// witness proof as JSON. Errors are *fault.Denied: refused with the reasons not_listed,
// frozen, deactivated and invalid, or with the state in which this node signs nothing of
// its own: in recovering its pins may be older than what it has signed, so ask again later,
// and an ended organization witnesses nothing; not_found where the line does not follow
// what is held, conflict where another entry of that number was witnessed.
func (m *Member) WitnessEntry(ctx context.Context, d did.DID, line []byte) ([]byte, error) {
	return m.counted(m.witnessEntry(ctx, d, line, false))
}

// WitnessByHand is WitnessEntry at the request of the own operator, who brought the line in
// a file. That word does for the peer that has to confirm a node after its start, since none
// may be in reach, and for what a node that was put back from a copy cannot know; a node that
// peers have shown to be behind witnesses nothing for it either.
func (m *Member) WitnessByHand(ctx context.Context, d did.DID, line []byte) ([]byte, error) {
	return m.counted(m.witnessEntry(ctx, d, line, true))
}

// counted counts a refusal.
func (m *Member) counted(proof []byte, err error) ([]byte, error) {
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

// witnessEntry witnesses a line.
func (m *Member) witnessEntry(ctx context.Context, d did.DID, line []byte, byHand bool) ([]byte, error) {
	at, err := m.now()
	if err != nil {
		return nil, err
	}
	if err := m.mayWitness(at, byHand); err != nil {
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
	if !byHand {
		if err := m.abstains(ctx, d, h, v.Number); err != nil {
			return nil, err
		}
	}
	slot := pins.Slot{Kind: pins.KindWitness, Key: h.SCID(), N: uint64(v.Number)}
	if err := m.cfg.Pins.Put(ctx, slot, v.ID); err != nil {
		return nil, m.witnessed(ctx, d, err)
	}
	return didwebvh.SignWitness(ctx, signer, v.ID, at)
}

// mayWitness refuses while this node signs nothing of its own, and says for which reason.
func (m *Member) mayWitness(at time.Time, byHand bool) error {
	_, reasons, _ := m.State(at)
	reasons = slices.DeleteFunc(reasons, func(r federation.Reason) bool {
		return federation.Allow([]federation.Reason{r}).OwnLog || byHand && r.State == federation.Recovering && r.Why == string(federation.CauseStart)
	})
	if len(reasons) == 0 {
		return nil
	}
	return m.notNow(reasons[0].State, reasons, "nothing is witnessed")
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
		return fault.New(fault.Refused, "held", "entry %s of %s is held here already: it needs no proof any more", v.ID, place(d))
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
	return nil, fault.New(fault.Refused, "not_listed", "no witness key of this organization governs that entry").
		WithHint("the entry is signed by the witnesses that the one before it names: trustnode did show lists them; did witness status, where it was made, those that are missing")
}

// witnessed sorts what the pins say.
func (m *Member) witnessed(ctx context.Context, d did.DID, err error) error {
	var t *pins.Taken
	var b *pins.Below
	switch {
	case errors.As(err, &t):
		m.n.Log.WarnContext(ctx, "a second entry of one number was to be witnessed", "did", d.String(), "number", t.Slot.N, "witnessed", t.Value)
		return fault.Wrap(fault.Conflict, "witnessed", &Witnessed{DID: d, Version: t.Value})
	case errors.As(err, &b):
		return fault.Wrap(fault.Conflict, "witnessed", &Witnessed{DID: d, Version: b.Value, Later: true})
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
