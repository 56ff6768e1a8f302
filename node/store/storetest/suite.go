// Package storetest answers: does this database keep the promises of
// [store.DB]? Every implementation runs the same suite; one that keeps its
// data on disk also runs [RunDurable].
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/node/store"
)

// Run tests a database. open returns a new, empty one; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) store.DB) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.DB)
	}{
		{"an absent key is ErrNotFound in both kinds of transaction", testAbsent},
		{"a transaction sees its own writes", testOwnWrites},
		{"values are the caller's own copies", testCopies},
		{"a failed function leaves no trace", testFailed},
		{"a panic is an error of its caller alone", testPanic},
		{"a function that ends its goroutine does not stop the database", testGoexit},
		{"scan yields a prefix in order after a key", testScan},
		{"random operations agree with a map", testModel},
		{"64 goroutines count exactly", testCount},
		{"failing functions in a shared group take nobody with them", testMixed},
		{"a view is one snapshot", testIsolation},
		{"a view sees what was acknowledged before it", testVisible},
		{"limits are refused and the largest update is taken", testLimits},
		{"updates too large for one group are split", testSplit},
		{"an ended context runs nothing", testContext},
		{"an update under way outlives its context", testStarted},
		{"close waits and later calls fail", testClose},
		{"a transaction is dead after its function", testDeadTx},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t)
			t.Cleanup(func() {
				if err := db.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
					t.Errorf("Close: %v", err)
				}
			})
			c.test(t, db)
		})
	}
}

var ctx = context.Background()

func update(t *testing.T, db store.DB, fn func(store.Tx) error) {
	t.Helper()
	if err := db.Update(ctx, fn); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

func put(t *testing.T, db store.DB, pairs ...string) {
	t.Helper()
	update(t, db, func(tx store.Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := tx.Set([]byte(pairs[i]), []byte(pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

// dump returns all "key=value" under prefix after a key.
func dump(t *testing.T, db store.DB, prefix, after string) []string {
	t.Helper()
	var from []byte
	if after != "" {
		from = []byte(after)
	}
	got := []string{}
	err := db.View(ctx, func(r store.Reader) error {
		return r.Scan([]byte(prefix), from, func(k, v []byte) bool {
			got = append(got, string(k)+"="+string(v))
			return true
		})
	})
	if err != nil {
		t.Fatalf("View: %v", err)
	}
	return got
}

func wantDump(t *testing.T, db store.DB, want ...string) {
	t.Helper()
	if got := dump(t, db, "", ""); !slices.Equal(got, want) {
		t.Errorf("database holds %q, want %q", got, want)
	}
}

func testAbsent(t *testing.T, db store.DB) {
	put(t, db, "a", "", "b", "1")
	update(t, db, func(tx store.Tx) error { return tx.Delete([]byte("b")) })
	check := func(get func([]byte) ([]byte, error)) error {
		for _, k := range []string{"b", "c", ""} {
			if v, err := get([]byte(k)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Get(%q) = %q, %v, want ErrNotFound", k, v, err)
			}
		}
		if v, err := get([]byte("a")); err != nil || v == nil || len(v) != 0 {
			t.Errorf("Get of an empty value = %v, %v, want an empty slice", v, err)
		}
		return nil
	}
	update(t, db, func(tx store.Tx) error { return check(tx.Get) })
	if err := db.View(ctx, func(r store.Reader) error { return check(r.Get) }); err != nil {
		t.Error(err)
	}
}

func testOwnWrites(t *testing.T, db store.DB) {
	put(t, db, "a", "old", "b", "old")
	update(t, db, func(tx store.Tx) error {
		if err := errors.Join(tx.Set([]byte("a"), []byte("new")), tx.Delete([]byte("b"))); err != nil {
			return err
		}
		if v, err := tx.Get([]byte("a")); err != nil || string(v) != "new" {
			t.Errorf("own write: %q, %v", v, err)
		}
		if _, err := tx.Get([]byte("b")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("own delete: %v", err)
		}
		return tx.Set([]byte("b"), []byte("again"))
	})
	wantDump(t, db, "a=new", "b=again")
}

func testCopies(t *testing.T, db store.DB) {
	k, v := []byte("k"), []byte("value")
	update(t, db, func(tx store.Tx) error {
		if err := tx.Set(k, v); err != nil {
			return err
		}
		v[0], k[0] = 'X', 'X'
		got, err := tx.Get([]byte("k"))
		if err != nil {
			return err
		}
		got[0] = 'Y'
		return nil
	})
	var kept []byte
	err := db.View(ctx, func(r store.Reader) (err error) {
		kept, err = r.Get([]byte("k"))
		return err
	})
	if err != nil || string(kept) != "value" {
		t.Fatalf("got %q, %v", kept, err)
	}
	kept[0] = 'Z'
	wantDump(t, db, "k=value")
}

func testFailed(t *testing.T, db store.DB) {
	put(t, db, "a", "1", "b", "2")
	boom := errors.New("boom")
	err := db.Update(ctx, func(tx store.Tx) error {
		return errors.Join(boom, tx.Set([]byte("a"), []byte("x")), tx.Delete([]byte("b")), tx.Set([]byte("c"), nil))
	})
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want the function's error", err)
	}
	wantDump(t, db, "a=1", "b=2")
}

func testPanic(t *testing.T, db store.DB) {
	err := db.Update(ctx, func(tx store.Tx) error {
		_ = tx.Set([]byte("a"), nil)
		panic("a bug")
	})
	if !errors.Is(err, store.ErrPanicked) {
		t.Errorf("got %v, want ErrPanicked", err)
	}
	put(t, db, "b", "2")
	wantDump(t, db, "b=2")
}

func testGoexit(t *testing.T, db store.DB) {
	err := db.Update(ctx, func(tx store.Tx) error {
		_ = tx.Set([]byte("a"), nil)
		runtime.Goexit()
		return nil
	})
	if !errors.Is(err, store.ErrPanicked) {
		t.Errorf("got %v, want ErrPanicked", err)
	}
	put(t, db, "b", "2")
	wantDump(t, db, "b=2")
}

func testScan(t *testing.T, db store.DB) {
	put(t, db, "a", "0", "p", "1", "p/a", "2", "p/b", "3", "p\xff", "4", "p\xff\xff", "5", "q", "6")
	for _, c := range []struct {
		name, prefix, after string
		want                []string
	}{
		{"all keys", "", "", []string{"a=0", "p=1", "p/a=2", "p/b=3", "p\xff=4", "p\xff\xff=5", "q=6"}},
		{"the prefix itself is included", "p", "", []string{"p=1", "p/a=2", "p/b=3", "p\xff=4", "p\xff\xff=5"}},
		{"after is exclusive", "p", "p/a", []string{"p/b=3", "p\xff=4", "p\xff\xff=5"}},
		{"after need not exist", "p", "p/aa", []string{"p/b=3", "p\xff=4", "p\xff\xff=5"}},
		{"after below the prefix changes nothing", "p/", "a", []string{"p/a=2", "p/b=3"}},
		{"after beyond the prefix yields nothing", "p/", "q", []string{}},
		{"a prefix of 0xff bytes ends", "p\xff\xff", "", []string{"p\xff\xff=5"}},
		{"an absent prefix yields nothing", "z", "", []string{}},
	} {
		if got := dump(t, db, c.prefix, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	n := 0
	err := db.View(ctx, func(r store.Reader) error {
		return r.Scan([]byte("p"), nil, func(k, v []byte) bool { n++; return n < 2 })
	})
	if err != nil || n != 2 {
		t.Errorf("scan stopped after %d keys, %v, want 2", n, err)
	}
}

func testModel(t *testing.T, db store.DB) {
	rng := rand.New(rand.NewPCG(1, 2))
	model := map[string]string{}
	for range 150 {
		next := maps.Clone(model)
		fail := rng.IntN(4) == 0
		err := db.Update(ctx, func(tx store.Tx) error {
			for range rng.IntN(12) {
				k := fmt.Sprint(rng.IntN(100))
				if rng.IntN(3) == 0 {
					delete(next, k)
					if err := tx.Delete([]byte(k)); err != nil {
						return err
					}
					continue
				}
				next[k] = fmt.Sprint(rng.Uint32())
				if err := tx.Set([]byte(k), []byte(next[k])); err != nil {
					return err
				}
			}
			if fail {
				return context.Canceled
			}
			return nil
		})
		if fail != (err != nil) {
			t.Fatalf("Update: %v", err)
		}
		if !fail {
			model = next
		}
		want := []string{}
		for _, k := range slices.Sorted(maps.Keys(model)) {
			want = append(want, k+"="+model[k])
		}
		wantDump(t, db, want...)
	}
}

func increment(tx store.Tx) error {
	v, err := tx.Get([]byte("n"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var n int
	fmt.Sscan(string(v), &n)
	return tx.Set([]byte("n"), fmt.Append(nil, n+1))
}

func testCount(t *testing.T, db store.DB) {
	const goroutines, each = 64, 50
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range each {
				if err := db.Update(ctx, increment); err != nil {
					t.Errorf("Update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	wantDump(t, db, fmt.Sprintf("n=%d", goroutines*each))
}

func testMixed(t *testing.T, db store.DB) {
	var wg sync.WaitGroup
	var good atomic.Int64
	for g := range 32 {
		wg.Go(func() {
			for i := range 30 {
				want := []error{nil, context.DeadlineExceeded, store.ErrPanicked}[(g+i)%3]
				err := db.Update(ctx, func(tx store.Tx) error {
					if err := increment(tx); err != nil {
						return err
					}
					if want == store.ErrPanicked {
						panic("a bug")
					}
					return want
				})
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
				if err == nil {
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	wantDump(t, db, fmt.Sprintf("n=%d", good.Load()))
}

// testIsolation moves amounts between keys while views add them up.
func testIsolation(t *testing.T, db store.DB) {
	put(t, db, "a", "500", "b", "500")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			put(t, db, "a", fmt.Sprint(i%1000), "b", fmt.Sprint(1000-i%1000))
		}
	})
	for range 300 {
		err := db.View(ctx, func(r store.Reader) error {
			first, err := sum(r)
			runtime.Gosched()
			second, err2 := sum(r)
			if first != 1000 || second != 1000 {
				t.Errorf("a view sums to %d, then %d, want 1000", first, second)
			}
			return errors.Join(err, err2)
		})
		if err != nil {
			t.Errorf("View: %v", err)
		}
	}
	close(stop)
	wg.Wait()
}

func sum(r store.Reader) (total int, err error) {
	err = r.Scan(nil, nil, func(_, v []byte) bool {
		var n int
		fmt.Sscan(string(v), &n)
		total += n
		return true
	})
	return total, err
}

func testVisible(t *testing.T, db store.DB) {
	for i := range 100 {
		put(t, db, "k", fmt.Sprint(i))
		wantDump(t, db, fmt.Sprintf("k=%d", i))
	}
}

func testLimits(t *testing.T, db store.DB) {
	big := make([]byte, store.MaxValueBytes+1)
	for _, c := range []struct {
		name string
		fn   func(store.Tx) error
	}{
		{"an empty key", func(tx store.Tx) error { return tx.Set(nil, nil) }},
		{"a key one byte too long", func(tx store.Tx) error { return tx.Set(big[:store.MaxKeyBytes+1], nil) }},
		{"a value one byte too long", func(tx store.Tx) error { return tx.Set([]byte("k"), big) }},
		{"an update with too many bytes", func(tx store.Tx) error { return fill(tx, 5, store.MaxValueBytes) }},
		{"an update with too many keys", func(tx store.Tx) error { return fill(tx, store.MaxUpdateKeys+1, 1) }},
	} {
		if err := db.Update(ctx, c.fn); !errors.Is(err, store.ErrTooLarge) {
			t.Errorf("%s: got %v, want ErrTooLarge", c.name, err)
		}
	}
	wantDump(t, db)
	update(t, db, func(tx store.Tx) error { return fill(tx, 4, store.MaxValueBytes) })
	update(t, db, func(tx store.Tx) error { return fill(tx, store.MaxUpdateKeys, 100) })
	update(t, db, func(tx store.Tx) error { return tx.Set(big[:store.MaxKeyBytes], nil) })
	if got := len(dump(t, db, "", "")); got != store.MaxUpdateKeys+1 {
		t.Errorf("%d keys, want %d", got, store.MaxUpdateKeys+1)
	}
}

// fill sets n keys; len(value) is val bytes.
func fill(tx store.Tx, n, val int) error {
	v := make([]byte, val)
	for i := range n {
		if err := tx.Set(fmt.Appendf(nil, "fill%08d", i), v); err != nil {
			return err
		}
	}
	return nil
}

func testSplit(t *testing.T, db store.DB) {
	const callers = 12
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			err := db.Update(ctx, func(tx store.Tx) error {
				v := []byte(strings.Repeat("x", store.MaxValueBytes))
				return errors.Join(tx.Set(fmt.Appendf(nil, "a%02d", g), v), tx.Set(fmt.Appendf(nil, "b%02d", g), v), increment(tx))
			})
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	if got := dump(t, db, "n", ""); !slices.Equal(got, []string{fmt.Sprintf("n=%d", callers)}) {
		t.Errorf("counted %q", got)
	}
	if a, b := len(dump(t, db, "a", "")), len(dump(t, db, "b", "")); a != callers || b != callers {
		t.Errorf("%d and %d large values, want %d each", a, b, callers)
	}
}

func testContext(t *testing.T, db store.DB) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	ran := false
	err := db.Update(ended, func(store.Tx) error { ran = true; return nil })
	verr := db.View(ended, func(store.Reader) error { ran = true; return nil })
	if !errors.Is(err, context.Canceled) || !errors.Is(verr, context.Canceled) || ran {
		t.Errorf("got %v, %v, ran %v", err, verr, ran)
	}

	// A call that waits behind another is given up when its context ends.
	inside, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		update(t, db, func(store.Tx) error {
			close(inside)
			<-release
			return nil
		})
	})
	<-inside
	waiting, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	err = db.Update(waiting, func(store.Tx) error { ran = true; return nil })
	close(release)
	wg.Wait()
	put(t, db, "k", "v")
	if !errors.Is(err, context.DeadlineExceeded) || ran {
		t.Errorf("a waiting call: %v, ran %v", err, ran)
	}
}

func testStarted(t *testing.T, db store.DB) {
	c, cancel := context.WithCancel(ctx)
	err := db.Update(c, func(tx store.Tx) error {
		cancel()
		return tx.Set([]byte("k"), []byte("v"))
	})
	if err != nil {
		t.Errorf("got %v, want the outcome", err)
	}
	wantDump(t, db, "k=v")
}

func testClose(t *testing.T, db store.DB) {
	inside, release := make(chan struct{}), make(chan struct{})
	viewed, updated, closed := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		viewed <- db.View(ctx, func(r store.Reader) error {
			close(inside)
			<-release
			_, err := r.Get([]byte("k"))
			return err
		})
	}()
	put(t, db, "j", "1")
	<-inside
	started := make(chan struct{})
	go func() {
		updated <- db.Update(ctx, func(tx store.Tx) error {
			close(started)
			<-release
			return tx.Set([]byte("k"), nil)
		})
	}()
	<-started
	go func() { closed <- db.Close() }()
	select {
	case err := <-closed:
		t.Errorf("Close returned %v while calls were under way", err)
	case <-time.After(5 * time.Millisecond):
	}
	close(release)
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-viewed; !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the view under way: %v", err)
	}
	if err := <-updated; err != nil {
		t.Errorf("the update under way: %v", err)
	}
	for name, err := range map[string]error{
		"Update": db.Update(ctx, func(store.Tx) error { return nil }),
		"View":   db.View(ctx, func(store.Reader) error { return nil }),
		"Close":  db.Close(),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}

func testDeadTx(t *testing.T, db store.DB) {
	var kept store.Tx
	update(t, db, func(tx store.Tx) error { kept = tx; return nil })
	_, err := kept.Get([]byte("k"))
	for _, err := range []error{err, kept.Set([]byte("k"), nil), kept.Delete([]byte("k"))} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}
