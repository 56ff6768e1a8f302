package recorder

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

var (
	keyCurrent = []byte("key/current") // kid
	keyOpened  = []byte("log/opened")  // kid, newline, version of the DID document
	// keyRecovering holds why the log waits for Resume, across restarts.
	keyRecovering = []byte("log/recovering")

	keyLast = []byte("oh")   // last number 8, its time in seconds since 1970 UTC 8
	keyItem = []byte("out/") // and number 8: time 8, kind 1, bytes
)

// The kinds of outbox items, append-only.
const (
	itemEvent byte = iota + 1
	itemRow
	itemErase
)

// item is one outbox item.
type item struct {
	n    uint64
	at   envelope.Time
	kind byte
	body []byte // of an event
	row  audit.Row

	erase erasing
}

func itemKey(n uint64) []byte { return binary.BigEndian.AppendUint64(bytes.Clone(keyItem), n) }

// Event drafts one event of this organization inside a transaction of the
// state database and returns its id, which is final if the transaction
// commits. Org, kid, time and nonce are fixed here, and the attached body is
// kept as an object. Errors: attestation.ErrUnknownType, ErrTooLarge,
// ErrBacklog and ErrNoSpace, what is wrong with the draft, and that of the signer while no key signs for
// the organization.
func (r *Recorder) Event(tx store.Tx, d attestation.Draft) (envelope.ID, error) {
	rule, ok := attestation.RuleOf(d.Type)
	if !ok || rule.Has(attestation.Sequencer) {
		return envelope.ID{}, fmt.Errorf("%w: %.60q", attestation.ErrUnknownType, string(d.Type))
	}
	n, at, err := r.number(tx, rule.Has(attestation.Always))
	if err != nil {
		return envelope.ID{}, err
	}
	kid, err := r.current(tx)
	if err != nil {
		return envelope.ID{}, err
	}
	body, err := r.compose(rule, d, at, kid)
	if err != nil {
		return envelope.ID{}, err
	}
	if d.Body != nil {
		if _, err := PutObject(tx, ObjectBody, d.Body); err != nil {
			return envelope.ID{}, err
		}
	}
	return envelope.IDOf(body), r.enqueue(tx, n, at, itemEvent, body)
}

// Row drafts one audit row inside a transaction of the state database and
// returns its id.
func (r *Recorder) Row(tx store.Tx, row audit.Row) (envelope.ID, error) {
	if err := audit.Check(row); err != nil {
		return envelope.ID{}, err
	}
	n, at, err := r.number(tx, row.Kind == "revoke" || row.Kind == "forget")
	if err != nil {
		return envelope.ID{}, err
	}
	return audit.ID(row), r.enqueue(tx, n, at, itemRow, store.EncodeRow(row))
}

// SetKey makes kid the key of what is drafted from here on. A rotation calls
// it in the transaction that drafts its key.rotated, before that draft.
func (r *Recorder) SetKey(tx store.Tx, kid string) error {
	if !did.IsFragment(kid) {
		return fmt.Errorf("kid %.60q is no fragment", kid)
	}
	return tx.Set(keyCurrent, []byte(kid))
}

// number gives the next outbox number and the time that goes with it.
func (r *Recorder) number(tx store.Tx, always bool) (uint64, envelope.Time, error) {
	last, lastAt, err := lastItem(tx)
	if err != nil {
		return 0, envelope.Time{}, err
	}
	if !always {
		if err := r.admit(last); err != nil {
			return 0, envelope.Time{}, err
		}
	}
	at := envelope.TimeOf(r.cfg.Now())
	if at.Before(lastAt) {
		at = lastAt
	}
	return last + 1, at, nil
}

// SetFull refuses new work for want of space, and says how much there is; "" takes it again.
// What must always be taken is taken: the end of a loan, a rotation, an erasure.
func (r *Recorder) SetFull(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = why
}

// Full returns what SetFull said last.
func (r *Recorder) Full() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// admit refuses new work while the log does not drain, or the disk is nearly full.
func (r *Recorder) admit(last uint64) error {
	mark, _ := r.cfg.Events.Mark(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full != "" {
		return fmt.Errorf("%w: %s", ErrNoSpace, r.full)
	}
	if r.state == Recovering {
		return nil
	}
	if last >= mark && last-mark >= maxBacklog {
		return fmt.Errorf("%w: %d items wait", attestation.ErrBacklog, last-mark)
	}
	if !r.failing.IsZero() && r.cfg.Now().Sub(r.failing) >= failFor {
		return fmt.Errorf("%w since %s", attestation.ErrBacklog, r.failing.UTC().Format(time.RFC3339))
	}
	return nil
}

type getter interface {
	Get(key []byte) ([]byte, error)
}

// lastItem returns the highest outbox number ever given and its time.
func lastItem(g getter) (uint64, envelope.Time, error) {
	b, err := g.Get(keyLast)
	if errors.Is(err, store.ErrNotFound) {
		return 0, envelope.Time{}, nil
	}
	if err != nil || len(b) != 16 {
		return 0, envelope.Time{}, fmt.Errorf("outbox counter of %d bytes: %w", len(b), err)
	}
	return binary.BigEndian.Uint64(b), unix(binary.BigEndian.Uint64(b[8:])), nil
}

func unix(s uint64) envelope.Time { return envelope.TimeOf(time.Unix(int64(s), 0)) }

func setLast(tx store.Tx, n uint64, at envelope.Time) error {
	b := binary.BigEndian.AppendUint64(nil, n)
	return tx.Set(keyLast, binary.BigEndian.AppendUint64(b, uint64(at.Unix())))
}

func (r *Recorder) enqueue(tx store.Tx, n uint64, at envelope.Time, kind byte, body []byte) error {
	if err := tx.Set(itemKey(n), encodeItem(at, kind, body)); err != nil {
		return err
	}
	if err := setLast(tx, n, at); err != nil {
		return err
	}
	for {
		seen := r.drafted.Load()
		if seen >= n || r.drafted.CompareAndSwap(seen, n) {
			break
		}
	}
	r.signal()
	return nil
}

func encodeItem(at envelope.Time, kind byte, body []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
	return append(append(b, kind), body...)
}

func decodeItem(n uint64, b []byte) (item, error) {
	if len(b) < 10 {
		return item{}, fmt.Errorf("%w: outbox item %d", store.ErrCorrupt, n)
	}
	it := item{n: n, at: unix(binary.BigEndian.Uint64(b)), kind: b[8]}
	switch it.kind {
	case itemEvent:
		it.body = bytes.Clone(b[9:])
		return it, nil
	case itemRow:
		var err error
		it.row, err = store.DecodeRow(b[9:])
		return it, err
	case itemErase:
		var err error
		it.erase, err = decodeErasing(b[9:])
		return it, err
	}
	return item{}, fmt.Errorf("%w: outbox item %d of kind %d", store.ErrCorrupt, n, it.kind)
}

// Drafted lists the events of one type that are drafted and not in the log yet.
func (r *Recorder) Drafted(ctx context.Context, t attestation.Type) ([]attestation.Event, error) {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return nil, err
	}
	var out []attestation.Event
	var bad error
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		return s.Scan(keyItem, itemKey(mark), func(k, v []byte) bool {
			var it item
			if it, bad = decodeItem(itemNumber(k), v); bad != nil || it.kind != itemEvent {
				return bad == nil
			}
			var ev attestation.Event
			if ev, bad = envelope.Decode[attestation.Event](envelope.Envelope{Type: attestation.TypeEvent, Body: it.body}); ev.Type == t {
				out = append(out, ev)
			}
			return bad == nil
		})
	})
	return out, errors.Join(err, bad)
}

// Logged lists the events of one type that are in the own log, whatever became of them, those
// included that are not judged yet.
func (r *Recorder) Logged(ctx context.Context, t attestation.Type) ([]attestation.Event, error) {
	q := attestation.Query{Org: r.cfg.Org, Type: t, Any: true, Limit: attestation.MaxPage}
	var out []attestation.Event
	for {
		page, err := r.cfg.Events.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, f := range page.Found {
			_, ev, err := f.Entry.Envelope()
			if err != nil {
				return nil, err
			}
			out = append(out, ev)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return out, nil
		}
	}
}

// compose returns the body of the event that a draft becomes.
func (r *Recorder) compose(rule attestation.Rule, d attestation.Draft, at envelope.Time, kid string) ([]byte, error) {
	var data any = attestation.Empty{}
	if d.Data != nil {
		data = d.Data
	}
	raw, err := envelope.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("%s data: %w", d.Type, err)
	}
	ev := attestation.Event{
		Actor: d.Actor, At: at, Data: raw, Kid: kid, Nonce: nonce(), Org: r.cfg.Org,
		Refs: d.Refs, Subject: d.Subject, Type: d.Type,
	}
	if d.Body != nil {
		if err := checkBody(rule, d.Body); err != nil {
			return nil, err
		}
		ev.Body = envelope.IDOf(d.Body)
	}
	return encodeEvent(ev)
}

// encodeEvent returns the bytes of an own event, checked as a peer will.
func encodeEvent(ev attestation.Event) ([]byte, error) {
	body, err := envelope.Marshal(ev)
	if err != nil {
		return nil, err
	}
	if len(body) > attestation.MaxEvent {
		return nil, fmt.Errorf("%w: event body of %d bytes, limit %d", attestation.ErrTooLarge, len(body), attestation.MaxEvent)
	}
	back, err := envelope.Decode[attestation.Event](envelope.Envelope{Type: attestation.TypeEvent, Body: body})
	if err != nil {
		return nil, err
	}
	return body, attestation.CheckKnown(back)
}

func checkBody(rule attestation.Rule, body []byte) error {
	if len(body) > rule.MaxBody() {
		return fmt.Errorf("%w: %s body of %d bytes, limit %d", attestation.ErrTooLarge, rule.Schema, len(body), rule.MaxBody())
	}
	if len(body) == 0 || body[0] != '{' {
		return fmt.Errorf("%s body is not an object", rule.Schema)
	}
	return envelope.CanonicalMultiline(body, maxBodyDepth)
}

const maxBodyDepth = 8

// nonce returns 16 random bytes in base64url.
func nonce() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
