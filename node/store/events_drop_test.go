package store_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"trustnode/attestation"
	"trustnode/attestation/attesttest"
	"trustnode/node/store"
)

// timed stores a note of a size that witnesses cosigned at times in seconds.
func timed(t *testing.T, e *store.Events, size uint64, beta, gamma int64) {
	t.Helper()
	text, list := string(noteOf(t, size)), []attestation.Seen{seen("beta", beta), seen("gamma", gamma)}
	for _, s := range list {
		sig := binary.BigEndian.AppendUint64([]byte{0, 0, 0, 1}, uint64(s.At.Unix()))
		text += fmt.Sprintf("— %s/witness %s\n", s.Org, base64.StdEncoding.EncodeToString(append(sig, make([]byte, 64)...)))
	}
	if err := e.PutNote(context.Background(), org, []byte(text), list); err != nil {
		t.Fatal(err)
	}
}

// TestADroppedNoteTakesItsTimesAlone: without a note, who cosigned when is as if it had never
// come, and wherever dropping it breaks off no other time is lost.
func TestADroppedNoteTakesItsTimesAlone(t *testing.T) {
	ctx := context.Background()
	times := func(e *store.Events) string {
		out := ""
		for i := range uint64(7) {
			out += fmt.Sprintln(e.Witnessed(org, i))
		}
		return out
	}
	for after := range 4 {
		db := store.Memory()
		e := open(t, db)
		for i := range 6 {
			if err := e.Append(ctx, attestation.Batch{Org: org, From: uint64(i), Entries: []attestation.Entry{attesttest.Entry(t, org, i, nil)}}); err != nil {
				t.Fatal(err)
			}
			timed(t, e, uint64(i+1), int64(100+i), int64(200-i))
		}
		want := times(e)
		timed(t, e, 7, 50, 400) // stands for all of one witness, and for none of the other
		was := times(e)
		broken := &breaking{db, 1 << 30}
		e = open(t, broken)
		broken.left = after
		err := e.DropNote(ctx, org, 7)
		if err != nil && !errors.Is(err, errBroke) {
			t.Fatal(err)
		}
		if got := times(open(t, db)); got != want && (err == nil || got != was) {
			t.Errorf("broken after %d: got\n%swant\n%s", after, got, want)
		}
		broken.left = 1 << 30
		if err := e.DropNote(ctx, org, 7); err != nil {
			t.Fatal(err)
		}
		if got := times(e); got != want || times(open(t, db)) != want {
			t.Errorf("in the end: got\n%swant\n%s", got, want)
		}
	}
}
