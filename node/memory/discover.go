package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// MaxDiscovered is the most candidates that a discovery walks: it walks all of them, and
// another organization asks for it.
const MaxDiscovered = 10_000

// ErrBroad says that a scope has too many candidates for a discovery.
var ErrBroad error = &coded{"too_large", fmt.Sprintf("more than %d entries are to be looked through", MaxDiscovered)}

// Discovered is what a discovery saw on one snapshot.
type Discovered struct {
	Tags     []string // sorted
	Withheld bool     // some tag was left out because too few entries have it
	Vis      uint64
}

// Discovery is what a discovery leaves out.
type Discovery struct {
	Least  int           // tags on fewer matches are withheld
	Hidden []string      // prefixes of tags that are never told, beside the reserved ones
	Within lending.Scope // of the permission, before it met the filter
}

// Discover lists the tags of the entries that match s, which is a permission's scope met
// with the borrower's filter: no ids, no counts, no times
// (04, section 8). A filter that names a tag which is never told, or is on fewer entries
// of the permission than Least, finds nothing, and so does one with fewer matches: whether
// such a tag is there at all is asked by no detour, and the answer is that of a tag nobody
// used. Of more than lending.MaxTags the rest is withheld.
// Errors: *Invalid, ErrBroad.
func (e *Entries) Discover(ctx context.Context, in Place, s, filter lending.Scope, d Discovery, at time.Time) (Discovered, error) {
	if err := in.check(); err != nil {
		return Discovered{}, err
	}
	if s.IsZero() {
		return Discovered{}, invalid("scope", "missing")
	}
	var out Discovered
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		out = Discovered{Tags: []string{}}
		if out.Vis, err = visible(r, in); err != nil {
			return err
		}
		if ok, err := d.answers(ctx, r, in, filter, at); err != nil || !ok {
			return err
		}
		counts, matches, err := d.count(ctx, r, in, s, at)
		if err != nil || matches < d.Least {
			return err
		}
		for t, n := range counts {
			switch {
			case d.hides(t):
			case n < d.Least:
				out.Withheld = true
			default:
				out.Tags = append(out.Tags, t)
			}
		}
		slices.Sort(out.Tags)
		if len(out.Tags) > lending.MaxTags {
			out.Tags, out.Withheld = out.Tags[:lending.MaxTags], true
		}
		return nil
	})
	if err != nil {
		return Discovered{}, err
	}
	return out, nil
}

// hides says whether a tag is never told.
func (d Discovery) hides(tag string) bool {
	return reserved(tag) || slices.ContainsFunc(d.Hidden, func(p string) bool { return strings.HasPrefix(tag, p) })
}

// answers says whether all tags that a filter names may be told.
func (d Discovery) answers(ctx context.Context, r store.Reader, in Place, filter lending.Scope, at time.Time) (bool, error) {
	named := slices.Concat(filter.All(), filter.None(), slices.Concat(filter.Any()...))
	if slices.ContainsFunc(named, d.hides) {
		return false, nil
	}
	for _, tag := range named {
		if ok, err := d.common(ctx, r, in, tag, at); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// common says whether at least Least entries of the permission have a tag. Where one is
// enough there is nothing to hide.
func (d Discovery) common(ctx context.Context, r store.Reader, in Place, tag string, at time.Time) (bool, error) {
	if d.Least <= 1 {
		return true, nil
	}
	s, err := lending.Parse("tag:" + tag)
	if err == nil {
		s, err = d.Within.And(s)
	}
	if errors.Is(err, lending.ErrDisjoint) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n := 0
	err = candidates(ctx, r, in, s, at, nil, false, func(*card) (bool, error) {
		n++
		return n < d.Least, nil
	})
	return n >= d.Least, err
}

// count counts the matches, and these by tag.
func (d Discovery) count(ctx context.Context, r store.Reader, in Place, s lending.Scope, at time.Time) (map[string]int, int, error) {
	counts, walked := map[string]int{}, 0
	err := candidates(ctx, r, in, s, at, nil, false, func(c *card) (bool, error) {
		if walked++; walked > MaxDiscovered {
			return false, ErrBroad
		}
		for _, t := range c.tags {
			counts[t]++
		}
		return true, nil
	})
	return counts, walked, err
}
