package lender

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// exchange is one exchange of frames.
func (k *kit) exchange(t testing.TB, frame []byte) lending.ReplyFrame {
	t.Helper()
	var sent [][]byte
	send := func(b []byte) error { sent = append(sent, bytes.Clone(b)); return nil }
	if err := k.Serve(context.Background(), k.vendor.Org, frame, send, func() {}); err != nil {
		t.Fatal(err)
	}
	if len(sent) != 1 {
		t.Fatalf("%d frames came back", len(sent))
	}
	r, ok := lending.ParseReply(sent[0])
	if !ok {
		t.Fatalf("%.200s is no reply", sent[0])
	}
	return r
}

func frame(t testing.TB, method, request, permission string) []byte {
	t.Helper()
	b, err := lending.Frame{Method: method, Request: request, Permission: permission}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The same signed bytes have the same answer by every carrier.
func TestCarriers(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One <&> \u2028.", "client:acme")
	loan := k.issue(t, 5)
	rq := k.request(t, loan)
	got := k.exchange(t, frame(t, lending.MethodRead, rq, loan.Compact))
	s := &taker{}
	if err := k.Read(t.Context(), Call{Request: rq, Send: s}); err != nil || !bytes.Equal(s.sent[0], got.Answer) {
		t.Errorf("%v: got %s by frame, %s by call", err, got.Answer, s.sent)
	}
	status := k.request(t, loan, func(r *lending.ReadRequest) { r.Op = lending.OpStatus })
	if r, err := k.receipt(t.Context(), k.exchange(t, frame(t, lending.MethodStatus, status, "")).Receipt); err != nil || r.State != lending.Valid {
		t.Errorf("status: got %+v, %v", r, err)
	}
}

func TestServeRefuses(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	rq := k.request(t, loan)
	k.revoke(t, loan)
	for _, c := range []struct {
		name  string
		frame []byte
		code  fault.Code
	}{
		{"nothing", nil, fault.Invalid},
		{"a list", []byte("[]"), fault.Invalid},
		{"another case", []byte(`{"Method":"read","request":"` + rq + `"}`), fault.Invalid},
		{"white space", []byte(`{"method": "read","request":"` + rq + `"}`), fault.Invalid},
		{"an unknown member", []byte(`{"a":"b","method":"read","request":"` + rq + `"}`), fault.Invalid},
		{"a member twice", []byte(`{"method":"read","method":"read","request":"` + rq + `"}`), fault.Invalid},
		{"bytes after it", append(frame(t, lending.MethodRead, rq, ""), ' '), fault.Invalid},
		{"another method", frame(t, "write", rq, ""), fault.Invalid},
		{"no request", frame(t, lending.MethodRead, "", ""), fault.Invalid},
		{"33 KiB", bytes.Repeat([]byte("a"), 33<<10), fault.Invalid},
		{"another permission beside it", frame(t, lending.MethodRead, rq, rq), fault.Invalid},
		{"a loan that has ended", frame(t, lending.MethodRead, rq, ""), fault.Revoked},
	} {
		r := k.exchange(t, c.frame)
		d := fault.ParseProblem(r.Problem)
		if d.Code != c.code || (d.Receipt != "") != (c.code == fault.Revoked) {
			t.Errorf("%s: got %s, want %s", c.name, r.Problem, c.code)
		}
	}
}

// A connection that fails gets no second frame.
func TestServeOnceOnly(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	n, broken := 0, errors.New("reset")
	err := k.Serve(t.Context(), did.DID{}, frame(t, lending.MethodRead, k.request(t, loan), ""), func([]byte) error { n++; return broken }, func() {})
	if !errors.Is(err, broken) || n != 1 {
		t.Errorf("got %v after %d frames", err, n)
	}
}
