package member

import (
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/node/fault"
)

// TestATokenThatReadALoanIsMarked: for 24 h by the clock, with the earliest end of what it
// read under; another token of the same agent is not.
func TestATokenThatReadALoanIsMarked(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	acme.agent("quant", "borrow")
	ctx := t.Context()
	text, tok := acme.token("quant", ForMCP)
	other, _ := acme.token("quant", ForMCP)
	http, _ := acme.token("quant", ForHTTP)
	p1, p2, r1, r2 := envelope.IDOf([]byte("p1")), envelope.IDOf([]byte("p2")), envelope.IDOf([]byte("r1")), envelope.IDOf([]byte("r2"))
	soon, late := envelope.TimeOf(clock.Now().Add(48*time.Hour)), envelope.TimeOf(clock.Now().Add(96*time.Hour))
	mark := func(text string, perm, receipt envelope.ID, ends envelope.Time) {
		t.Helper()
		if err := acme.MarkLent(ctx, text, perm, receipt, ends); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, text string, session bool, want *Lent) {
		t.Helper()
		got, err := acme.LentBy(ctx, text, session)
		if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	want("before any read", text, true, nil)
	mark(text, p1, r1, soon)
	want("after a read", text, false, &Lent{r1, p1, soon})
	want("another token", other, true, nil)
	mark(text, p2, r2, late)
	want("a second loan ends later", text, false, &Lent{r2, p2, soon})
	clock.turn(30 * time.Minute)
	mark(text, p2, r1, late) // within the hour the mark stands as it is
	want("within the hour", text, false, &Lent{r2, p2, soon})
	clock.turn(24*time.Hour - time.Minute)
	want("24 h after the last read but a minute", text, false, &Lent{r2, p2, soon})
	clock.turn(time.Hour)
	want("a day and more later", text, false, nil)
	want("the same in the session that read", text, true, &Lent{r2, p2, soon})
	mark(text, p2, r2, late)
	want("read again", text, false, &Lent{r2, p2, late})
	if err := acme.RevokeToken(ctx, tok.Prefix); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ended": text, "for HTTP": http, "none": ""} {
		refusedAs(t, acme.MarkLent(ctx, text, p1, r1, soon), fault.Unauthenticated, "token")
		if _, err := acme.LentBy(ctx, text, false); fault.Of(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestATokenFromBeforeMarks reads a row as it was stored before tokens had marks.
func TestATokenFromBeforeMarks(t *testing.T) {
	var row tokenRow
	const stored = `{"agent":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK","hash":"x","made":"2026-12-01T10:00:00Z","surface":"mcp"}`
	if err := envelope.Unmarshal([]byte(stored), &row); err != nil || row.Lent != nil {
		t.Fatalf("got %+v, %v", row, err)
	}
	if b, err := envelope.Marshal(row); err != nil || string(b) != stored {
		t.Errorf("got %s, %v", b, err)
	}
}
