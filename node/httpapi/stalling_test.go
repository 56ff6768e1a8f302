package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each read of an import has a deadline of its own, and none stays after the last.
func TestReadsOfAnImportHaveDeadlines(t *testing.T) {
	var set []bool
	until := func(at time.Time) error { set = append(set, !at.IsZero()); return nil }
	r := stalling{io.LimitReader(strings.NewReader("abc"), 3), until}
	if b, err := io.ReadAll(r); err != nil || string(b) != "abc" {
		t.Fatalf("%q, %v", b, err)
	}
	if len(set) != 3 || !set[0] || !set[1] || set[2] {
		t.Errorf("deadlines set, set, cleared; got %v", set)
	}
	for _, c := range []struct{ err, want error }{{http.ErrNotSupported, nil}, {io.ErrClosedPipe, io.ErrClosedPipe}} {
		_, err := stalling{strings.NewReader("abc"), func(time.Time) error { return c.err }}.Read(make([]byte, 3))
		if !errors.Is(err, c.want) {
			t.Errorf("%v: got %v", c.err, err)
		}
	}
}
