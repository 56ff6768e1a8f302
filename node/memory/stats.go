package memory

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Stats is what the lint and the preview of a loan ask about a scope.
type Stats struct {
	Matches int            // entries that match now
	Size    int            // active entries of the project
	Classes map[string]int // matches by class
	// Unknown are the tags of the scope, exclusions included, that no active
	// entry has, sorted; Nearest names for each the known tag that looks most
	// like it, or "".
	Unknown, Nearest []string
}

// Stats evaluates a scope in full. Its cost grows with the candidates, so it
// is asked at issue, not at a read.
func (e *Entries) Stats(ctx context.Context, in Place, s lending.Scope, at time.Time) (Stats, error) {
	if err := in.check(); err != nil {
		return Stats{}, err
	}
	if s.IsZero() {
		return Stats{}, invalid("scope", "missing")
	}
	var out Stats
	err := e.db.View(ctx, func(r store.Reader) error {
		out = Stats{Classes: map[string]int{}}
		size, err := getNumber(r, in.countKey(stateList(Active)))
		if err != nil {
			return err
		}
		out.Size = int(size)
		err = candidates(ctx, r, in, s, at, nil, false, func(c *card) (bool, error) {
			out.Matches++
			out.Classes[classOf(c.tags)]++
			return true, nil
		})
		if err != nil {
			return err
		}
		return out.unknown(r, in, s)
	})
	if err != nil {
		return Stats{}, err
	}
	return out, nil
}

func classOf(tags []string) string { return Entry{Tags: tags}.Class() }

func (o *Stats) unknown(r store.Reader, in Place, s lending.Scope) error {
	for _, t := range unique(slices.Concat(s.All(), s.None(), slices.Concat(s.Any()...))) {
		n, err := getNumber(r, in.countKey(t))
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		near, err := nearest(r, in, t)
		if err != nil {
			return err
		}
		o.Unknown, o.Nearest = append(o.Unknown, t), append(o.Nearest, near)
	}
	return nil
}

// Tags calls yield with each tag of the place's active entries and how many
// have it, in order.
func (e *Entries) Tags(ctx context.Context, in Place, yield func(tag string, n int) bool) error {
	if err := in.check(); err != nil {
		return err
	}
	return e.db.View(ctx, func(r store.Reader) error { return tags(r, in, yield) })
}

func tags(r store.Reader, in Place, yield func(string, int) bool) error {
	prefix := in.key("ix", "#")
	return r.Scan(prefix, nil, func(k, v []byte) bool {
		tag := string(k[len(prefix):])
		if strings.HasPrefix(tag, "*") || len(v) != 8 {
			return true
		}
		return yield(tag, int(binary.BigEndian.Uint64(v)))
	})
}

// nearest returns the known tag within the fewest edits, at most a third of
// the length; of equals the first.
func nearest(r store.Reader, in Place, tag string) (string, error) {
	best, least := "", len(tag)/3+1
	err := tags(r, in, func(t string, _ int) bool {
		if d := edits(tag, t, least); d < least {
			best, least = t, d
		}
		return least > 1
	})
	return best, err
}

// edits is the Levenshtein distance of two short texts, or most if it is not
// below that.
func edits(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j+1]+1, row[j]+1)
		}
	}
	return min(row[len(b)], most)
}
