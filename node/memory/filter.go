package memory

import (
	"slices"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// filter says of a candidate whether it matches: all that an evaluation asks
// beyond the list it was found in.
type filter struct {
	r       store.Reader
	in      Place
	s       lending.Scope
	at      time.Time
	held    bool            // what is derived is held back
	own     bool            // an agent of the place itself asks
	all     bool            // whatever its tags and times: there is no scope
	revoked map[string]bool // subjects looked up so far
}

func newFilter(r store.Reader, in Place, s lending.Scope, at time.Time) (*filter, error) {
	h, err := held(r, in)
	return &filter{r: r, in: in, s: s, at: at, held: h, revoked: map[string]bool{}}, err
}

func (f *filter) passes(id string, c *card) (bool, error) {
	if c.expired(f.at) || !f.all && !c.matches(f.s, f.at) || !f.own && slices.Contains(c.tags, lentTag) {
		return false, nil // what came of a loan is not lent on
	}
	for _, s := range c.subjects {
		gone, known := f.revoked[s]
		if !known {
			var err error
			if gone, err = subjectRevoked(f.r, f.in.tenant, s); err != nil {
				return false, err
			}
			f.revoked[s] = gone
		}
		if gone {
			return false, nil
		}
	}
	if !f.held {
		return true, nil
	}
	e, err := load(f.r, f.in, id)
	return err == nil && e.Depth == 0, err
}

func (c *card) matches(s lending.Scope, at time.Time) bool {
	return !c.expired(at) && s.Matches(c.tags, c.created, time.Unix(c.updated, 0), at)
}

func (c *card) expired(at time.Time) bool { return c.expires != 0 && c.expires <= at.Unix() }

// newCard is what an evaluation asks of e.
func (e Entry) newCard() *card {
	c := &card{rev: e.Rev, created: e.Created, updated: e.Updated.Unix(), id: e.ID, tags: e.Tags, subjects: e.Subjects}
	if !e.ExpiresAt.IsZero() {
		c.expires = e.ExpiresAt.Unix()
	}
	return c
}
