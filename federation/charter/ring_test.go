package charter

import (
	"bytes"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
)

// real is an organization with a did:webvh made as a node makes it.
type real struct {
	actor
	log []byte
}

func founded(t testing.TB, name string, b byte) real {
	t.Helper()
	d, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{Domain: name + ".example", Update: seed(b + 1), Next: seed(b + 2).Public(),
		Recovery: seed(b + 3).Public(), Issuer: seed(b).Public(), At: t0.Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return real{actor{seed(b), d, name}, append(line, '\n')}
}

func (r real) lines() []bundle.DIDLog { return bundle.DIDLogs(r.did, 1, r.log, nil) }

func (r real) request(t testing.TB) Join {
	t.Helper()
	j := r.join(true)
	j.SCID, j.DIDVersion = scidOf(r.did), didwebvh.VersionID(bytes.TrimSpace(r.log))
	return j
}

func fresh() Ring {
	return NewRing(keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return t0 }), nil)
}

// TestTheRoadWithRealDIDs: three organizations with did:webvh, and one with did:key,
// found a federation by files; each verifies with an empty keyring.
func TestTheRoadWithRealDIDs(t *testing.T) {
	orgs := []real{founded(t, "acme", 10), founded(t, "vendor", 20), founded(t, "arbiter", 30)}
	lab := actor{seed(40), did.MustParse("did:key:" + seed(40).Public().Multikey()), "lab"}
	var files []File
	for _, o := range orgs {
		f, err := NewJoinFile(t.Context(), o.request(t), o, o.lines()...)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, reread(t, f))
	}
	j := lab.join(true)
	j.SCID, j.DIDVersion = "", ""
	f, err := NewJoinFile(t.Context(), j, lab)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Merge(append(files, f)...)
	if err != nil {
		t.Fatal(err)
	}
	cards, err := Cards(t.Context(), all, fresh())
	if err != nil || len(cards) != 4 {
		t.Fatalf("%d cards, %v", len(cards), err)
	}
	o := Options{Name: "fin-lending", Mediators: []did.DID{orgs[2].did}}
	for _, c := range cards {
		o.Members = append(o.Members, c.Join.Body().Member(0))
	}
	b, err := New(o, t0)
	if err != nil {
		t.Fatal(err)
	}
	all.Charters = []envelope.Envelope{seal(t, b)}
	for _, s := range []actor{orgs[1].actor, lab, orgs[0].actor, orgs[2].actor} {
		if _, err := Apply(t.Context(), Chain{}, all, fresh(), t0); outcome(err) != "A6" {
			t.Fatalf("before %s: %v", s.name, err)
		}
		all = reread(t, signed(t, all, s))
	}
	ring := fresh()
	for range 2 { // the second time every log is held already
		res, err := Apply(t.Context(), Chain{}, all, ring, t0)
		if err != nil || len(res.Chain.Head().ActiveMembers()) != 4 {
			t.Fatalf("%d members, %v", len(res.Chain.Head().ActiveMembers()), err)
		}
	}

	without := all
	without.Logs = without.Logs[1:]
	without.Joins = nil
	if _, err := Apply(t.Context(), Chain{}, without, fresh(), t0); outcome(err) != "pending" {
		t.Errorf("without a log: %v", err)
	}
	forged := all
	forged.Logs = append([]bundle.DIDLog{}, all.Logs...)
	forged.Logs[0].Log = append([]byte{}, forged.Logs[0].Log...)
	forged.Logs[0].Log[len(forged.Logs[0].Log)/2] ^= 1
	if _, err := Apply(t.Context(), Chain{}, forged, fresh(), t0); err == nil {
		t.Error("a forged log is taken")
	}
}

// TestAHeadMovesWithARealRotation: after did rotate a charter names the new head, and
// the new key signs for it.
func TestAHeadMovesWithARealRotation(t *testing.T) {
	a, v, m := founded(t, "acme", 10), founded(t, "vendor", 20), founded(t, "arbiter", 30)
	ring := fresh()
	var logs []bundle.DIDLog
	o := Options{Name: "fin-lending", Mediators: []did.DID{m.did}}
	for _, r := range []real{a, v, m} {
		o.Members = append(o.Members, r.request(t).Member(0))
		logs = append(logs, r.lines()...)
	}
	b, err := New(o, t0)
	if err != nil {
		t.Fatal(err)
	}
	genesis := File{Charters: []envelope.Envelope{seal(t, b, a, v, m)}, Logs: logs}
	res, err := Apply(t.Context(), Chain{}, genesis, ring, t0)
	if err != nil {
		t.Fatal(err)
	}

	h, err := didwebvh.Verify(v.log, nil, t0)
	if err != nil {
		t.Fatal(err)
	}
	line, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: seed(22), Next: seed(25).Public(), Issuer: seed(24).Public(), At: t0})
	if err != nil {
		t.Fatal(err)
	}
	line = append(line, '\n')
	next, err := Amend(res.Chain.Head(), res.Chain.Federation(), t0, 0)
	if err != nil {
		t.Fatal(err)
	}
	rotated := actor{seed(24), v.did, "vendor"}
	rec := member(t, &next, rotated)
	rec.DIDHead, rec.Key = didwebvh.VersionID(bytes.TrimSpace(line)), rotated.keyRecord()
	e := seal(t, next, m, rotated)
	if _, err := Apply(t.Context(), res.Chain, File{Charters: []envelope.Envelope{e}}, ring, t0); outcome(err) != "pending" {
		t.Errorf("before the log is held: %v", err)
	}
	f := File{Charters: []envelope.Envelope{e}, Logs: bundle.DIDLogs(v.did, 2, line, nil)}
	moved, err := Apply(t.Context(), res.Chain, f, ring, t0)
	if err != nil || len(moved.Ops) != 1 || moved.Ops[0].Kind != OpHead {
		t.Fatalf("ops %v, %v", moved.Ops, err)
	}

	// A newcomer walks the whole file, whose genesis names the retired key.
	f, err = Merge(f, genesis)
	if err != nil {
		t.Fatal(err)
	}
	if walked, err := Apply(t.Context(), Chain{}, reread(t, f), fresh(), t0); err != nil || walked.Chain.Head().ID != e.ID() {
		t.Errorf("walked: %v", err)
	}
}
