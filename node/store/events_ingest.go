package store

import (
	"encoding/binary"
	"fmt"

	"trustnode/attestation"
)

// Events are numbered over all logs as they come, from 0 on and without a hole. One row
// names the events of one append, so a log is always in order within it. An event that comes
// to count only after it was judged otherwise is numbered once more, for those that follow,
// and stands under its last number.

// arrival is one row of the order in which events came.
type arrival struct {
	first uint64 // number of the first
	num   uint32 // of the log
	base  uint64 // index of the first
	count uint64
}

func arrivalKey(n uint64) []byte { return append([]byte(keyIngest), u64(n)...) }

func (a arrival) encode() []byte {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, a.num), a.base)
	return binary.BigEndian.AppendUint16(b, uint16(a.count))
}

func decodeArrival(k, v []byte) (arrival, error) {
	if len(k) != len(keyIngest)+8 || len(v) != 14 {
		return arrival{}, fmt.Errorf("%w: arrival %x", ErrCorrupt, k)
	}
	a := arrival{binary.BigEndian.Uint64(k[len(keyIngest):]), binary.BigEndian.Uint32(v), binary.BigEndian.Uint64(v[4:]), uint64(binary.BigEndian.Uint16(v[12:]))}
	if a.count == 0 || a.count > attestation.MaxBatch {
		return arrival{}, fmt.Errorf("%w: arrival %x of %d events", ErrCorrupt, k, a.count)
	}
	return a, nil
}

// arrived gives the events of one append their numbers.
func arrived(tx Tx, num uint32, base, count uint64) error {
	if count == 0 {
		return nil
	}
	n, err := ingested(tx)
	if err != nil {
		return err
	}
	a := arrival{n, num, base, count}
	if err := tx.Set(arrivalKey(n), a.encode()); err != nil {
		return err
	}
	return tx.Set([]byte(keyIngested), u64(n+count))
}

// countsNow numbers an event once more.
func countsNow(tx Tx, num uint32, index uint64) error {
	n, err := ingested(tx)
	if err != nil {
		return err
	}
	if err := tx.Set(indexKey(keyLate, num, index), u64(n)); err != nil {
		return err
	}
	return arrived(tx, num, index, 1)
}

// standsAt reports whether an event stands under a number, and not under a later one.
func (s *logState) standsAt(r Reader, i, number uint64) (bool, error) {
	b, err := getOr(r, indexKey(keyLate, s.num, i), nil)
	if err != nil || b == nil {
		return err == nil, err
	}
	return be64(b) == number, nil
}

// ingested returns how many events have a number.
func ingested(g getter) (uint64, error) {
	b, err := getOr(g, []byte(keyIngested), make([]byte, 8))
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: number of events of %d bytes", ErrCorrupt, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// arrivals yields the rows that name events from number n on, in order; the first may begin
// below it.
func arrivals(r Reader, n uint64, yield func(arrival) (bool, error)) error {
	var after []byte
	if n >= attestation.MaxBatch {
		after = arrivalKey(n - attestation.MaxBatch)
	}
	var bad error
	err := r.Scan([]byte(keyIngest), after, func(k, v []byte) bool {
		var a arrival
		if a, bad = decodeArrival(k, v); bad != nil {
			return false
		}
		if a.first+a.count <= n {
			return true
		}
		var more bool
		more, bad = yield(a)
		return more && bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}
