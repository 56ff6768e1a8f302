package lending

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did/envelope"
)

// world is a lender with one loan, as small as its rules allow: it keeps what
// Decide says is to be written and nothing else.
type world struct {
	t        *rapid.T
	perm     envelope.Verified[Permission]
	now      time.Time
	loan     Loan
	revoked  *RevokedBy
	vis      uint64
	gone     bool // the one entry has left every scope
	nonces   map[Salt]NonceRecord
	requests []envelope.Verified[ReadRequest]
	granted  map[envelope.ID]Receipt // by request
	rows     int
	drawn    uint16
}

func newWorld(t *rapid.T) *world {
	now := clock("2026-12-02T09:15:30Z")
	p := Permission{
		Borrower: borrower, ExpiresAt: envelope.TimeOf(now).Add(5 * time.Minute), IssuedAt: envelope.TimeOf(now), Kid: "key-1", Lender: lender,
		MaxReads: uint64(rapid.IntRange(1, 6).Draw(t, "max_reads")), Nonce: Nonce{1}, Patterns: []string{PatternRead}, Purpose: "p",
		Revocation: "https://harbor.example/api", Scope: MustParse("tag:a age<30d"),
	}
	return &world{t: t, perm: opened(t, p), now: now, loan: Loan{Place: "x/y"}, nonces: map[Salt]NonceRecord{}, granted: map[envelope.ID]Receipt{}}
}

func (w *world) salt() Salt {
	w.drawn++
	return Salt{byte(w.drawn >> 8), byte(w.drawn), 1}
}

// fresh sends a request with a nonce of its own.
func (w *world) fresh() { w.send(w.salt()) }

// copied sends a request whose nonce another one had.
func (w *world) copied() {
	if n := len(w.requests); n > 0 {
		w.send(w.requests[rapid.IntRange(0, n-1).Draw(w.t, "which")].Body().Nonce)
	}
}

func (w *world) send(nonce Salt) {
	skew := time.Duration(rapid.IntRange(-61, 61).Draw(w.t, "skew")) * time.Second
	purpose := rapid.SampledFrom([]string{"p", "p", "p", ""}).Draw(w.t, "purpose")
	rq := opened(w.t, ReadRequest{
		At: envelope.TimeOf(w.now.Add(skew)), Aud: lender, Borrower: borrower, Kid: "key-1", Nonce: nonce, Op: OpRead, Perm: w.perm.ID(), Purpose: purpose,
	})
	w.requests = append(w.requests, rq)
	w.answer(rq)
}

// again sends the bytes of an earlier request.
func (w *world) again() {
	if n := len(w.requests); n > 0 {
		w.answer(w.requests[rapid.IntRange(0, n-1).Draw(w.t, "which")])
	}
}

// answer does what a lender's node does, evaluating up to four times.
func (w *world) answer(rq envelope.Verified[ReadRequest]) {
	for range 4 {
		f := w.evaluate(rq)
		if rapid.IntRange(0, 4).Draw(w.t, "overtaken") == 0 {
			w.vis++ // something leaves a scope between evaluation and decision
		}
		st := w.state(rq.Body())
		n, err := Decide(st, rq, w.perm, f, w.now)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.apply(rq, n)
		return
	}
}

func (w *world) state(rq ReadRequest) State {
	st := ready()
	st.Loan, st.Revoked, st.Vis, st.RowSalt = w.loan, w.revoked, w.vis, w.salt()
	if rec, ok := w.nonces[rq.Nonce]; ok {
		st.Nonce = &rec
	}
	return st
}

func (w *world) evaluate(rq envelope.Verified[ReadRequest]) Found {
	f := Found{At: w.now, Vis: w.vis}
	s := w.salt()
	if rec, ok := w.nonces[rq.Body().Nonce]; ok && rec.Replays(rq, w.now) {
		f.Replay, s = true, rec.Salt
	}
	views := [][]byte{}
	if !w.gone {
		f.Refs = []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 2}}
		views = append(views, []byte(`{"id":"eQtocYooukJ5AQqCkZsHcHY","rev":2}`))
	}
	var err error
	if f.Content, err = Join(views, s); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// apply writes a decision, and holds it to the invariants.
func (w *world) apply(rq envelope.Verified[ReadRequest], n Next) {
	p := w.perm.Body()
	if row, err := ParseRow(n.Row); err != nil || n.RowID != envelope.IDOf(n.Row) {
		w.t.Fatalf("a decision without a row: %+v, %v", row, err)
	}
	if w.rows++; n.Verdict == Denied {
		if n.Loan != w.loan || n.Nonce != nil {
			w.t.Fatalf("a denial counted: %+v", n)
		}
		return
	}
	if w.revoked != nil || !w.now.Before(p.ExpiresAt.Time()) {
		w.t.Fatalf("content after the end: %+v", n)
	}
	if rq.Body().Purpose == "" || w.now.Sub(rq.Body().At.Time()).Abs() > 60*time.Second {
		w.t.Fatalf("content for a request that may have none: %+v", rq.Body())
	}
	first, answered := w.granted[rq.ID()]
	if n.Verdict == Replayed {
		if !answered || *n.Receipt != first || n.Loan != w.loan {
			w.t.Fatalf("replayed %+v, first was %+v", n, first)
		}
		return
	}
	if answered || n.Receipt.Seq != uint64(len(w.granted))+1 || n.Receipt.Seq > p.MaxReads || n.Receipt.Seq+n.Receipt.Left != p.MaxReads {
		w.t.Fatalf("granted %+v after %d of %d", n.Receipt, len(w.granted), p.MaxReads)
	}
	w.loan, w.granted[rq.ID()], w.nonces[rq.Body().Nonce] = n.Loan, *n.Receipt, *n.Nonce
	if w.loan.Reads != uint64(len(w.granted)) {
		w.t.Fatalf("%d reads counted, %d granted", w.loan.Reads, len(w.granted))
	}
}

// sweep forgets nonces whose time is over, as a store may at any moment.
func (w *world) sweep() {
	for k, rec := range w.nonces {
		if !w.now.Before(rec.Until.Time()) {
			delete(w.nonces, k)
		}
	}
}

func TestDecideProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		steps := []func(){
			w.fresh, w.fresh, w.fresh, w.again, w.again, w.copied, w.sweep,
			func() { w.now = w.now.Add(time.Duration(rapid.IntRange(1, 45).Draw(t, "seconds")) * time.Second) },
			func() { w.gone, w.vis = !w.gone, w.vis+1 },
			func() { w.revoked = &RevokedBy{At: envelope.TimeOf(w.now), Reason: "ended"} },
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(steps)-1), 1, 40).Draw(t, "steps") {
			steps[i]()
		}
	})
}

// Requests signed beforehand and answered in any order, twice each: exactly
// max_reads are counted.
func TestDecideCountsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range 12 {
			w.requests = append(w.requests, opened(t, ReadRequest{
				At: envelope.TimeOf(w.now), Aud: lender, Borrower: borrower, Kid: "key-1", Nonce: w.salt(), Op: OpRead, Perm: w.perm.ID(), Purpose: "p",
			}))
		}
		for _, rq := range rapid.Permutation(append(w.requests, w.requests...)).Draw(t, "order") {
			n, err := Decide(w.state(rq.Body()), rq, w.perm, w.evaluate(rq), w.now)
			if err != nil {
				t.Fatal(err)
			}
			w.apply(rq, n)
		}
		if got, want := uint64(len(w.granted)), w.perm.Body().MaxReads; got != want || w.rows != 24 {
			t.Fatalf("got %d granted, %d rows, want %d and 24", got, w.rows, want)
		}
	})
}
