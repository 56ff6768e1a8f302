package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/torchwood"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// wire carries requests of one node to others in this process.
type wire struct {
	from  did.DID
	to    map[did.DID]*node
	calls int
}

func (w *wire) Cosign(ctx context.Context, d did.DID, request []byte) (int, []byte, error) {
	w.calls++
	n := w.to[d]
	if n == nil {
		return 0, nil, errors.New("no route")
	}
	return n.WitnessAnswer(ctx, w.from, request)
}

func TestCosignedHeadGivesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta, gamma := newParty("acme", 0x11), newParty("beta", 0x21), newParty("gamma", 0x31)
		ring := knows(acme, beta, gamma)
		a, b, c := running(t, acme, ring), listener(t, ring, beta), listener(t, ring, gamma)
		ctx := context.Background()
		id := a.event(t, barrier(1))
		flush(t, a)
		w := &wire{from: acme.did, to: map[did.DID]*node{beta.did: b, gamma.did: c}}
		time.Sleep(5 * time.Second)
		seenAt := time.Now()
		if err := a.Cosign(ctx, beta.did, w); err != nil {
			t.Fatal(err)
		}
		pull(t, a, b)
		pull(t, a, c)
		time.Sleep(5 * time.Second)
		if err := a.Cosign(ctx, gamma.did, w); err != nil {
			t.Fatal(err)
		}
		a.event(t, barrier(2))
		flush(t, a)
		pull(t, a, b)
		time.Sleep(5 * time.Second)
		if err := a.Cosign(ctx, beta.did, w); err != nil {
			t.Fatal(err)
		}
		// beta had cosigned before: the request is right the first time.
		if w.calls != 3 {
			t.Errorf("%d requests, want 3", w.calls)
		}
		f, err := a.Fact(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("[{%s %s} {%s %s}]", beta.did, seenAt.UTC().Format(time.RFC3339), gamma.did, seenAt.Add(5*time.Second).UTC().Format(time.RFC3339))
		if got := fmt.Sprint(f.Witnessed); got != want {
			t.Errorf("witnessed %s, want %s", got, want)
		}
		share(t, a, c, acme.did)
		share(t, a, b, acme.did)
		for _, n := range []*node{b, c} {
			g, err := n.Fact(ctx, id)
			if err != nil || fmt.Sprint(g.Witnessed) != want {
				t.Errorf("%s sees %v (%v), want %s", n.p.did, g.Witnessed, err, want)
			}
		}
	})
}

// share merges all cosigned notes of a log from one node into another.
func share(t *testing.T, from, to *node, d did.DID) {
	t.Helper()
	notes, err := from.Notes(context.Background(), d, 0, 1<<40, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		if _, err := to.MergeNote(context.Background(), d, n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheProofOfAWitnessedEventSatisfiesAnOutsideTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		a, b := running(t, acme, ring), listener(t, ring, beta)
		ctx := context.Background()
		id := a.event(t, plain(1))
		flush(t, a)
		if err := a.Cosign(ctx, beta.did, &wire{from: acme.did, to: map[did.DID]*node{beta.did: b}}); err != nil {
			t.Fatal(err)
		}
		p, err := a.Proof(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := attlog.ParseProof(p.Text)
		if err != nil || parsed.Check(p.Entry.Hash()) != nil || parsed.Index != p.Index {
			t.Fatalf("own check: %v", err)
		}
		v, err := torchwood.NewCosignatureVerifier(vkey(beta.did.String()+"/witness", 4, beta.witness))
		if err != nil {
			t.Fatal(err)
		}
		policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(acme.did.String()+"/log"), torchwood.SingleVerifierPolicy(v))
		if err := torchwood.VerifyProof(policy, p.Entry.Hash(), p.Text); err != nil {
			t.Error(err)
		}
	})
}

func request(t *testing.T, f *forged, s seedSigner, old, size int) attlog.Request {
	t.Helper()
	p, err := attlog.Extend(uint64(old), uint64(size), list(f.leaves(size)))
	if err != nil {
		t.Fatal(err)
	}
	return attlog.Request{Old: uint64(old), Proof: p, Note: f.head(t, s, size)}
}

func TestWitnessAnswers(t *testing.T) {
	acme, beta, stranger := newParty("acme", 0x11), newParty("beta", 0x21), newParty("stranger", 0x41)
	f := long(t, acme, 12)
	k := acme.keys[0]
	other := long(t, acme, 3)
	for i := range 9 {
		other.charter(t, k, 200+i)
	}
	cases := []struct {
		name string
		of   did.DID
		req  func(t *testing.T) []byte
		want int
		body string
	}{
		{"garbage", acme.did, func(*testing.T) []byte { return []byte("x") }, 400, ""},
		{"the head it holds, again", acme.did, func(t *testing.T) []byte { return request(t, f, k, 6, 6).Bytes() }, 200, "— "},
		{"a head that extends it", acme.did, func(t *testing.T) []byte { return request(t, f, k, 6, 9).Bytes() }, 200, "— "},
		{"from another size", acme.did, func(t *testing.T) []byte { return request(t, f, k, 5, 9).Bytes() }, 409, "6\n"},
		{"from nothing", acme.did, func(t *testing.T) []byte { return request(t, f, k, 0, 9).Bytes() }, 409, "6\n"},
		{"an older head", acme.did, func(t *testing.T) []byte { return request(t, f, k, 4, 5).Bytes() }, 409, "6\n"},
		{"old above the head", acme.did, func(t *testing.T) []byte { r := request(t, f, k, 6, 9); r.Old = 10; return r.Bytes() }, 400, ""},
		{"a false proof", acme.did, func(t *testing.T) []byte {
			r := request(t, f, k, 6, 9)
			r.Proof[0][0] ^= 1
			return r.Bytes()
		}, 422, ""},
		{"another branch", acme.did, func(t *testing.T) []byte { return request(t, other, k, 6, 9).Bytes() }, 422, ""},
		{"another root of its size", acme.did, func(t *testing.T) []byte { return request(t, other, k, 6, 6).Bytes() }, 409, "6\n"},
		{"another key", acme.did, func(t *testing.T) []byte { return request(t, f, beta.keys[0], 6, 9).Bytes() }, 403, ""},
		{"another organization's log", beta.did, func(t *testing.T) []byte { return request(t, f, k, 6, 9).Bytes() }, 404, ""},
		{"not a member", stranger.did, func(t *testing.T) []byte { return request(t, long(t, stranger, 3), stranger.keys[0], 0, 3).Bytes() }, 403, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			ctx := context.Background()
			if _, err := n.Ingest(ctx, f.pack(t, k, 0, 4, 4)); err != nil {
				t.Fatal(err)
			}
			if status, _, err := n.WitnessAnswer(ctx, acme.did, request(t, f, k, 0, 6).Bytes()); status != 200 || err != nil {
				t.Fatalf("first cosignature: %d (%v)", status, err)
			}
			status, body, err := n.WitnessAnswer(ctx, c.of, c.req(t))
			if err != nil || status != c.want || !strings.HasPrefix(string(body), c.body) {
				t.Errorf("%d %q (%v), want %d %q", status, body, err, c.want, c.body)
			}
			top, _, _ := n.pins.Highest(pins.KindCosign, acme.did.String())
			want := uint64(6)
			if c.name == "a head that extends it" {
				want = 9
			}
			if top.N != want {
				t.Errorf("pinned at %d, want %d", top.N, want)
			}
		})
	}
}

// TestAWitnessNeverCosignsTwoBranches is I-13: not across a restart, nor with
// everything lost but the pins.
func TestAWitnessNeverCosignsTwoBranches(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	k := acme.keys[0]
	f, other := long(t, acme, 8), long(t, acme, 4)
	for i := range 8 {
		other.charter(t, k, 300+i)
	}
	ctx := context.Background()
	n := listener(t, knows(acme, beta), beta)
	if status, _, err := n.WitnessAnswer(ctx, acme.did, request(t, f, k, 0, 8).Bytes()); status != 200 || err != nil {
		t.Fatalf("%d (%v)", status, err)
	}
	again := listener(t, knows(acme, beta), beta)
	again.pins = n.pins
	again.start(t)
	for _, m := range []*node{n, again} {
		for _, old := range []int{0, 4, 8} {
			status, _, err := m.WitnessAnswer(ctx, acme.did, request(t, other, k, old, 12).Bytes())
			if status == 200 || err != nil {
				t.Errorf("from %d: %d (%v)", old, status, err)
			}
		}
		if status, _, err := m.WitnessAnswer(ctx, acme.did, request(t, other, k, 8, 8).Bytes()); status == 200 || err != nil {
			t.Errorf("other root of the same size: %d (%v)", status, err)
		}
	}
}

func TestALateWitnessLearnsTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		a, b := running(t, acme, ring), listener(t, ring, beta)
		w := &wire{from: acme.did, to: map[did.DID]*node{beta.did: b}}
		ctx := context.Background()
		a.event(t, plain(1))
		flush(t, a)
		if err := a.Cosign(ctx, beta.did, w); err != nil {
			t.Fatal(err)
		}
		a.stop()
		a.start(t) // it forgets what beta holds
		a.run(t)
		a.event(t, plain(2))
		flush(t, a)
		if err := a.Cosign(ctx, beta.did, w); err != nil {
			t.Fatal(err)
		}
		if w.calls != 3 {
			t.Errorf("%d requests, want the second answered 409 and asked again", w.calls)
		}
		if f := a.events.Witnessed(acme.did, 2); len(f) != 1 {
			t.Errorf("witnessed %v", f)
		}
		if err := a.Cosign(ctx, did.MustParse("did:web:nobody.example"), w); err == nil {
			t.Error("a witness that cannot be reached cosigned")
		}
	})
}

func TestALyingWitnessIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		a := running(t, acme, ring)
		a.event(t, plain(1))
		flush(t, a)
		h, err := a.Head(context.Background(), acme.did)
		if err != nil {
			t.Fatal(err)
		}
		n := parseNote(t, h.Note)
		line, err := attlog.Cosign(context.Background(), acme.witness, beta.did, n, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string]string{
			"another key under its name": line.String(), "nothing": "", "garbage": "x\n", "endless": strings.Repeat("x", 1<<20),
		} {
			if err := a.Cosign(context.Background(), beta.did, says(body)); err == nil {
				t.Errorf("%s: believed", name)
			}
		}
		if got := a.events.Witnessed(acme.did, 0); len(got) != 0 {
			t.Errorf("witnessed %v", got)
		}
	})
}

type says string

func (s says) Cosign(context.Context, did.DID, []byte) (int, []byte, error) {
	return 200, []byte(s), nil
}

func TestNotesThatAreNotMerged(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	k := acme.keys[0]
	f := long(t, acme, 6)
	n := listener(t, knows(acme, beta), beta)
	ctx := context.Background()
	if _, err := n.Ingest(ctx, f.pack(t, k, 0, 6, 6)); err != nil {
		t.Fatal(err)
	}
	other := long(t, acme, 3)
	other.charter(t, k, 99)
	good := f.head(t, k, 4)
	line, err := attlog.Cosign(ctx, beta.witness, beta.did, good, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		note []byte
		want recorder.Verdict
	}{
		{"nothing new", f.head(t, k, 6).Bytes(), recorder.Held},
		{"an older head without a cosignature", good.Bytes(), recorder.Held},
		{"one with a cosignature", good.With(line).Bytes(), recorder.Accepted},
		{"the same again", good.With(line).Bytes(), recorder.Held},
		{"a head above", long(t, acme, 9).head(t, k, 9).Bytes(), recorder.Behind},
		{"another key", f.head(t, beta.keys[0], 4).Bytes(), recorder.Rejected},
		{"another root", other.head(t, k, 4).Bytes(), recorder.Forked},
		{"no note", []byte("x"), recorder.Rejected},
	} {
		res, err := n.MergeNote(ctx, acme.did, c.note)
		if res.Verdict != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, res.Verdict, err, c.want)
		}
	}
	if got := n.events.Witnessed(acme.did, 3); len(got) != 1 || got[0].Org != beta.did {
		t.Errorf("witnessed %v", got)
	}
	if got := n.events.Witnessed(acme.did, 4); len(got) != 0 {
		t.Errorf("a head of size 4 covers index 4: %v", got)
	}
	var _ attestation.Seen
}

// TestAWitnessKeepsWhatItSaw: one that holds nothing of a log keeps the head it cosigned, whole,
// before it answers, and the head that contradicts it; two of one size are proof at once, two
// of different sizes once the log comes, whichever of its branches that is.
func TestAWitnessKeepsWhatItSaw(t *testing.T) {
	ctx := context.Background()
	acme, beta, core := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x41)
	k := acme.keys[0]
	ours, other := branched(t, acme, 4, 9, 9)
	request := func(f *forged, old, size int) []byte {
		proof, err := attlog.Extend(uint64(old), uint64(size), list(f.leaves(size)))
		if err != nil {
			t.Fatal(err)
		}
		return attlog.Request{Old: uint64(old), Proof: proof, Note: f.head(t, k, size)}.Bytes()
	}
	for _, c := range []struct {
		name             string
		first, then      int
		branch           *forged // which comes later
		atOnce, inTheEnd bool
	}{
		{"one size", 6, 6, nil, true, true},
		{"a larger one", 6, 8, ours, false, true},
		{"a larger one, whose branch comes", 6, 8, other, false, true},
		{"what only follows", 6, 0, ours, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := listener(t, knows(acme, beta, core), beta)
			status, line, err := n.WitnessAnswer(ctx, acme.did, request(ours, 0, c.first))
			if err != nil || status != attlog.StatusCosigned {
				t.Fatalf("%d, %v", status, err)
			}
			n.start(t)
			note, err := n.events.Note(ctx, acme.did, uint64(c.first))
			if err != nil || !strings.Contains(string(note), string(line)) {
				t.Fatalf("the cosigned head is not kept: %v", err)
			}
			if c.then > 0 {
				status, _, err := n.WitnessAnswer(ctx, acme.did, request(other, c.first, c.then))
				if err != nil || status != attlog.StatusConflict && status != attlog.StatusProof {
					t.Fatalf("%d, %v", status, err)
				}
				if kept, err := n.events.Evidence(ctx, acme.did); err != nil || len(kept) != 1 || string(kept[0]) != string(other.head(t, k, c.then).Bytes()) {
					t.Errorf("%d heads are kept beside it, %v", len(kept), err)
				}
			}
			if n.Forked(acme.did) != c.atOnce {
				t.Errorf("forked at once: %v", n.Forked(acme.did))
			}
			n.start(t)
			if c.branch != nil {
				for _, to := range []int{5, 9} {
					ingest(t, n, c.branch.pack(t, k, to-5+(to-5)/4, to, 9))
				}
			}
			if b, err := n.events.Note(ctx, acme.did, 6); c.branch == other && err == nil {
				t.Errorf("a head of the other branch is a note of the log: %q", b)
			}
			if _, err := store.InspectAudit(ctx, n.audit, store.Inspection{Found: func(f store.Fault) { t.Errorf("fsck: %s", f) }}); err != nil {
				t.Error(err)
			}
			if n.Forked(acme.did) != c.inTheEnd {
				t.Errorf("forked in the end: %v", n.Forked(acme.did))
			}
			proofs, err := n.Forks(ctx, acme.did)
			if err != nil || len(proofs) > 0 != c.inTheEnd {
				t.Errorf("%d proofs, %v", len(proofs), err)
			}
		})
	}
}

// TestTwoHeadsOfOneSizeMeetInALog: a head that was cosigned before anything of the log came is
// not lost when the log comes with another one of its size.
func TestTwoHeadsOfOneSizeMeetInALog(t *testing.T) {
	ctx := context.Background()
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	k := acme.keys[0]
	ours, other := branched(t, acme, 4, 9, 9)
	for _, held := range []int{0, 3, 6} {
		n := listener(t, knows(acme, beta), beta)
		if held > 0 {
			ingest(t, n, ours.pack(t, k, 0, min(held, 4), min(held, 4)))
		}
		status, _, err := n.WitnessAnswer(ctx, acme.did, attlog.Request{Note: ours.head(t, k, 8)}.Bytes())
		if err != nil || status != attlog.StatusCosigned {
			t.Fatalf("%d, %v", status, err)
		}
		for _, to := range []int{min(max(held, 4), 6), 8} {
			_, _ = n.Ingest(ctx, other.pack(t, k, len(n.entries(t, acme.did)), to, 8))
		}
		if got := len(n.entries(t, acme.did)); got != 8 {
			t.Fatalf("%d held first: %d entries", held, got)
		}
		proofs, err := n.Forks(ctx, acme.did)
		if err != nil || len(proofs) != 1 || !n.Forked(acme.did) {
			t.Errorf("%d held first: %d proofs, %v", held, len(proofs), err)
		}
		if kept, err := n.events.Evidence(ctx, acme.did); err != nil || len(kept) == 0 {
			t.Errorf("%d held first: the head is lost, %v", held, err)
		}
	}
}

// TestANoteThatIsHeldIsNotVerifiedAgain: peers show the same notes with each sync; one more
// line is looked at, and a false one does not pass for the one that is held.
func TestANoteThatIsHeldIsNotVerifiedAgain(t *testing.T) {
	ctx := context.Background()
	acme, beta, core := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x41)
	f := long(t, acme, 5)
	n := listener(t, knows(acme, beta, core), beta)
	ingest(t, n, f.pack(t, acme.keys[0], 0, 5, 5))
	head := f.head(t, acme.keys[0], 5)
	by := func(w *party) attlog.Line {
		line, err := attlog.Cosign(ctx, w.witness, w.did, head, time.Unix(1_800_000_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	merge := func(note attlog.Note, want recorder.Verdict) {
		t.Helper()
		if res, err := n.MergeNote(ctx, acme.did, note.Bytes()); res.Verdict != want {
			t.Fatalf("%s (%v), want %s", res.Verdict, err, want)
		}
	}
	merge(head, recorder.Held)
	merge(head.With(by(core)), recorder.Accepted)
	asked := 0
	n.SetRing(askedRing{n.ring, &asked})
	merge(head.With(by(core)), recorder.Held)
	merge(head, recorder.Held)
	if asked != 0 {
		t.Error("what is held was verified again")
	}
	other := f.head(t, beta.keys[0], 5)
	merge(other.With(by(core)), recorder.Rejected)
	merge(head.With(by(core), by(beta)), recorder.Accepted)
	if asked == 0 {
		t.Error("a line that is not held was not verified")
	}
}

// askedRing counts who asks for witness keys.
type askedRing struct {
	recorder.Ring
	n *int
}

func (a askedRing) Witness(ctx context.Context, d did.DID) []did.PublicKey {
	*a.n++
	return a.Ring.Witness(ctx, d)
}
