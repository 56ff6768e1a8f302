package recorder_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
)

// dated adds an event that claims to be of a time.
func (f *forged) dated(t *testing.T, s seedSigner, i int, at time.Time) {
	d := plain(i)
	f.say(t, s, d.Type, d.Subject, d.Refs, d.Data, func(e *attestation.Event) { e.At = envelope.TimeOf(at) })
}

// TestB3AnEventDatedBack is report B-3 of the identity specification: an event under the
// first key, the key removed, and a new event under it dated back into its time.
func TestB3AnEventDatedBack(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	then := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	f := &forged{p: acme}
	f.open(t)
	f.dated(t, old, 1, then)
	f.rotated(t, next, 1, "scheduled", nil)
	f.dated(t, old, 2, then)
	f.dated(t, old, 3, then.Add(-time.Hour))
	f.dated(t, next, 4, then)
	for name, parts := range map[string][]int{"at once": {6}, "one by one": {1, 2, 3, 4, 5, 6}} {
		n := listener(t, knows(acme, beta), beta)
		was := 0
		for _, to := range parts {
			if _, err := n.Ingest(context.Background(), f.pack(t, next, was, to, 6)); err != nil {
				t.Fatal(err)
			}
			was = to
		}
		if got, want := strings.Join(n.standings(t, acme.did), " "), "valid valid valid void:key void:key valid"; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// unfolding is a log that a node learns piece by piece, its DID log a step ahead.
type unfolding struct {
	*forged
	n    *node
	ring *world
	want []string // standing of each event
	held int
}

// more ingests what is new, or restarts first.
func (u *unfolding) more(t *testing.T, rt *rapid.T) {
	size := len(u.entries)
	res, err := u.n.Ingest(context.Background(), u.pack(t, u.p.current(), u.held, size, size))
	if err != nil || res.Verdict != recorder.Accepted {
		rt.Fatalf("%s, %v", res.Verdict, err)
	}
	u.held = size
	u.check(t, rt)
}

func (u *unfolding) check(t *testing.T, rt *rapid.T) {
	if got := u.n.standings(t, u.p.did); !slices.Equal(got, u.want[:len(got)]) {
		rt.Fatalf("got  %v\nwant %v", got, u.want[:len(got)])
	}
}

// rotate brings another key, known from the DID log before its event comes.
func (u *unfolding) rotate(t *testing.T, rt *rapid.T, reason string) {
	u.p.add(seeded(byte(0x60 + len(u.p.keys))))
	u.ring.learn(u.p)
	if err := u.n.Recheck(context.Background(), u.p.did); err != nil {
		rt.Fatal(err)
	}
	u.check(t, rt)
	at := len(u.entries)
	var above *uint64
	if reason == "compromise" {
		from := rapid.Uint64Range(0, uint64(at)-1).Draw(rt, "taint from")
		above = &from
		for i := int(from) + 1; i < at; i++ {
			if u.want[i] == "valid" {
				u.want[i] = "disputed:taint"
			}
		}
	}
	u.rotated(t, u.p.current(), len(u.p.keys)-1, reason, above)
	u.want = append(u.want, "valid")
}

// TestI7WhatCountedAtItsIndexGoesOn is I-7 of the identity specification in a node that
// learns a log as it grows: scheduled rotations and lost keys, events of retired keys with
// any time, restarts and repetitions change no standing; a compromise makes disputed what it
// names, and nothing else.
func TestI7WhatCountedAtItsIndexGoesOn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		beta := newParty("beta", 0x21)
		u := &unfolding{forged: &forged{p: newParty("acme", 0x11)}, want: []string{"valid"}}
		u.ring = knows(u.p, beta)
		u.n = listener(t, u.ring, beta)
		u.open(t)
		u.more(t, rt)
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(-1e5, 1e5).Draw(rt, "minutes")) * time.Minute)
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				u.rotate(t, rt, rapid.SampledFrom([]string{"scheduled", "lost", "compromise"}).Draw(rt, "reason"))
			case 1:
				if len(u.p.keys) > 1 {
					retired := rapid.IntRange(0, len(u.p.keys)-2).Draw(rt, "retired")
					u.dated(t, u.p.keys[retired], 100+i, at)
					u.want = append(u.want, "void:key")
				}
			case 2:
				u.n.start(t)
			default:
				u.dated(t, u.p.current(), 100+i, at)
				u.want = append(u.want, "valid")
			}
			if u.held < len(u.entries) {
				u.more(t, rt)
			}
		}
		u.n.start(t)
		u.check(t, rt)
	})
}
