package memory

import (
	"context"
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
	Least  int      // tags on fewer matches are withheld
	Hidden []string // prefixes of tags that are never told, beside the reserved ones
}

// Discover lists the tags of the entries that match s, which is a permission's scope met
// with the borrower's filter: no ids, no counts, no times
// (04, section 8). A scope that itself names a tag which is never told finds nothing, so
// that no filter asks for it by a detour. Of more than lending.MaxTags the rest is withheld.
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
		if out.Vis, err = getNumber(r, in.visKey()); err != nil {
			return err
		}
		if slices.ContainsFunc(slices.Concat(filter.All(), filter.None(), slices.Concat(filter.Any()...)), d.hides) {
			return nil
		}
		counts, err := d.count(ctx, r, in, s, at)
		if err != nil {
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

// count counts the matches by tag.
func (d Discovery) count(ctx context.Context, r store.Reader, in Place, s lending.Scope, at time.Time) (map[string]int, error) {
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
	return counts, err
}
