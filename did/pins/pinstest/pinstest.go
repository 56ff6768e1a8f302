// Package pinstest holds the suite that every implementation of pins.Pins must pass. It answers the question whether
// the guard keeps its promises within one process; what survives a crash is tested beside the file.
package pinstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"trustnode/did/pins"
)

// Run holds the implementation made by open, fresh and empty at each call, to the contract of pins.Pins.
func Run(t *testing.T, open func(t *testing.T) pins.Pins) {
	t.Run("one value per slot", func(t *testing.T) { oneValue(t, open(t)) })
	t.Run("kinds and keys are apart", func(t *testing.T) { apart(t, open(t)) })
	t.Run("moving", func(t *testing.T) { moving(t, open(t)) })
	t.Run("form", func(t *testing.T) { form(t, open(t)) })
	t.Run("cancelled", func(t *testing.T) { cancelled(t, open(t)) })
	t.Run("racing values", func(t *testing.T) { racingValues(t, open(t)) })
	t.Run("racing repeats", func(t *testing.T) { racingRepeats(t, open(t)) })
	t.Run("racing keys", func(t *testing.T) { racingKeys(t, open(t)) })
}

func oneValue(t *testing.T, p pins.Pins) {
	slot := func(n uint64) pins.Slot { return pins.Slot{Kind: pins.KindLog, Key: "did:web:acme.example", N: n} }
	steps := []struct {
		name  string
		n     uint64
		value string
		want  error
	}{
		{"the first value stands", 4, "a", nil},
		{"the same value again changes nothing", 4, "a", nil},
		{"another value is refused", 4, "b", &pins.Taken{Slot: slot(4), Value: "a"}},
		{"a value that only extends the pinned one is another value", 4, "aa", &pins.Taken{Slot: slot(4), Value: "a"}},
		{"a lower number is refused", 3, "c", &pins.Below{Slot: slot(4), Value: "a", N: 3}},
		{"a lower number is refused with the pinned value too", 3, "a", &pins.Below{Slot: slot(4), Value: "a", N: 3}},
		{"numbers may be left out", 9, "c", nil},
		{"the number before the gap is below now", 4, "a", &pins.Below{Slot: slot(9), Value: "c", N: 4}},
		{"the greatest number there is", 1<<64 - 1, "d", nil},
		{"nothing follows it", 0, "d", &pins.Below{Slot: slot(1<<64 - 1), Value: "d", N: 0}},
	}
	for _, s := range steps {
		got := p.Put(t.Context(), slot(s.n), s.value)
		if !same(got, s.want) {
			t.Fatalf("%s: got %v, want %v", s.name, got, s.want)
		}
	}
	wantHighest(t, p, slot(1<<64-1), "d")
}

func apart(t *testing.T, p pins.Pins) {
	kinds := []pins.Kind{pins.KindEntry, pins.KindWitness, pins.KindLog, pins.KindCosign,
		pins.KindSlot, pins.KindBeacon, pins.KindDID, pins.KindHead}
	for _, k := range kinds {
		for _, key := range []string{"a", "b"} {
			if _, _, ok := p.Highest(k, key); ok {
				t.Fatalf("%s %s is pinned before anything was put", k, key)
			}
			s := pins.Slot{Kind: k, Key: key, N: uint64(k)}
			if err := p.Put(t.Context(), s, key+k.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, k := range kinds {
		wantHighest(t, p, pins.Slot{Kind: k, Key: "a", N: uint64(k)}, "a"+k.String())
	}
}

func moving(t *testing.T, p pins.Pins) {
	for _, k := range []pins.Kind{pins.KindDID, pins.KindHead} {
		s := pins.Slot{Kind: k, Key: "d", N: 4}
		must(t, p.Put(t.Context(), s, "4-x"))
		must(t, p.Move(t.Context(), s, "4-y", "zQmCharter"))
		wantHighest(t, p, s, "4-y")
		if err := p.Put(t.Context(), s, "4-x"); !same(err, &pins.Taken{Slot: s, Value: "4-y"}) {
			t.Errorf("the value moved away from: got %v, want it refused", err)
		}
		low := pins.Slot{Kind: k, Key: "d", N: 3}
		if err := p.Move(t.Context(), low, "3-x", "zQmCharter"); !same(err, &pins.Below{Slot: s, Value: "4-y", N: 3}) {
			t.Errorf("a move below: got %v", err)
		}
		if err := p.Move(t.Context(), s, "4-z", ""); !errors.Is(err, pins.ErrForm) {
			t.Errorf("a move without a decision: got %v, want ErrForm", err)
		}
		wantHighest(t, p, s, "4-y")
	}
	for k := pins.KindEntry; k < pins.KindDID; k++ {
		s := pins.Slot{Kind: k, Key: "d", N: 4}
		must(t, p.Put(t.Context(), s, "x"))
		if err := p.Move(t.Context(), s, "y", "zQmCharter"); !errors.Is(err, pins.ErrForm) {
			t.Errorf("moving what was signed, kind %s: got %v, want ErrForm", k, err)
		}
		wantHighest(t, p, s, "x")
	}
}

func form(t *testing.T, p pins.Pins) {
	long := strings.Repeat("k", pins.MaxKey)
	cases := []struct {
		name  string
		slot  pins.Slot
		value string
		ok    bool
	}{
		{"the zero kind", pins.Slot{Key: "k"}, "v", false},
		{"a kind that is not known", pins.Slot{Kind: 200, Key: "k"}, "v", false},
		{"no key", pins.Slot{Kind: pins.KindLog}, "v", false},
		{"no value", pins.Slot{Kind: pins.KindLog, Key: "k"}, "", false},
		{"a key with a space", pins.Slot{Kind: pins.KindLog, Key: "a b"}, "v", false},
		{"a value with a line feed", pins.Slot{Kind: pins.KindLog, Key: "k"}, "v\nlog k 9 v", false},
		{"a key outside ASCII", pins.Slot{Kind: pins.KindLog, Key: "é"}, "v", false},
		{"a value with a control character", pins.Slot{Kind: pins.KindLog, Key: "k"}, "v\x7f", false},
		{"a key that is too long", pins.Slot{Kind: pins.KindLog, Key: long + "k"}, "v", false},
		{"a value that is too long", pins.Slot{Kind: pins.KindLog, Key: "k"}, strings.Repeat("v", pins.MaxValue+1), false},
		{"the longest key and value", pins.Slot{Kind: pins.KindLog, Key: long, N: 1}, strings.Repeat("v", pins.MaxValue), true},
	}
	for _, c := range cases {
		err := p.Put(t.Context(), c.slot, c.value)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, pins.ErrForm) {
			t.Errorf("%s: got %v, want ok %v", c.name, err, c.ok)
		}
	}
}

func cancelled(t *testing.T, p pins.Pins) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := pins.Slot{Kind: pins.KindLog, Key: "k", N: 1}
	if err := p.Put(ctx, s, "v"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, _, ok := p.Highest(s.Kind, s.Key); ok {
		t.Error("a cancelled Put left a pin")
	}
}

func racingValues(t *testing.T, p pins.Pins) {
	const rounds, racers = 20, 8
	for n := range uint64(rounds) {
		s := pins.Slot{Kind: pins.KindWitness, Key: "scid", N: n}
		errs := race(racers, func(i int) error { return p.Put(context.Background(), s, fmt.Sprintf("v%d", i)) })
		_, value, _ := p.Highest(s.Kind, s.Key)
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				if want := fmt.Sprintf("v%d", i); value != want {
					t.Fatalf("%s was put, %s is pinned", want, value)
				}
			} else if !same(err, &pins.Taken{Slot: s, Value: value}) {
				t.Fatalf("a loser got %v, want taken by %s", err, value)
			}
		}
		if won != 1 {
			t.Fatalf("%d values took one slot", won)
		}
	}
}

func racingRepeats(t *testing.T, p pins.Pins) {
	s := pins.Slot{Kind: pins.KindCosign, Key: "d", N: 7}
	for _, err := range race(16, func(int) error {
		if err := p.Put(context.Background(), s, "root"); err != nil {
			return err
		}
		// Durable on return, also for the one who only repeats.
		if _, v, ok := p.Highest(s.Kind, s.Key); !ok || v != "root" {
			return fmt.Errorf("not visible after Put")
		}
		return nil
	}) {
		must(t, err)
	}
}

func racingKeys(t *testing.T, p pins.Pins) {
	for _, err := range race(8, func(i int) error {
		for n := range uint64(10) {
			s := pins.Slot{Kind: pins.KindLog, Key: fmt.Sprintf("k%d", i), N: n}
			if err := p.Put(context.Background(), s, fmt.Sprint(n)); err != nil {
				return err
			}
		}
		return nil
	}) {
		must(t, err)
	}
	for i := range 8 {
		wantHighest(t, p, pins.Slot{Kind: pins.KindLog, Key: fmt.Sprintf("k%d", i), N: 9}, "9")
	}
}

func race(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errs
}

// same compares errors as whole values.
func same(got, want error) bool {
	var taken *pins.Taken
	var below *pins.Below
	switch w := want.(type) {
	case *pins.Taken:
		return errors.As(got, &taken) && *taken == *w
	case *pins.Below:
		return errors.As(got, &below) && *below == *w
	}
	return got == want
}

func wantHighest(t *testing.T, p pins.Pins, want pins.Slot, value string) {
	t.Helper()
	got, v, ok := p.Highest(want.Kind, want.Key)
	if !ok || got != want || v != value {
		t.Errorf("highest: got %v %q %v, want %v %q", got, v, ok, want, value)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
