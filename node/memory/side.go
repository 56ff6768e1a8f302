package memory

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"trustnode/node/store"
)

// saveSide writes what is kept of an entry beside record, view and postings:
// its word counts, and where it is listed by subject, end and loan.
func saveSide(tx store.Tx, old *Entry, e Entry) error {
	var had []string
	if old != nil {
		had = old.Subjects
	} else if err := errors.Join(tx.Set(e.Place.bagKey(e.ID), newBag(e.Statement).bytes()), e.list(tx)); err != nil {
		return err
	}
	for _, s := range e.Subjects {
		if slices.Contains(had, s) {
			continue
		}
		if err := tx.Set(subjectIndex(e.Place, s, e.ID), nil); err != nil {
			return err
		}
	}
	for _, s := range had {
		if slices.Contains(e.Subjects, s) {
			continue
		}
		if err := tx.Delete(subjectIndex(e.Place, s, e.ID)); err != nil {
			return err
		}
	}
	return nil
}

// list puts a new entry where the sweep finds it.
func (e Entry) list(tx store.Tx) error {
	for _, k := range e.sweepKeys() {
		if err := tx.Set(k, nil); err != nil {
			return err
		}
	}
	return e.countLoan(tx, +1)
}

// countLoan moves the number of entries that were learnt under e's permission.
func (e Entry) countLoan(tx store.Tx, by int64) error {
	if e.Loan == "" {
		return nil
	}
	return add(tx, loanCountKey(e.Loan), by)
}

// LearntUnder is how many entries were learnt under a permission, in all places.
func (e *Entries) LearntUnder(g Getter, perm string) (uint64, error) {
	return getNumber(g, loanCountKey(perm))
}

// sweepKeys are the keys under which the sweep finds an entry that ends. What
// they say of it never changes.
func (e Entry) sweepKeys() (keys [][]byte) {
	if !e.ExpiresAt.IsZero() {
		keys = append(keys, expiryKey(e.ExpiresAt, e.Place, e.ID))
	}
	if !e.ReviewAfter.IsZero() {
		keys = append(keys, reviewKey(e.ReviewAfter, e.Place, e.ID))
	}
	if e.Loan != "" {
		keys = append(keys, loanKey(e.Loan, e.Place, e.ID))
	}
	return keys
}

const (
	expirySpace = "xp/" // xp/<8 bytes of time><place>\0<id>
	loanSpace   = "sl/" // sl/<permission>/<place>\0<id>
)

func expiryKey(at time.Time, in Place, id string) []byte {
	b := binary.BigEndian.AppendUint64([]byte(expirySpace), uint64(max(0, at.Unix())))
	return append(append(append(b, in.String()...), 0), id...)
}

func loanCountKey(perm string) []byte { return []byte("sl#" + perm) }

func loanKey(perm string, in Place, id string) []byte {
	return []byte(loanSpace + perm + "/" + in.String() + "\x00" + id)
}

// reviewKey is by place: rv/P/<8 bytes of time><id>.
func reviewKey(at time.Time, in Place, id string) []byte {
	return append(binary.BigEndian.AppendUint64(in.key("rv", ""), uint64(max(0, at.Unix()))), id...)
}

func (p Place) bagKey(id string) []byte { return p.key("bag", id) }

// changesKey holds the number of transactions' changes to a place: what was
// evaluated at one number is what it still is. It ends without "/".
func (p Place) changesKey() []byte { return []byte("chg/" + p.String()) }

func changed(tx store.Tx, in Place) error {
	n, err := getNumber(tx, in.changesKey())
	if err != nil {
		return err
	}
	return setNumber(tx, in.changesKey(), n+1)
}

// erase removes all that is stored of an entry.
func erase(tx store.Tx, e Entry) error {
	keys := append(e.sweepKeys(), e.Place.entryKey(e.ID), e.Place.bagKey(e.ID))
	for rev := range e.Rev {
		keys = append(keys, e.Place.viewKey(e.ID, rev+1))
	}
	for _, s := range e.Subjects {
		keys = append(keys, subjectIndex(e.Place, s, e.ID))
	}
	pos := position(e.Created, e.ID)
	for _, list := range e.lists() {
		keys = append(keys, append(e.Place.postings(list), pos...))
		if err := count(tx, e.Place, list, -1); err != nil {
			return err
		}
	}
	n, err := getNumber(tx, e.Place.childrenKey(e.ID))
	if err != nil {
		return err
	}
	for i := range n {
		keys = append(keys, e.Place.childKey(e.ID, i))
	}
	keys = append(keys, e.Place.childrenKey(e.ID))
	for _, k := range keys {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	if err := e.countLoan(tx, -1); err != nil {
		return err
	}
	return changed(tx, e.Place)
}
