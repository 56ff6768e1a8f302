package recorder_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
)

// forged is a log written by hand, so that it may hold what no honest
// sequencer writes.
type forged struct {
	p       *party
	entries []attestation.Entry
}

func (f *forged) leaves(n int) []tlog.Hash {
	var out []tlog.Hash
	for _, e := range f.entries[:n] {
		out = append(out, e.Hash())
	}
	return out
}

// say adds an event signed by s under kid.
func (f *forged) say(t *testing.T, s seedSigner, typ attestation.Type, subject string, refs []envelope.ID, data any, change func(*attestation.Event)) {
	t.Helper()
	raw, err := envelope.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	nonce := tlog.RecordHash(fmt.Append(nil, f.p.did, len(f.entries)))
	at, _ := envelope.ParseTime("2026-12-01T10:00:00Z")
	ev := attestation.Event{At: at, Data: raw, Kid: s.kid(), Nonce: base64.RawURLEncoding.EncodeToString(nonce[:16]), Org: f.p.did, Refs: refs, Subject: subject, Type: typ}
	if change != nil {
		change(&ev)
	}
	body, err := envelope.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	f.raw(s, body)
}

func (f *forged) raw(s seedSigner, body []byte) {
	env := envelope.Envelope{Type: attestation.TypeEvent, Body: body}
	sig, _ := s.Sign(context.Background(), env.Preimage())
	f.entries = append(f.entries, append(append(attestation.Entry{1}, sig[:]...), body...))
}

func (f *forged) open(t *testing.T) {
	f.say(t, f.p.keys[0], "log.opened", "", nil, attestation.LogOpened{DidVersion: version(0)}, nil)
}

func (f *forged) charter(t *testing.T, s seedSigner, i int) {
	d := plain(i)
	f.say(t, s, d.Type, d.Subject, d.Refs, d.Data, nil)
}

func (f *forged) rotated(t *testing.T, s seedSigner, n int, reason string, taint *uint64) {
	f.say(t, s, "key.rotated", f.p.did.String(), nil, attestation.KeyRotated{
		Added: []string{f.p.keys[n].kid()}, Did: f.p.did, DidVersion: version(n), Previous: version(n - 1),
		Reason: reason, Retired: []string{f.p.keys[n-1].kid()}, TaintFrom: taint,
	}, nil)
}

func (f *forged) head(t *testing.T, s seedSigner, size int) attlog.Note {
	t.Helper()
	h := attestation.Head{Size: uint64(size), Root: attlog.RootOf(f.leaves(size))}
	n, err := attlog.Sign(context.Background(), s, f.p.did, h)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// pack makes the package [from, to) under a head of size signed by s.
func (f *forged) pack(t *testing.T, s seedSigner, from, to, size int) attestation.Package {
	t.Helper()
	rest := attlog.NewRange(uint64(to))
	for _, h := range f.leaves(size)[to:] {
		if err := rest.Append(h); err != nil {
			t.Fatal(err)
		}
	}
	return attestation.Package{Did: f.p.did, Entries: f.entries[from:to], From: uint64(from), Note: f.head(t, s, size).Bytes(), Rest: rest.Hashes()}
}

// listener is a node that only takes in.
func listener(t *testing.T, ring *world, p *party) *node {
	t.Helper()
	n := newNode(t, p, ring)
	n.start(t)
	return n
}

func long(t *testing.T, p *party, n int) *forged {
	f := &forged{p: p}
	f.open(t)
	for i := 1; i < n; i++ {
		f.charter(t, p.keys[0], i)
	}
	return f
}
