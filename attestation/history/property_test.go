package history_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
)

// The invariants of section 11 of the identity specification that the position of an event
// decides: I-6, I-7 and I-8, and B-3 of its section 15.

// saying makes an event of org that claims to be of a time.
func saying(t *testing.T, s signer, at time.Time, typ attestation.Type, subject string, refs []envelope.ID, data any) envelope.Envelope {
	t.Helper()
	raw, err := envelope.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	env, err := envelope.Seal(context.Background(), attestation.Event{
		At: envelope.TimeOf(at), Data: raw, Kid: s.kid(), Nonce: base64.RawURLEncoding.EncodeToString(make([]byte, 16)),
		Org: org, Refs: refs, Subject: subject, Type: typ,
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// act is an event that bears on no key.
func act(t *testing.T, s signer, at time.Time) envelope.Envelope {
	id := envelope.IDOf([]byte(at.String()))
	return saying(t, s, at, "charter.signed", id.String(), []envelope.ID{id}, attestation.CharterSigned{Body: id})
}

// TestB3AnEventDatedBack (w3c-ccg/did-method-web#85, decentralized-identity/ion#280,
// decentralized-identity/didwebvh#16 and #153, vaaraio/vaara PR#223): the first key signs,
// is removed, and signs again with a time at which it was in force.
func TestB3AnEventDatedBack(t *testing.T) {
	v := versions{{i1}, {i2}}
	k := must(t, history.New(org), v, 0, opened(t, i1, name(0)))
	k = must(t, k, v, 1, act(t, i1, from))
	k = must(t, k, v, 2, rotated(t, i2, swap()))
	for _, at := range []time.Time{from, from.Add(-time.Hour), from.Add(time.Hour), time.Unix(0, 0)} {
		if _, err := apply(t, k, v, 3, act(t, i1, at)); !errors.Is(err, envelope.ErrRetired) {
			t.Errorf("dated %s: %v", at, err)
		}
	}
	if _, err := k.At(1).Key(t.Context(), org, i1.kid()); err != nil {
		t.Errorf("its first event: %v", err)
	}
}

// career is what a random log makes of each key, told apart from the fold it is compared with.
type career struct {
	listed  map[string]uint64 // index of the first version that lists a key
	removed map[string]uint64 // index of the first version that lists it no more
	last    uint64            // index of the end of the organization, 0 while there is none
}

// counts: a key counts from where it is listed up to where it is removed. The rotation that
// removes it is the new key's; only the last event of an organization is by a key it removes.
func (c career) counts(kid string, i uint64) bool {
	in, was := c.listed[kid]
	out, gone := c.removed[kid]
	return was && in <= i && (!gone || i < out || i == out && c.last == i)
}

// random is a log that is being written.
type random struct {
	career
	t    *testing.T
	v    versions
	keys history.Keys
	pool []signer
}

func newRandom(t *testing.T) *random {
	r := &random{t: t, v: versions{{seeded(0x41)}}, career: career{listed: map[string]uint64{}, removed: map[string]uint64{}}}
	for b := range byte(6) {
		r.pool = append(r.pool, seeded(0x41+b))
	}
	r.listed[r.pool[0].kid()] = 0
	r.keys = must(t, history.New(org), r.v, 0, opened(t, r.pool[0], name(0)))
	return r
}

// rotate lets a signer announce another list of keys, none for the end.
func (r *random) rotate(rt *rapid.T, at time.Time, by signer, list []signer) (taken bool) {
	was, i := r.v[len(r.v)-1], r.keys.Size()
	d := attestation.KeyRotated{Added: []string{}, Did: org, DidVersion: name(len(r.v)), Previous: name(len(r.v) - 1), Reason: "scheduled", Retired: []string{}}
	for _, s := range list {
		if !slices.ContainsFunc(was, func(o signer) bool { return o.kid() == s.kid() }) {
			d.Added = append(d.Added, s.kid())
		}
	}
	for _, s := range was {
		if !slices.ContainsFunc(list, func(o signer) bool { return o.kid() == s.kid() }) {
			d.Retired = append(d.Retired, s.kid())
		}
	}
	if rapid.Bool().Draw(rt, "compromise") && i > 0 {
		above := rapid.Uint64Range(0, i-1).Draw(rt, "taint from")
		d.Reason, d.TaintFrom = "compromise", &above
	}
	next, trial := r.career.after(i, d, len(list) == 0), append(slices.Clone(r.v), list)
	k, err := apply(r.t, r.keys, trial, i, saying(r.t, by, at, "key.rotated", org.String(), nil, d))
	if want := next.counts(by.kid(), i); (err == nil) != want {
		rt.Fatalf("rotation at %d by %s: %v, it counts there: %v", i, by.kid(), err, want)
	}
	if err != nil {
		return false
	}
	r.keys, r.v, r.career = k, trial, next
	return true
}

func (c career) after(i uint64, d attestation.KeyRotated, end bool) career {
	out := career{listed: map[string]uint64{}, removed: map[string]uint64{}}
	for kid, at := range c.listed {
		out.listed[kid] = at
	}
	for kid, at := range c.removed {
		out.removed[kid] = at
	}
	for _, kid := range d.Added {
		if _, ok := out.listed[kid]; !ok {
			out.listed[kid] = i
		}
	}
	for _, kid := range d.Retired {
		if _, ok := out.removed[kid]; !ok {
			out.removed[kid] = i
		}
	}
	if end {
		out.last = i
	}
	return out
}

// TestI6I7I8PositionAloneDecides writes random logs: keys come, go and are listed again,
// some by a compromise, the organization may end; events carry any time. Whether an event
// counts follows from its index alone (I-6). What counted at an index counts there after
// all that came later (I-7). A retired key counts up to the rotation, not at it and not
// after it (I-8).
func TestI6I7I8PositionAloneDecides(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRandom(t)
		type place struct {
			kid string
			i   uint64
		}
		was := map[place]bool{}
		for range rapid.IntRange(1, 20).Draw(rt, "events") {
			by := rapid.SampledFrom(r.pool).Draw(rt, "by")
			at := from.Add(time.Duration(rapid.IntRange(-4e5, 4e5).Draw(rt, "hours")) * time.Hour)
			i := r.keys.Size()
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0, 1:
				list := rapid.SliceOfNDistinct(rapid.SampledFrom(r.pool), 1, 3, signer.kid).Draw(rt, "list")
				if !ended(r) && changes(r, list) {
					r.rotate(rt, at, by, list)
				}
			case 2:
				if !ended(r) && rapid.IntRange(0, 5).Draw(rt, "end") == 0 {
					r.rotate(rt, at, by, nil)
				}
			default:
				k, err := apply(t, r.keys, r.v, i, act(t, by, at))
				if want := r.counts(by.kid(), i) && !(ended(r) && i > r.last); (err == nil) != want {
					rt.Fatalf("event at %d, dated %s: %v, its key counts there: %v", i, at, err, want)
				}
				if err == nil {
					r.keys = k
				}
			}
			for _, s := range r.pool {
				for i := range r.keys.Size() {
					_, err := r.keys.At(i).Key(t.Context(), org, s.kid())
					p := place{s.kid(), i}
					if before, seen := was[p]; seen && before != (err == nil) {
						rt.Fatalf("key %s at %d: it counted %v, now %v", p.kid, i, before, err)
					}
					if was[p] = err == nil; was[p] != r.counts(p.kid, i) {
						rt.Fatalf("key %s at %d: %v, it was listed at %v and removed at %v", p.kid, i, err, r.listed, r.removed)
					}
				}
			}
		}
	})
}

func ended(r *random) bool { return len(r.v[len(r.v)-1]) == 0 }

// changes tells a list from the one in force.
func changes(r *random, list []signer) bool {
	was := r.v[len(r.v)-1]
	return len(was) != len(list) || slices.ContainsFunc(list, func(s signer) bool {
		return !slices.ContainsFunc(was, func(o signer) bool { return o.kid() == s.kid() })
	})
}

// TestI7AnAgentCountsWhereItDid: whatever the log says later of an agent or its
// organization, where an object of it counted it counts.
func TestI7AnAgentCountsWhereItDid(t *testing.T) {
	a := seeded(0x31)
	agent := did.MustParse("did:key:" + a.kid())
	object := func(context.Context, envelope.ID) (string, did.PublicKey, error) { return a.kid(), a.Public(), nil }
	ids := []envelope.ID{envelope.IDOf([]byte("one")), envelope.IDOf([]byte("two"))}
	rapid.Check(t, func(rt *rapid.T) {
		r := newRandom(t)
		held := map[uint64]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "events") {
			in := r.v[len(r.v)-1]
			at := slices.IndexFunc(in, func(s signer) bool { return r.counts(s.kid(), r.keys.Size()) })
			if at < 0 || ended(r) {
				return
			}
			by, n := in[at], uint64(rapid.IntRange(1, 2).Draw(rt, "serial"))
			id := ids[n-1]
			switch rapid.IntRange(0, 3).Draw(rt, "do") {
			case 0:
				r.keys = must(t, r.keys, r.v, r.keys.Size(), event(t, by, "agent.issued", agent.String(), []envelope.ID{id}, attestation.AgentIssued{Agent: agent, ID: id, Name: "a", Serial: n}))
			case 1:
				d := attestation.AgentRevoked{Agent: agent, Name: "a", Reason: "ended", ThroughSerial: n}
				if rapid.Bool().Draw(rt, "taint") {
					above := rapid.Uint64Range(0, r.keys.Size()-1).Draw(rt, "taint from")
					d.Reason, d.TaintFrom = "key_compromise", &above
				}
				r.keys = must(t, r.keys, r.v, r.keys.Size(), event(t, by, "agent.revoked", agent.String(), []envelope.ID{id}, d))
			default:
				next := rapid.SampledFrom(r.pool).Draw(rt, "next")
				if changes(r, []signer{next}) {
					r.rotate(rt, from, next, []signer{next})
				}
			}
			for i := range r.keys.Size() {
				_, err := r.keys.Agents(object, func(t history.Term) error { return t.Holds(i) }).Key(t.Context(), agent, a.kid())
				if was, seen := held[i]; seen && was && err != nil {
					rt.Fatalf("at %d it counted, now %v", i, err)
				}
				held[i] = err == nil
			}
		}
	})
}
