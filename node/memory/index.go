package memory

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"trustnode/node/store"
)

// card is what an evaluation asks of an entry; every posting carries it, so
// that no candidate has to be loaded.
type card struct {
	rev              uint64
	created          time.Time // from the key
	updated          int64     // seconds since 1970
	expires          int64     // 0: never
	id               string    // from the key
	tags             []string
	subjects         []string
	position, stored string // the posting's key after its list; the card as stored
}

var (
	errCard = errors.New("stored posting is malformed")
	errBag  = errors.New("stored word counts are malformed")
)

func (e Entry) card() []byte {
	b := binary.AppendUvarint(nil, e.Rev)
	b = binary.AppendVarint(b, e.Updated.Unix())
	expires := int64(0)
	if !e.ExpiresAt.IsZero() {
		expires = e.ExpiresAt.Unix()
	}
	b = binary.AppendVarint(b, expires)
	for _, list := range [][]string{e.Tags, e.Subjects} {
		b = append(b, byte(len(list)))
		for _, s := range list {
			b = append(append(b, byte(len(s))), s...)
		}
	}
	return b
}

// parse fills c from its position and stored bytes, reusing its slices. The
// texts share memory with stored.
func (c *card) parse() error {
	if len(c.position) <= 8 {
		return errCard
	}
	head := []byte(c.stored[:min(len(c.stored), 3*binary.MaxVarintLen64)])
	c.created = time.Unix(int64(^binary.BigEndian.Uint64([]byte(c.position[:8]))), 0)
	c.id = c.position[8:]
	rev, a := binary.Uvarint(head)
	updated, b := binary.Varint(head[max(a, 0):])
	expires, d := binary.Varint(head[max(a, 0)+max(b, 0):])
	if a <= 0 || b <= 0 || d <= 0 {
		return errCard
	}
	c.rev, c.updated, c.expires = rev, updated, expires
	rest, ok := c.stored[a+b+d:], true
	if c.tags, rest, ok = texts(c.tags[:0], rest); !ok {
		return errCard
	}
	if c.subjects, rest, ok = texts(c.subjects[:0], rest); !ok || rest != "" {
		return errCard
	}
	return nil
}

// clone returns c with lists of its own.
func (c *card) clone() card {
	n := *c
	n.tags, n.subjects = slices.Clone(c.tags), slices.Clone(c.subjects)
	return n
}

func texts(into []string, s string) (list []string, rest string, ok bool) {
	if s == "" {
		return nil, "", false
	}
	n := int(s[0])
	s = s[1:]
	for range n {
		if s == "" || len(s) < 1+int(s[0]) {
			return nil, "", false
		}
		into = append(into, s[1:1+int(s[0])])
		s = s[1+int(s[0]):]
	}
	return into, s, true
}

// lists returns the lists of postings an entry is in. One that is not active
// is in no tag's list, so it cannot match.
func (e Entry) lists() []string {
	if e.State == Active {
		return append([]string{stateList(Active)}, e.Tags...)
	}
	return []string{stateList(e.State)}
}

// save writes an entry's revision and moves the index from old, which is nil
// for a new entry.
func save(tx store.Tx, old *Entry, e Entry) error {
	if err := tx.Set(e.Place.entryKey(e.ID), e.record()); err != nil {
		return err
	}
	if err := tx.Set(e.Place.viewKey(e.ID, e.Rev), e.View()); err != nil {
		return err
	}
	now, before := e.lists(), []string(nil)
	if old != nil {
		before = old.lists()
	}
	if err := errors.Join(saveSide(tx, old, e), changed(tx, e.Place)); err != nil {
		return err
	}
	pos, crd := position(e.Created, e.ID), e.card()
	for _, list := range now {
		if err := tx.Set(append(e.Place.postings(list), pos...), crd); err != nil {
			return err
		}
	}
	for _, list := range before {
		if slices.Contains(now, list) {
			continue
		}
		if err := errors.Join(tx.Delete(append(e.Place.postings(list), pos...)), count(tx, e.Place, list, -1)); err != nil {
			return err
		}
	}
	for _, list := range now {
		if slices.Contains(before, list) {
			continue
		}
		if err := count(tx, e.Place, list, +1); err != nil {
			return err
		}
	}
	return nil
}

// count moves the number of postings of a list.
func count(tx store.Tx, in Place, list string, by int64) error {
	return add(tx, in.countKey(list), by)
}

// add moves a number; one that comes to 0 is not kept.
func add(tx store.Tx, key []byte, by int64) error {
	n, err := getNumber(tx, key)
	if err != nil {
		return err
	}
	if int64(n)+by <= 0 {
		return tx.Delete(key)
	}
	return setNumber(tx, key, uint64(int64(n)+by))
}

// load reads an entry of a place; elsewhere is absent.
func load(g Getter, in Place, id string) (Entry, error) {
	b, err := g.Get(in.entryKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, err
	}
	return parseRecord(b)
}
