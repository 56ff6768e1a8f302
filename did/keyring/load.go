package keyring

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/pins"
)

// byPin stands for the decision where a crash lost who decided: the pin of it is durable, and its audit row names them.
const byPin = "pin"

// Load verifies all stored records again from their bytes, on all processors.
// What does not verify, or is behind the pins, is a *Below in the joined error;
// the ring is usable for all other DIDs, and an offer heals those. A decision
// that was pinned and not stored any more is carried out. Another error is the
// store's.
func (r *Ring) Load(ctx context.Context) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var behind []error
	var after did.DID
	for {
		page, err := r.store.List(ctx, after, listPage)
		if err != nil {
			return err
		}
		for _, m := range r.restoreAll(page) {
			if err := r.resume(ctx, m); err != nil {
				behind = append(behind, err)
			}
			after = m.did()
		}
		if len(page) < listPage {
			return errors.Join(behind...)
		}
	}
}

// restoreAll verifies records side by side and answers the members in their order.
func (r *Ring) restoreAll(page []Record) []*member {
	out := make([]*member, len(page))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(page)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(page)); i = next.Add(1) - 1 {
				out[i] = r.restore(page[i])
			}
		})
	}
	wg.Wait()
	return out
}

// restore verifies one record. A clock that was set back must not refuse what
// was verified before, so the later of the two times judges.
func (r *Ring) restore(rec Record) *member {
	m, err := &member{}, error(nil)
	switch d := rec.Version.DID; {
	case rec.Version.Number == 0: // only branches, or documents, that contradict the pin
	case d.Method() == webMethod:
		m, err = snapshots(d, rec.Web)
	default:
		at := r.now()
		if rec.Version.VerifiedAt.After(at) {
			at = rec.Version.VerifiedAt
		}
		var h didwebvh.History
		if h, err = didwebvh.Verify(rec.Log, rec.Witness, at); err == nil {
			m = logged(h)
			if h.SCID() != scidOf(d) {
				err = fmt.Errorf("stored log is of %s: %w", h.DID(), ErrOtherDID)
			}
		}
	}
	if err == nil && m.head().id != rec.Version.ID {
		err = fmt.Errorf("stored record ends at %s, not at %s: %w", m.head().id, rec.Version.ID, ErrUnknownVersion)
	}
	if err != nil {
		m = &member{}
	}
	m.record = rec
	m.below = r.behind(rec.Version.DID, m, err)
	return m
}

// resume shows a member that was restored, after the last step of a decision that the pin already names.
func (r *Ring) resume(ctx context.Context, m *member) error {
	r.publish(m)
	if m.below == nil {
		return nil
	}
	n := r.decided(m, m.below.Pinned, byPin)
	if m.below.Cause != nil || n == nil {
		return m.below
	}
	n.record.Version = r.stand(m, n)
	if err := r.put(ctx, m, n); err != nil {
		return errors.Join(m.below, err)
	}
	return nil
}

// decided is m after a decision for a version among what it keeps beside its history, nil if that is not there.
func (r *Ring) decided(m *member, version, by string) *member {
	if m.did().Method() == webMethod {
		return r.decidedWeb(m, version, by)
	}
	return r.decidedLog(m, version, by)
}

// behind answers what the pins know beyond m, nil if nothing.
func (r *Ring) behind(d did.DID, m *member, cause error) *Below {
	slot, value, ok := r.pins.Highest(pins.KindDID, d.String())
	stored := m.record.Version.State != 0
	if !ok && cause == nil && (!stored || m.record.Version.Number > 0) {
		return nil
	}
	if _, has := m.byID(value); ok && has && cause == nil {
		return nil
	}
	return &Below{DID: d, Held: m.head().number, Number: pinned(slot, value), Pinned: value, Cause: cause}
}

// pinned is the number of the version a pin names. It is less than that of the
// slot after a decision for the shorter of two branches, as a slot never falls.
func pinned(s pins.Slot, value string) int {
	text, _, dashed := strings.Cut(value, "-")
	if n, err := strconv.Atoi(text); dashed && err == nil {
		return n
	}
	return int(s.N)
}
