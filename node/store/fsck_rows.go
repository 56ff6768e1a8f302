package store

import (
	"math"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
)

// rows checks the audit rows against their ids and keys, and the covers against the rows
// and the audit.rows events they name.
func (c *inspector) rows() error {
	counts, err := getOr(c.r, []byte(keyRowCount), make([]byte, 16))
	if err != nil {
		return err
	}
	if len(counts) != 16 {
		c.audit("the count of rows has %d bytes", len(counts))
		return nil
	}
	rows, covered := be64(counts[:8]), be64(counts[8:])
	if b, err := getOr(c.r, []byte(keyMark), make([]byte, 8)); err != nil {
		return err
	} else if len(b) != 8 {
		c.audit("the mark has %d bytes", len(b))
	}
	if err := c.lostRows(); err != nil {
		return err
	}
	var sum print // rows say, less what their indexes say
	if err := c.eachRow(rows, &sum); err != nil {
		return err
	}
	if err := c.rowIndexes(rows, &sum); err != nil {
		return err
	}
	if sum != (print{}) {
		if err := c.rowsOneByOne(rows); err != nil {
			return err
		}
	}
	return c.covers(covered, rows)
}

// eachRow reads the rows in order.
func (c *inspector) eachRow(rows uint64, sum *print) error {
	next := uint64(1)
	err := c.scan([]byte(keyRow), func(k, v []byte) error {
		n := be64(k[len(keyRow):])
		if len(k) != len(keyRow)+8 || n == 0 || n > rows {
			c.audit("row/%d lies outside of the %d that were numbered", n, rows)
			return nil
		}
		c.missingRows(next, n)
		next = n + 1
		c.n.Rows++
		r, err := decodeKept(v)
		if err != nil {
			c.audit("row/%d does not read", n)
			return nil
		}
		if n <= c.aged && !r.gone {
			c.audit("row/%d is there, and all up to row/%d are past their age", n, c.aged)
		}
		sum.add(append(rowIDKey(r.id), u64(n)...))
		for _, key := range distinct(r.row.Keys) {
			sum.add(append(rowKeyPrefix(key), u64(n)...))
		}
		return nil
	})
	if err == nil {
		c.missingRows(next, rows+1)
	}
	return err
}

// lostRows reads which rows a log.gap says to be lost, and up to which all are past their age.
func (c *inspector) lostRows() error {
	b, err := getOr(c.r, []byte(keyAged), make([]byte, 8))
	if err != nil {
		return err
	}
	if c.aged = be64(b); len(b) != 8 {
		c.audit("the number up to which rows are past their age has %d bytes", len(b))
	}
	return c.scan([]byte(keyCover), func(_, v []byte) error {
		if o, lost, err := decodeCover(v); err == nil && lost {
			c.lost = append(c.lost, o)
		}
		return nil
	})
}

// missingRows names the rows of [from, to) that are not there and not said to be lost.
func (c *inspector) missingRows(from, to uint64) {
	for from < to {
		at := slices.IndexFunc(c.lost, func(o attestation.Cover) bool { return from >= o.First && from < o.First+o.Size })
		if at >= 0 {
			from = c.lost[at].First + c.lost[at].Size
			continue
		}
		if c.faults > MaxFaults {
			return
		}
		c.audit("row/%d is missing", from)
		from++
	}
}

// distinct returns the keys of a row once each: they are few.
func distinct(keys []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, k := range keys {
		if !seen[k] {
			out = append(out, k)
		}
		seen[k] = true
	}
	return out
}

func (c *inspector) rowIndexes(rows uint64, sum *print) error {
	less := print{}
	for _, prefix := range []string{keyRowID, keyRowKey} {
		err := c.scan([]byte(prefix), func(k, v []byte) error {
			if prefix == keyRowID {
				less.add(append(append(make([]byte, 0, 64), k...), v...))
			} else {
				less.add(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	sum[0], sum[1] = sum[0]-less[0], sum[1]-less[1]
	return nil
}

// rowsOneByOne names the rows whose index rows are missing, and index rows of none.
func (c *inspector) rowsOneByOne(rows uint64) error {
	err := c.scan([]byte(keyRow), func(k, v []byte) error {
		n := be64(k[len(keyRow):])
		r, err := decodeKept(v)
		if err != nil {
			return nil
		}
		id, err := getOr(c.r, rowIDKey(r.id), nil)
		if err != nil {
			return err
		}
		if be64(id) != n {
			c.audit("row/%d is not under its id", n)
		}
		for _, key := range distinct(r.row.Keys) {
			has, err := getOr(c.r, append(rowKeyPrefix(key), u64(n)...), nil)
			if err != nil {
				return err
			}
			if has == nil {
				c.audit("row/%d is not under one of its keys", n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.scan([]byte(keyRowID), func(k, v []byte) error {
		r, err := readRow(c.r, be64(v))
		if err != nil || string(rowIDKey(r.id)) != string(k) {
			c.audit("the row id %x names row/%d, which does not have it", k[len(keyRowID):], be64(v))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.scan([]byte(keyRowKey), func(k, _ []byte) error {
		n := be64(k[len(k)-8:])
		r, err := readRow(c.r, n)
		has := false
		for _, key := range r.row.Keys {
			has = has || string(append(rowKeyPrefix(key), u64(n)...)) == string(k)
		}
		if err != nil || !has {
			c.audit("the row key %x names row/%d, which does not have it", k[len(keyRowKey):len(k)-8], n)
		}
		return nil
	})
}

// covers checks that the covers follow each other without a hole up to the rows that are
// counted as covered, and that each names an audit.rows with the root of its rows.
func (c *inspector) covers(covered, rows uint64) error {
	if covered > rows {
		c.audit("%d rows are counted as covered, of %d", covered, rows)
	}
	above := covered // the newest comes first
	err := c.scan([]byte(keyCover), func(k, v []byte) error {
		o, lost, err := decodeCover(v)
		if err != nil || len(k) != len(keyCover)+8 {
			c.audit("the cover %x does not read", k)
			return nil
		}
		if o.First != math.MaxUint64-be64(k[len(keyCover):]) || o.First == 0 || o.First+o.Size-1 != above {
			c.audit("the cover of row/%d to row/%d does not reach row/%d", o.First, o.First+o.Size-1, above)
		}
		above = o.First - 1
		if lost {
			return c.gap(o)
		}
		return c.cover(o)
	})
	if err == nil && above > 0 {
		c.audit("row/1 to row/%d are counted as covered, and nothing covers them", above)
	}
	return err
}

// cover compares the rows of one cover with the root in the log.
func (c *inspector) cover(o attestation.Cover) error {
	leaves := make([]tlog.Hash, 0, min(o.Size, attestation.MaxRows))
	err := c.r.Scan([]byte(keyRow), append([]byte(keyRow), u64(o.First-1)...), func(k, v []byte) bool {
		r, err := decodeKept(v)
		if err != nil || be64(k[len(keyRow):]) != o.First+uint64(len(leaves)) {
			return false
		}
		leaves = append(leaves, r.leaf)
		return uint64(len(leaves)) < o.Size
	})
	if err != nil {
		return err
	}
	l, ev, err := c.auditRows(o.Index, attlog.RootOf(leaves).String())
	if err != nil {
		return err
	}
	switch {
	case uint64(len(leaves)) < o.Size:
		c.audit("row/%d is missing under the cover of row/%d", o.First+uint64(len(leaves)), o.First)
	case l == nil:
		c.audit("row/%d to row/%d do not give the root of the audit.rows at index %d", o.First, o.First+o.Size-1, o.Index)
	default:
		return c.coverBody(l, o, ev)
	}
	return nil
}

// gap checks that the log says that rows are lost.
func (c *inspector) gap(o attestation.Cover) error {
	want := attestation.LogGap{Cause: attestation.GapRows, From: o.First, To: o.First + o.Size - 1}
	for _, l := range c.inOrder() {
		en, err := c.entry(l, o.Index)
		if err != nil {
			return err
		}
		if en == nil {
			continue
		}
		var d attestation.LogGap
		if _, ev, err := en.Envelope(); err == nil && ev.Type == "log.gap" && ev.Decode(&d) == nil && d == want {
			return nil
		}
	}
	c.audit("row/%d to row/%d are kept as lost, and no log.gap at index %d says so", want.From, want.To, o.Index)
	return nil
}

// auditRows returns the log that has an audit.rows with a root at an index: rows are the
// node's own, and which log that is the database does not say.
func (c *inspector) auditRows(at uint64, root string) (*inspectedLog, attestation.Event, error) {
	for _, l := range c.inOrder() {
		en, err := c.entry(l, at)
		if err != nil {
			return nil, attestation.Event{}, err
		}
		if en == nil {
			continue
		}
		var d attestation.AuditRows
		if _, ev, err := en.Envelope(); err == nil && ev.Type == "audit.rows" && ev.Decode(&d) == nil && d.Root.String() == root {
			return l, ev, nil
		}
	}
	return nil, attestation.Event{}, nil
}

// coverBody compares a cover with the private body of its event.
func (c *inspector) coverBody(l *inspectedLog, o attestation.Cover, ev attestation.Event) error {
	b, err := getOr(c.r, bodyKey(ev.Body), nil)
	if err != nil {
		return err
	}
	if b == nil {
		c.found(l.name, int64(o.Index), "the body of this audit.rows is missing")
		return nil
	}
	if rows, err := audit.ParseRows(b); err != nil || rows.First != o.First || rows.Size != o.Size {
		c.found(l.name, int64(o.Index), "its body covers row/%d to row/%d, the index row/%d to row/%d", rows.First, rows.First+rows.Size-1, o.First, o.First+o.Size-1)
	}
	return nil
}
