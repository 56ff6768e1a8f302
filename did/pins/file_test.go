package pins

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testTime = time.Date(2026, 12, 15, 9, 0, 4, 5e8, time.UTC)

func openFile(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, func() time.Time { return testTime })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func put(t testing.TB, f *File, k Kind, key string, n uint64, value string) {
	t.Helper()
	if err := f.Put(t.Context(), Slot{k, key, n}, value); err != nil {
		t.Fatal(err)
	}
}

func TestFileHoldsTheGoldenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	put(t, f, KindDID, goldenD, 2, "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != goldenDID+"\n" {
		t.Errorf("got %q, %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestPinsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	put(t, f, KindLog, "d", 4, "root")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(t.Context(), Slot{KindLog, "d", 5}, "x"); !errors.Is(err, ErrClosed) {
		t.Errorf("Put after Close: %v", err)
	}
	f = openFile(t, path)
	var taken *Taken
	if err := f.Put(t.Context(), Slot{KindLog, "d", 4}, "other"); !errors.As(err, &taken) || taken.Value != "root" {
		t.Errorf("another value after reopening: %v", err)
	}
	var below *Below
	if err := f.Put(t.Context(), Slot{KindLog, "d", 3}, "root"); !errors.As(err, &below) || below.Slot.N != 4 {
		t.Errorf("a lower number after reopening: %v", err)
	}
}

func TestCorruptFileIsNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	for n := range uint64(3) {
		put(t, f, KindLog, "d", n, "root")
	}
	f.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := append([]byte(nil), whole...)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, time.Now)
		torn := i == len(whole)-1 // the last line feed gone looks like a torn write
		if torn != (err == nil) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if got, _ := os.ReadFile(path); err != nil && string(got) != string(bad) {
			t.Errorf("byte %d changed: the corrupt file was touched", i)
		}
	}
}

// TestTruncationAtEveryByte is power loss at each moment of the writing: the file opens, holds exactly the lines that are
// whole, and takes new lines that read back.
func TestTruncationAtEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "pins")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		whole, after := history(t, filepath.Join(dir, "pins"))
		for cut := range len(whole) + 1 {
			lines, _, err := parseFile(whole[:cut])
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if got, err := fold(lines); err != nil || !maps.Equal(got, durableAt(after, cut)) {
				t.Fatalf("cut at %d: got %v, %v, want %v", cut, got, err, durableAt(after, cut))
			}
		}
		cut := rapid.IntRange(0, len(whole)).Draw(t, "cut")
		path := filepath.Join(dir, "cut")
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		reopenTwice(t, path, durableAt(after, cut))
	})
}

// durableAt returns what was acknowledged when the file had at most size bytes.
func durableAt(after []moment, size int) map[place]pin {
	heads := after[0].heads
	for _, m := range after {
		if m.size <= size {
			heads = m.heads
		}
	}
	return heads
}

type moment struct {
	size  int // of the file
	heads map[place]pin
}

// history puts and moves at random and returns the file with what was acknowledged at each size of it.
func history(t *rapid.T, path string) ([]byte, []moment) {
	f, err := Open(path, func() time.Time { return testTime })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	moments := []moment{{0, map[place]pin{}}}
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		s := Slot{
			Kind: rapid.SampledFrom([]Kind{KindLog, KindDID}).Draw(t, "kind"),
			Key:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
			N:    rapid.Uint64Range(0, 4).Draw(t, "n"),
		}
		value := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
		if s.Kind == KindDID && rapid.Bool().Draw(t, "move") {
			err = f.Move(t.Context(), s, value, "charter")
		} else {
			err = f.Put(t.Context(), s, value)
		}
		if highest, v, ok := f.Highest(s.Kind, s.Key); err == nil && (!ok || highest != s || v != value) {
			t.Fatalf("acknowledged %v %s, highest is %v %s", s, value, highest, v)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, moment{int(info.Size()), maps.Clone(f.heads)})
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole, moments
}

func reopenTwice(t *rapid.T, path string, want map[place]pin) {
	f, err := Open(path, func() time.Time { return testTime })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !maps.Equal(f.heads, want) {
		t.Fatalf("got %v, want %v", f.heads, want)
	}
	if err := f.Put(t.Context(), Slot{KindBeacon, "me", 1}, "b"); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, func() time.Time { return testTime })
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !maps.Equal(again.heads, f.heads) {
		t.Fatalf("after one more line: got %v, want %v", again.heads, f.heads)
	}
}

func TestRewriteKeepsTheNewestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	f.at = 4096
	for n := range uint64(500) {
		put(t, f, KindLog, "a", n, fmt.Sprint("root", n))
		put(t, f, KindCosign, fmt.Sprint("org", n%3), n, "root")
	}
	if f.at != RewriteAt {
		t.Fatal("the file was never rewritten")
	}
	want := maps.Clone(f.heads)
	f.Close()
	f = openFile(t, path)
	if !maps.Equal(f.heads, want) {
		t.Errorf("got %v, want %v", f.heads, want)
	}
	if _, err := os.Stat(tempOf(path)); !os.IsNotExist(err) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}

func TestRewriteIsNotRepeatedForAFullFile(t *testing.T) {
	cases := []struct {
		name string
		left int64
		want int64
	}{
		{"a small rest waits for the usual size", 1000, RewriteAt},
		{"a rest past half the size may double", 10 << 20, 20 << 20},
	}
	for _, c := range cases {
		if got := rewriteAt(c.left); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestLeftoverOfARewriteIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	put(t, openFile(t, path), KindLog, "d", 4, "root")
	if err := os.WriteFile(tempOf(path), []byte("half a li"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, path)
	if _, v, _ := f.Highest(KindLog, "d"); v != "root" {
		t.Errorf("highest %q, want root", v)
	}
	if _, err := os.Stat(tempOf(path)); !os.IsNotExist(err) {
		t.Errorf("the temporary file is still there: %v", err)
	}
}

// TestFailedSync: a pin whose fsync failed is not acknowledged, is not visible, may be put again, and what another value takes
// instead is what a reopened file holds.
func TestFailedSync(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	put(t, f, KindLog, "d", 1, "one")
	broken := errors.New("disk")
	f.testingOnlySync = func(*os.File) error { return broken }
	for range 2 {
		err := f.Put(t.Context(), Slot{KindLog, "d", 2}, "two")
		if err == nil {
			t.Fatal("a Put whose fsync failed was acknowledged")
		}
	}
	if s, v, _ := f.Highest(KindLog, "d"); s.N != 1 || v != "one" {
		t.Errorf("highest is %d %s, want 1 one", s.N, v)
	}
	f.testingOnlySync = (*os.File).Sync
	put(t, f, KindLog, "d", 2, "another")
	want := maps.Clone(f.heads)
	f.Close()
	if f = openFile(t, path); !maps.Equal(f.heads, want) {
		t.Errorf("reopened: got %v, want %v", f.heads, want)
	}
}

// TestPutsShareAnFsync holds the disk while others arrive: they all go with the next fsync.
func TestPutsShareAnFsync(t *testing.T) {
	f := openFile(t, filepath.Join(t.TempDir(), "pins"))
	syncs := 0
	f.testingOnlySync = func(file *os.File) error { syncs++; return file.Sync() }
	const callers = 32
	f.disk <- struct{}{}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if err := f.Put(t.Context(), Slot{KindLog, fmt.Sprint(i), 1}, "v"); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < callers; {
		f.mu.Lock()
		waiting = len(f.staged)
		f.mu.Unlock()
	}
	<-f.disk
	wg.Wait()
	if syncs != 1 {
		t.Errorf("%d fsyncs for %d waiting pins, want 1", syncs, callers)
	}
	if len(f.heads) != callers || len(f.staged) != 0 {
		t.Errorf("%d pinned, %d waiting, want %d, 0", len(f.heads), len(f.staged), callers)
	}
}

func BenchmarkPut(b *testing.B) {
	b.Run("one caller", func(b *testing.B) {
		f := openFile(b, filepath.Join(b.TempDir(), "pins"))
		n := uint64(0)
		for b.Loop() {
			n++
			put(b, f, KindLog, "d", n, "root")
		}
	})
	b.Run("floor: write and fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "f"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for b.Loop() {
			f.WriteString(goldenLog + "\n")
			f.Sync()
		}
	})
}

// TestLineOfAPin: the number a person is told is the line of the file that holds the pin, across restarts, failed writes
// and rewrites.
func TestLineOfAPin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	check := func(when string) {
		t.Helper()
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(file), "\n")
		for at, p := range f.heads {
			n := f.Line(at.kind, at.key)
			if n == 0 || n > uint64(len(lines)) || lines[n-1]+"\n" != string(p.appendTo(nil)) {
				t.Errorf("%s: %s %s is said to be in line %d", when, at.kind, at.key, n)
			}
		}
	}
	if n := f.Line(KindLog, "a"); n != 0 {
		t.Errorf("line %d for what is not pinned", n)
	}
	put(t, f, KindLog, "b", 1, "x")
	put(t, f, KindDID, "a", 1, "x")
	put(t, f, KindLog, "b", 2, "y")
	check("after three lines")
	if n := f.Line(KindLog, "b"); n != 3 {
		t.Errorf("line %d, want 3", n)
	}
	f.testingOnlySync = func(*os.File) error { return errors.New("disk") }
	if err := f.Put(t.Context(), Slot{KindLog, "c", 1}, "x"); err == nil {
		t.Fatal("a failed sync was acknowledged")
	}
	f.testingOnlySync = (*os.File).Sync
	put(t, f, KindLog, "d", 1, "x")
	check("after a rewrite")
	f.Close()
	f = openFile(t, path)
	put(t, f, KindLog, "e", 1, "x")
	check("after a restart")
}

// A node may have the file open: reading it changes no byte, a torn line at its end included.
func TestReadLeavesTheFileAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins")
	f := openFile(t, path)
	put(t, f, KindLog, "d", 4, "root")
	put(t, f, KindLog, "d", 5, "next")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := whole[:len(whole)-3]
	p, err := Read(bytes.NewReader(torn))
	if err != nil {
		t.Fatal(err)
	}
	if s, v, ok := p.Highest(KindLog, "d"); !ok || s.N != 4 || v != "root" {
		t.Errorf("got %v %q %v", s, v, ok)
	}
	if _, err := Read(bytes.NewReader(bytes.Replace(whole, []byte("root"), []byte("r00t"), 1))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a changed line: %v", err)
	}
	again, err := Open(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, whole) {
		t.Errorf("the file changed: %v", err)
	}
}

func TestAPersonGivesAPinWithoutTimeAndChecksum(t *testing.T) {
	slot, value, err := Parse("log did:web:acme.example 4 zQmRoot")
	if err != nil || slot != (Slot{KindLog, "did:web:acme.example", 4}) || value != "zQmRoot" {
		t.Errorf("got %v %q %v", slot, value, err)
	}
	if s, v, err := Parse(goldenDID); err != nil || s.Kind != KindDID || s.N != 2 || v == "" {
		t.Errorf("a whole line: %v %q %v", s, v, err)
	}
	for _, bad := range []string{"", "log", "log d four root", "log d 04 root", "logs d 4 root", "log d 4 root extra", "log d 4 ro\not", goldenDID[:len(goldenDID)-1] + "0"} {
		if _, _, err := Parse(bad); !errors.Is(err, ErrForm) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
