package memory

import (
	"encoding/binary"
	"errors"
	"time"

	"trustnode/node/store"
)

// key joins "space/tenant/project/" and the rest. Names hold no "/", so no
// place is a prefix of another.
func (p Place) key(space, rest string) []byte {
	b := make([]byte, 0, len(space)+len(p.tenant)+len(p.project)+len(rest)+16)
	b = append(append(b, space...), '/')
	b = append(append(b, p.tenant...), '/')
	b = append(append(b, p.project...), '/')
	return append(b, rest...)
}

func (p Place) entryKey(id string) []byte { return p.key("ent", id) }

func (p Place) viewKey(id string, rev uint64) []byte {
	return binary.BigEndian.AppendUint64(append(p.entryKey(id), 0), rev)
}

// visKey ends without "/": the place has one epoch.
func (p Place) visKey() []byte { return []byte("vis/" + p.String()) }

func (p Place) countKey(list string) []byte { return p.key("ix", "#"+list) }

// postings is the prefix of a list's keys.
func (p Place) postings(list string) []byte { return append(p.key("ix", list), 0) }

// position is what follows postings(list): newest first, then by id.
func position(created time.Time, id string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, ^uint64(created.Unix())), id...)
}

// stateList is the list of all entries in a state; "*" is no byte of a tag.
func stateList(s State) string { return "*" + s.String() }

// Getter is what a transaction and a snapshot share.
type Getter interface {
	Get(key []byte) ([]byte, error)
}

// getNumber reads a number; an absent one is 0.
func getNumber(g Getter, key []byte) (uint64, error) {
	b, err := g.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, errors.New("stored number is malformed")
	}
	return binary.BigEndian.Uint64(b), nil
}

func setNumber(tx store.Tx, key []byte, n uint64) error {
	return tx.Set(key, binary.BigEndian.AppendUint64(nil, n))
}

// Vis returns the visibility epoch of a place: a point read for the
// transaction that decides over a read. It rises in every transaction that can
// take an entry out of a scope.
func (e *Entries) Vis(tx store.Tx, in Place) (uint64, error) {
	if err := in.check(); err != nil {
		return 0, err
	}
	return visible(tx, in)
}

// visible is the epoch of the place and that of its tenant, which rises where a
// subject is revoked. Both only rise, so their sum does not repeat.
func visible(g Getter, in Place) (uint64, error) {
	n, err := getNumber(g, in.visKey())
	if err != nil {
		return 0, err
	}
	t, err := getNumber(g, tenantVisKey(in.tenant))
	return n + t, err
}

func raiseVis(tx store.Tx, in Place) error {
	n, err := getNumber(tx, in.visKey())
	if err != nil {
		return err
	}
	return setNumber(tx, in.visKey(), n+1)
}
