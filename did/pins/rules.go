package pins

import "fmt"

type verdict uint8

const (
	verdictNew  verdict = iota + 1 // write it
	verdictSame                    // it is there already
)

// judge decides whether p may follow cur, the newest pin of the same kind and key (ok false: there is none).
func judge(cur pin, ok bool, p pin, move bool) (verdict, error) {
	switch {
	case !ok || p.slot.N > cur.slot.N:
		return verdictNew, nil
	case p.slot.N < cur.slot.N:
		return 0, &Below{Slot: cur.slot, Value: cur.value, N: p.slot.N}
	case p.value == cur.value:
		return verdictSame, nil
	case move:
		return verdictNew, nil
	}
	return 0, &Taken{Slot: cur.slot, Value: cur.value}
}

func checkMove(k Kind, decidedBy string) error {
	if !k.movable() {
		return fmt.Errorf("%w: a pin of kind %s never moves", ErrForm, k)
	}
	if decidedBy == "" {
		return fmt.Errorf("%w: a move without a decision", ErrForm)
	}
	return nil
}

// fold applies the lines of a file in their order and reports the first that could not have been written.
func fold(lines []pin) (map[place]pin, error) {
	heads := make(map[place]pin)
	for i, p := range lines {
		cur, ok := heads[p.place()]
		if _, err := judge(cur, ok, p, p.slot.Kind.movable()); err != nil {
			return nil, &CorruptError{Line: i + 1, What: err.Error()}
		}
		p.line = uint64(i) + 1
		heads[p.place()] = p
	}
	return heads, nil
}
