package store

import "fmt"

// overlay is the Tx of one Update: its writes stay here until its function has
// succeeded. Owned by the committer.
type overlay struct {
	under  Tx
	writes map[string]write
	bytes  int
	closed bool
}

type write struct {
	val     []byte
	deleted bool
}

var _ Tx = (*overlay)(nil)

func newOverlay(under Tx) *overlay {
	return &overlay{under: under, writes: make(map[string]write)}
}

func (o *overlay) Get(key []byte) ([]byte, error) {
	if o.closed {
		return nil, ErrClosed
	}
	w, ok := o.writes[string(key)]
	switch {
	case !ok:
		return o.under.Get(key)
	case w.deleted:
		return nil, ErrNotFound
	}
	return append([]byte{}, w.val...), nil
}

func (o *overlay) Set(key, val []byte) error {
	if len(val) > MaxValueBytes {
		return fmt.Errorf("value of %d bytes: %w", len(val), ErrTooLarge)
	}
	return o.put(key, write{val: append([]byte{}, val...)})
}

func (o *overlay) Delete(key []byte) error {
	return o.put(key, write{deleted: true})
}

func (o *overlay) put(key []byte, w write) error {
	if o.closed {
		return ErrClosed
	}
	if len(key) == 0 || len(key) > MaxKeyBytes {
		return fmt.Errorf("key of %d bytes: %w", len(key), ErrTooLarge)
	}
	if old, ok := o.writes[string(key)]; ok {
		o.bytes -= size(key, old)
	}
	o.writes[string(key)] = w
	o.bytes += size(key, w)
	if o.bytes > MaxUpdateBytes || len(o.writes) > MaxUpdateKeys {
		return fmt.Errorf("update of %d keys, %d bytes: %w", len(o.writes), o.bytes, ErrTooLarge)
	}
	return nil
}

// flush moves the writes into the batch below.
func (o *overlay) flush() error {
	for k, w := range o.writes {
		var err error
		if w.deleted {
			err = o.under.Delete([]byte(k))
		} else {
			err = o.under.Set([]byte(k), w.val)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func size(key []byte, w write) int { return len(key) + len(w.val) + entryOverhead }
