package client

import (
	"bytes"
	"context"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// cachingKit has a loan with a caching window of 60 s, which its lender's agent signed, and
// an answer to any read of it by hand.
type cachingKit struct {
	*kit
	perm  envelope.Verified[lending.Permission]
	text  string // compact permission
	seq   uint64
	state lending.PermState
	until func(at time.Time) envelope.Time // of the next answers
}

func newCachingKit(t *testing.T, window uint64) *cachingKit {
	t.Helper()
	k := &cachingKit{kit: newKit(t), state: lending.Valid}
	p := k.issue(t, 1000).Permission
	p.CacheS = window
	var err error
	e := sealAs(t, k.kit, p)
	if k.text, err = e.Compact(); err != nil {
		t.Fatal(err)
	}
	if k.perm, _, err = k.permission(t.Context(), k.text); err != nil {
		t.Fatal(err)
	}
	k.until = func(at time.Time) envelope.Time { return envelope.TimeOf(at.Add(time.Duration(window) * time.Second)) }
	k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) { return k.reply(t), nil })
	return k
}

func sealAs[T envelope.Body](t *testing.T, k *kit, body T) envelope.Envelope {
	t.Helper()
	key, _, err := k.acme.Signers.Agent(t.Context(), k.research)
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.Seal(t.Context(), body, key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// reply answers the newest request.
func (k *cachingKit) reply(t *testing.T) []byte {
	t.Helper()
	k.wire.mu.Lock()
	f, err := lending.ParseFrame(k.wire.frames[len(k.wire.frames)-1])
	k.wire.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	rq, err := envelope.ParseCompact(f.Request, lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		t.Fatal(err)
	}
	c, err := lending.Join(nil, lending.NewSalt())
	if err != nil {
		t.Fatal(err)
	}
	at := k.w.Clock.Now()
	p := k.perm.Body()
	r := lending.Receipt{At: envelope.TimeOf(at), Kid: p.Kid, Lender: p.Lender, Signed: p.Lender, Op: lending.OpRead, Perm: k.perm.ID(), Request: rq.ID(),
		Row: envelope.IDOf([]byte("row")), Seq: k.seq, Left: p.MaxReads - k.seq, State: k.state}
	if k.state == lending.Valid {
		k.seq++
		r.Seq, r.Left, r.Count, r.Hash, r.CacheUntil = k.seq, p.MaxReads-k.seq, 1, c.Hash, k.until(at)
	}
	compact, err := sealAs(t, k.kit, r).Compact()
	if err != nil {
		t.Fatal(err)
	}
	if k.state != lending.Valid {
		return lending.ProblemFrame([]byte(`{"code":"`+string(k.state)+`","receipt":"`+compact+`","status":403}`), 403)
	}
	answer, err := lending.Reply(c, compact, "", r.CacheUntil)
	if err != nil {
		t.Fatal(err)
	}
	return lending.AnswerFrame(answer)
}

// asked reads, and says whether the lender was asked for it.
func (k *cachingKit) asked(t *testing.T, change ...func(in *ReadInput)) bool {
	t.Helper()
	in := k.ask(k.text)
	for _, c := range change {
		c(&in)
	}
	before := len(k.wire.frames)
	r, err := k.Read(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	was := len(k.wire.frames) > before
	if r.Cached == was {
		t.Errorf("asked %v, and said to be kept: %v", was, r.Cached)
	}
	return was
}

func TestCachingWindow(t *testing.T) {
	k := newCachingKit(t, 60)
	for _, step := range []struct {
		name   string
		pass   time.Duration
		change func(in *ReadInput)
		asks   bool
	}{
		{"the first", 0, func(*ReadInput) {}, true},
		{"the same at once", 0, func(*ReadInput) {}, false},
		{"the same in the last second", 59 * time.Second, func(*ReadInput) {}, false},
		{"for another purpose", 0, func(in *ReadInput) { in.Purpose = "another" }, true},
		{"with a filter", 0, func(in *ReadInput) { in.Filter = "tag:client:acme" }, true},
		{"ranked", 0, func(in *ReadInput) { in.Query = "trains" }, true},
		{"with a limit", 0, func(in *ReadInput) { in.Limit = 7 }, true},
		{"with a cursor", 0, func(in *ReadInput) { in.Cursor = "abc" }, true},
		{"the first when its window ends", time.Second, func(*ReadInput) {}, true},
		{"that one again", 0, func(*ReadInput) {}, false},
	} {
		k.w.Clock.Add(step.pass)
		if got := k.asked(t, step.change); got != step.asks {
			t.Errorf("%s: the lender was asked: %v, want %v", step.name, got, step.asks)
		}
	}
}

// Any answer but a valid one wipes what is kept of the permission, and nothing that was on
// its way comes in after it.
func TestCacheIsWiped(t *testing.T) {
	for name, end := range map[string]func(k *cachingKit){
		"a signed end": func(k *cachingKit) { k.state = lending.Stale },
		"silence":      func(k *cachingKit) { k.wire.set(true, nil) },
		"a portal": func(k *cachingKit) {
			k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) { return []byte("<html>"), nil })
		},
		"a bare refusal": func(k *cachingKit) {
			k.wire.set(false, func(context.Context, func() []byte) ([]byte, error) {
				return []byte(`{"problem":{"code":"refused","status":403},"status":403}`), nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCachingKit(t, 60)
			k.asked(t)
			end(k)
			in := k.ask(k.text)
			in.Purpose = "something else"
			if _, err := k.Read(t.Context(), in); err == nil {
				t.Fatal("it was answered")
			}
			if _, err := k.Read(t.Context(), k.ask(k.text)); err == nil {
				t.Error("what was kept is handed out after another answer than a valid one")
			}
			if k.cache.bytes != 0 {
				t.Errorf("%d bytes are kept", k.cache.bytes)
			}
		})
	}
}

func TestCacheTakesNothingLate(t *testing.T) {
	k := newCachingKit(t, 60)
	answer := k.wire.change
	k.wire.set(false, func(ctx context.Context, ask func() []byte) ([]byte, error) {
		b, err := answer(ctx, ask)
		k.cache.wipe(k.perm.ID()) // another read is told of the end meanwhile
		return b, err
	})
	k.asked(t)
	k.wire.set(false, answer)
	if !k.asked(t) {
		t.Error("an answer that was on its way is kept after the end was told")
	}
}

// A window that the permission does not sign, or a longer one, is no answer at all; without
// one nothing is kept.
func TestCacheIsSignedOnly(t *testing.T) {
	k := newCachingKit(t, 60)
	k.until = func(at time.Time) envelope.Time { return envelope.TimeOf(at.Add(61 * time.Second)) }
	if _, err := k.Read(t.Context(), k.ask(k.text)); fault.Of(err) != fault.Revoked {
		t.Errorf("a longer window: got %v", err)
	}
	k.until = func(time.Time) envelope.Time { return envelope.Time{} }
	k.asked(t)
	if !k.asked(t) {
		t.Error("an answer without a window is kept")
	}
	none := newKit(t)
	loan := none.issue(t, 5)
	first, second := none.mustRead(t, loan.Compact), none.mustRead(t, loan.Compact)
	if second.Cached || first.ReceiptID == second.ReceiptID || bytes.Equal(none.wire.frames[0], none.wire.frames[1]) {
		t.Error("a loan without a window is answered from memory")
	}
}
