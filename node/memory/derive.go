package memory

import (
	"encoding/binary"
	"slices"
	"strings"

	"trustnode/node/store"
)

// inherit adds to a derived entry what its parents impose: their lowest trust
// and at most derived, the highest class, all subjects and origins. Parents
// are looked up in the entry's own place alone.
func inherit(tx store.Tx, e *Entry) error {
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
		e.Subjects = unique(append(e.Subjects, p.Subjects...))
		e.Tags = withClass(e.Tags, higher(e.Class(), p.Class()))
		e.Origins = unique(append(e.Origins, p.Origins...))
		if slices.Contains(p.Tags, lentTag) {
			e.Tags = unique(append(e.Tags, lentTag))
		}
		if p.State != Active {
			e.State = p.State // what was derived from quarantine is no cleaner
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

// linkParents numbers e among the children of its parents, for raise.
func linkParents(tx store.Tx, e Entry) error {
	for _, id := range e.DerivedFrom {
		head := e.Place.childrenKey(id)
		n, err := getNumber(tx, head)
		if err != nil {
			return err
		}
		if err := tx.Set(binary.BigEndian.AppendUint64(head[:len(head):len(head)], n), []byte(e.ID)); err != nil {
			return err
		}
		if err := setNumber(tx, head, n+1); err != nil {
			return err
		}
	}
	return nil
}

func (p Place) childrenKey(id string) []byte { return p.key("der", id+"#") }

// children returns the ids of what was derived from an entry.
func children(tx store.Tx, in Place, id string) ([]string, error) {
	head := in.childrenKey(id)
	n, err := getNumber(tx, head)
	if err != nil {
		return nil, err
	}
	if n > maxRaised {
		return nil, ErrTooMany
	}
	ids := make([]string, 0, n)
	for i := range n {
		b, err := tx.Get(binary.BigEndian.AppendUint64(head[:len(head):len(head)], i))
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(b))
	}
	return ids, nil
}
