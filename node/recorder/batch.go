package recorder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

func itemNumber(k []byte) uint64 { return binary.BigEndian.Uint64(k[len(keyItem):]) }

// plan is one batch of the own log before its transaction.
type plan struct {
	r       *Recorder
	batch   attestation.Batch
	waiting []tlog.Hash // leaves not yet covered, as they will be
	rows    uint64      // rows numbered before
	covered uint64      // rows covered, as they will be
	lastKid string
	lastAt  envelope.Time
	bytes   int
	purge   bool   // drained items may hold what this batch erases
	asked   uint64 // requests for an audit.rows that this batch serves
	ids     map[envelope.ID]bool
}

func newPlan(r *Recorder, size uint64) *plan {
	rows, covered := r.cfg.Events.RowCounts()
	return &plan{
		r: r, batch: attestation.Batch{Org: r.cfg.Org, From: size},
		waiting: slices.Clone(r.seq.waiting), rows: rows, covered: covered,
		lastKid: r.seq.lastKid, lastAt: r.seq.lastAt, ids: map[envelope.ID]bool{},
	}
}

// append takes items into the log, as many as one batch holds. asked counts
// the requests for an audit.rows that were made before the items were read.
func (r *Recorder) append(ctx context.Context, items []item, asked uint64) error {
	if err := r.step("read"); err != nil {
		return err
	}
	if r.seq.lost {
		if err := r.missRows(ctx); err != nil {
			return err
		}
	}
	p := newPlan(r, r.ownSize(ctx))
	took := 0
	for _, it := range items {
		if p.full(it) {
			break
		}
		if err := p.take(ctx, it); err != nil {
			return err
		}
		took++
	}
	if took == len(items) || p.fullCover() {
		if err := p.coverIfDue(ctx, asked); err != nil {
			return err
		}
	}
	if err := r.step("signed"); err != nil {
		return err
	}
	return r.commit(ctx, p)
}

// full reports whether it no longer fits; one place is kept for an audit.rows.
func (p *plan) full(it item) bool {
	size := len(it.body) + len(it.row.Body) + 2*attestation.MaxEvent
	return len(p.batch.Entries) >= attestation.MaxBatch-2 || len(p.batch.Rows) >= attestation.MaxRows ||
		p.bytes+size > attestation.MaxBatchBytes && p.bytes > 0
}

func (p *plan) take(ctx context.Context, it item) error {
	p.batch.Mark = it.n
	p.bytes += len(it.body) + len(it.row.Body)
	if it.kind == itemRow {
		if _, err := p.r.cfg.Events.RowNumber(ctx, audit.ID(it.row)); !errors.Is(err, attestation.ErrNotFound) {
			return err // held, or not to be known
		}
		p.batch.Rows = append(p.batch.Rows, it.row)
		if !p.r.seq.lost {
			p.waiting = append(p.waiting, audit.Leaf(it.row.Body))
		}
		p.lastAt = it.at
		return nil
	}
	if it.kind == itemErase {
		return p.erase(ctx, it)
	}
	ev, err := envelope.Decode[attestation.Event](envelope.Envelope{Type: attestation.TypeEvent, Body: it.body})
	if err != nil {
		return fmt.Errorf("outbox item %d: %w", it.n, err)
	}
	held, err := p.held(ctx, envelope.IDOf(it.body))
	if err != nil || held {
		return err
	}
	if rule, ok := attestation.RuleOf(ev.Type); ok && rule.Has(attestation.Barrier) {
		if err := p.cover(ctx, it.at); err != nil {
			return err
		}
	}
	p.lastAt = it.at
	return p.sign(ctx, it.body, ev.Kid)
}

// held reports whether an event is in the log already: then it is not
// appended again.
func (p *plan) held(ctx context.Context, id envelope.ID) (bool, error) {
	if p.ids[id] {
		return true, nil
	}
	l, err := p.r.cfg.Events.Log(ctx, p.r.cfg.Org)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = l.Find(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// sign adds one event.
func (p *plan) sign(ctx context.Context, body []byte, kid string) error {
	s, err := p.r.signer(ctx, kid)
	if err != nil {
		return err
	}
	env := envelope.Envelope{Type: attestation.TypeEvent, Body: body}
	sig, err := s.Sign(ctx, env.Preimage())
	if err != nil {
		return err
	}
	entry, err := attestation.EntryOf(env.With(envelope.Signature{KeyID: kid, Sig: sig}))
	if err != nil {
		return err
	}
	p.batch.Entries = append(p.batch.Entries, entry)
	p.ids[entry.ID()] = true
	p.lastKid = kid
	return nil
}

// cover puts an audit.rows over all waiting rows, if any wait.
func (p *plan) cover(ctx context.Context, at envelope.Time) error {
	if len(p.waiting) == 0 {
		return nil
	}
	rows := audit.Rows{First: p.covered + 1, Salt: nonce(), Size: uint64(len(p.waiting))}
	body, err := envelope.Marshal(rows)
	if err != nil {
		return err
	}
	data := attestation.AuditRows{Root: attlog.RootOf(p.waiting)}
	made, err := p.r.made(at, p.lastKid, "audit.rows", data, envelope.IDOf(body))
	if err != nil {
		return err
	}
	index := p.batch.From + uint64(len(p.batch.Entries))
	if err := p.sign(ctx, made, p.lastKid); err != nil {
		return err
	}
	p.batch.Bodies = append(p.batch.Bodies, body)
	p.batch.Covers = append(p.batch.Covers, attestation.Cover{Index: index, First: rows.First, Size: rows.Size})
	p.covered, p.waiting = p.covered+rows.Size, nil
	return nil
}

// fullCover reports whether the rows of one more batch might be more than an audit.rows covers.
func (p *plan) fullCover() bool { return uint64(len(p.waiting)+attestation.MaxRows) > p.r.maxCover }

// coverIfDue puts an audit.rows at the end when it was asked for or waited for
// long enough.
func (p *plan) coverIfDue(ctx context.Context, asked uint64) error {
	s := &p.r.seq
	now := p.r.cfg.Now()
	due := len(s.waiting) > 0 && now.Sub(s.since) >= coverAfter || p.fullCover()
	if p.r.unserved(asked) && (len(p.waiting) == 0 || now.Sub(s.lastAsk) >= askEvery) {
		due = true
		p.asked = asked
	}
	if !due {
		return nil
	}
	return p.cover(ctx, p.lastAt)
}

// commit makes a batch durable, and what follows from it known.
func (r *Recorder) commit(ctx context.Context, p *plan) error {
	made, err := p.verify(ctx)
	if err != nil {
		return err
	}
	defer r.logs.of(r.cfg.Org)()
	// Whoever found that the log must wait did so holding logs: nothing is
	// appended after that.
	if err := r.closed(); err != nil {
		return err
	}
	if len(p.batch.Entries) > 0 || len(p.batch.Rows) > 0 || p.batch.Mark > 0 {
		end := r.time(StageAppend)
		if err := r.cfg.Events.AppendJudged(ctx, p.batch, eventsOf(made.claims), store.Settled{}); err != nil {
			return err
		}
		end()
		r.counts.logged.Add(uint64(len(p.batch.Entries)))
	}
	s := &r.seq
	if had := len(s.waiting) > 0 && len(p.batch.Covers) == 0; !had && len(p.waiting) > 0 {
		s.since = r.cfg.Now()
	}
	s.waiting, s.lastKid, s.lastAt = p.waiting, p.lastKid, p.lastAt
	if len(p.batch.Rows) > 0 {
		s.firstRow = time.Time{}
	}
	s.made = made
	s.purge = s.purge || p.purge
	if p.asked > 0 {
		r.serve(p.asked)
	}
	if err := r.step("appended"); err != nil {
		return err
	}
	r.progress()
	return nil
}

// serve answers the requests for an audit.rows up to one.
func (r *Recorder) serve(asked uint64) {
	r.seq.lastAsk = r.cfg.Now()
	r.mu.Lock()
	r.served = max(r.served, asked)
	r.mu.Unlock()
}

// signer returns the signer of a kid.
func (r *Recorder) signer(ctx context.Context, kid string) (envelope.Signer, error) {
	if s := r.seq.signers[kid]; s != nil {
		return s, nil
	}
	s, now, err := r.cfg.Signer(ctx)
	if err != nil {
		return nil, err
	}
	if now != kid {
		if r.cfg.SignerOf == nil {
			return nil, fmt.Errorf("no signer for key %.80s", kid)
		}
		if s, err = r.cfg.SignerOf(ctx, kid); err != nil {
			return nil, err
		}
	}
	r.seq.signers[kid] = s
	return s, nil
}

// opening returns the kid and version the log begins with.
func (r *Recorder) opening(ctx context.Context) (kid, version string, err error) {
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		b, err := s.Get(keyOpened)
		kid, version, _ = strings.Cut(string(b), "\n")
		return err
	})
	return kid, version, err
}

// signHead pins and signs the head of the own log, if its newest note is of a
// smaller size, and makes its new events authored.
func (r *Recorder) signHead(ctx context.Context) error {
	release := r.logs.of(r.cfg.Org)
	news, err := r.signHeadLocked(ctx)
	release()
	if err != nil || news == nil {
		return err
	}
	r.progress()
	r.cfg.OnHead(*news)
	return r.step("told")
}

func (r *Recorder) signHeadLocked(ctx context.Context) (*HeadNews, error) {
	size := r.ownSize(ctx)
	newest, _, _ := r.cfg.Events.Newest(r.cfg.Org)
	signed := uint64(0)
	if n, err := attlog.ParseNote(newest); err == nil {
		signed = n.Head.Size
	}
	if size == 0 || signed == size {
		return nil, nil
	}
	if s, _ := r.State(); s != Open {
		return nil, nil
	}
	head, err := r.readBack(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.pin(ctx, head); err != nil {
		return nil, err
	}
	note, err := r.note(ctx, head)
	if err != nil {
		return nil, err
	}
	end := r.time(StageStore)
	if err := r.judgeHeld(ctx, r.cfg.Org, note, r.seq.made); err != nil {
		if errors.Is(err, store.ErrCorrupt) {
			r.enter(Corrupt, misfit(err))
		}
		return nil, err
	}
	end()
	prompt, err := r.isPrompt(ctx, signed, size)
	if err != nil {
		return nil, err
	}
	return &HeadNews{Org: r.cfg.Org, Size: size, Note: note, Prompt: prompt}, r.step("stored")
}

// readBack reads what was appended back and computes its root two ways.
func (r *Recorder) readBack(ctx context.Context) (attestation.Head, error) {
	end := r.time(StageReadBack)
	head, err := r.cfg.Events.ReadBack(ctx, r.cfg.Org)
	end()
	if errors.Is(err, store.ErrCorrupt) {
		r.enter(Corrupt, misfit(err))
	}
	if err != nil {
		return attestation.Head{}, err
	}
	return head, r.step("readback")
}

// pin makes the head the one of its size, before anything of it leaves.
func (r *Recorder) pin(ctx context.Context, h attestation.Head) error {
	end := r.time(StagePin)
	err := r.cfg.Pins.Put(ctx, pins.Slot{Kind: pins.KindLog, Key: r.cfg.Org.String(), N: h.Size}, h.Root.String())
	end()
	var taken *pins.Taken
	var below *pins.Below
	switch {
	case errors.As(err, &taken):
		r.enter(Corrupt, fmt.Sprintf("the log's root at %d is not the pinned one", h.Size))
	case errors.As(err, &below):
		r.enter(Recovering, fmt.Sprintf("the log has %d events, pins name %d", h.Size, below.Slot.N))
	}
	if err != nil {
		return err
	}
	return r.step("pinned")
}

// note signs a head under the key of its last index.
func (r *Recorder) note(ctx context.Context, h attestation.Head) ([]byte, error) {
	s, err := r.signer(ctx, r.seq.lastKid)
	if err != nil {
		return nil, err
	}
	n, err := attlog.Sign(ctx, s, r.cfg.Org, h)
	if err != nil {
		return nil, err
	}
	return n.Bytes(), r.step("headsigned")
}

// isPrompt reports whether one of the own entries [from, to) is to be spread at once.
func (r *Recorder) isPrompt(ctx context.Context, from, to uint64) (bool, error) {
	l, err := r.cfg.Events.Log(ctx, r.cfg.Org)
	if err != nil {
		return false, err
	}
	prompt := false
	err = l.Entries(ctx, from, to, func(i uint64, en attestation.Entry) error {
		c, ok := r.seq.made.at(i, en)
		if !prompt && !ok {
			c.read(en)
		}
		prompt = prompt || attestation.IsPrompt(c.event.Type)
		return nil
	})
	return prompt, err
}

// rootAt returns the head a log had at a size that is held.
func (r *Recorder) rootAt(ctx context.Context, d did.DID, size uint64) (attestation.Head, error) {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return attestation.Head{}, err
	}
	return attlog.RootAt(size, l)
}
