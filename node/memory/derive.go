package memory

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"trustnode/node/store"
)

// inherit adds to a derived entry what its parents impose: their lowest trust
// and at most derived, the highest class, sticky tags, all subjects and
// origins, and the loan of one that was lent. Parents are looked up in the
// entry's own place alone.
func (x *Entries) inherit(tx store.Tx, e *Entry) error {
	if len(e.DerivedFrom) > 0 && e.Trust < TrustDerived {
		e.Origins = nil // a summary by an agent has the origins of what it sums up
	}
	for _, id := range e.DerivedFrom {
		p, err := load(tx, e.Place, id)
		if err != nil {
			return err
		}
		e.Depth = max(e.Depth, p.Depth+1)
		e.Trust = max(e.Trust, p.Trust, TrustDerived)
		e.Origins = unique(append(e.Origins, p.Origins...))
		x.imposed(p).on(e)
		p.lend(e)
		if p.State == Quarantined {
			e.State = Quarantined // what was derived from quarantine is no cleaner
		}
	}
	return nil
}

// lend gives what is derived from a lent entry the loan and an end no later than
// the parent's. Of several loans it has the one that ends first.
func (e Entry) lend(child *Entry) {
	if e.Loan == "" {
		return
	}
	sooner := !e.ExpiresAt.IsZero() && (child.ExpiresAt.IsZero() || e.ExpiresAt.Before(child.ExpiresAt))
	if child.Loan == "" || sooner {
		child.Source.Type, child.Source.ID, child.Loan = SourceLoan, e.Source.ID, e.Loan
	}
	if sooner {
		child.ExpiresAt = e.ExpiresAt
	}
}

// imposed is what an entry imposes on all that is derived from it, and on what
// corrects it.
type imposed struct {
	class          string
	tags, subjects []string
}

func (x *Entries) imposed(p Entry) imposed {
	sticky := slices.DeleteFunc(slices.Clone(p.Tags), func(t string) bool { return t != lentTag && !slices.Contains(x.sticky, t) })
	return imposed{p.Class(), sticky, p.Subjects}
}

// on gives e what is imposed on it and reports whether that changed it.
func (i imposed) on(e *Entry) bool {
	tags := withClass(append(slices.Clone(e.Tags), i.tags...), higher(e.Class(), i.class))
	subjects := unique(append(slices.Clone(e.Subjects), i.subjects...))
	same := slices.Equal(tags, e.Tags) && slices.Equal(subjects, e.Subjects)
	e.Tags, e.Subjects = tags, subjects
	return !same
}

// within reports whether i asks no more than j does.
func (i imposed) within(j imposed) bool {
	in := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
	}
	return higher(j.class, i.class) == j.class && in(i.tags, j.tags) && in(i.subjects, j.subjects)
}

// keeps refuses a change that would take from e what its parents impose, or
// release it without.
func (x *Entries) keeps(tx store.Tx, e Entry) error {
	for _, id := range e.DerivedFrom {
		p, err := load(tx, e.Place, id)
		if errors.Is(err, ErrNotFound) {
			continue // forgotten, and imposes nothing more
		}
		if err != nil {
			return err
		}
		if was := e; x.imposed(p).on(&was) {
			return invalid("tags", "class, sticky tags and subjects of %s stay with what is derived from it, and %s lacks one", id, e.ID)
		}
	}
	return nil
}

// higher returns the higher of two classes.
func higher(a, b string) string {
	if slices.Index(classes, b) > slices.Index(classes, a) {
		return b
	}
	return a
}

// withClass returns the tags with the class replaced.
func withClass(tags []string, class string) []string {
	out := slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, classPrefix) })
	return unique(append(out, classPrefix+class))
}

func (p Place) childrenKey(id string) []byte { return p.key("der", id+"#") }

func (p Place) childKey(id string, n uint64) []byte {
	return binary.BigEndian.AppendUint64(p.childrenKey(id), n)
}

// linkParents numbers e among the children of its parents, for what is imposed
// later.
func linkParents(tx store.Tx, e Entry) error {
	for _, id := range e.DerivedFrom {
		head := e.Place.childrenKey(id)
		n, err := getNumber(tx, head)
		if err != nil {
			return err
		}
		if err := errors.Join(tx.Set(e.Place.childKey(id, n), []byte(e.ID)), setNumber(tx, head, n+1)); err != nil {
			return err
		}
	}
	return nil
}

// children calls yield with what was derived from an entry, from number from
// on, until it returns false; what was forgotten since is left out. It returns
// the number to go on with, and whether that is the end.
func children(tx store.Tx, in Place, id string, from uint64, yield func(Entry) (bool, error)) (next uint64, end bool, err error) {
	n, err := getNumber(tx, in.childrenKey(id))
	if err != nil {
		return 0, false, err
	}
	for i := from; i < n; i++ {
		b, err := tx.Get(in.childKey(id, i))
		if err != nil {
			return 0, false, err
		}
		c, err := load(tx, in, string(b))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		if more, err := yield(c); err != nil || !more {
			return i, false, err
		}
	}
	return n, true, nil
}
