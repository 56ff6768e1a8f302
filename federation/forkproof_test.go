package federation_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	. "trustnode/federation"
)

var (
	forkDay1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	forkDay2 = time.Date(2026, 12, 15, 9, 0, 0, 0, time.UTC)
	forkSeen = forkDay2.Add(4 * time.Second)
)

// forkedLog is the log of forked.example after its first entry, and two entries 2 that
// its next update key signed: update 0x01, then 0x02, then 0x04; recovery 0x03; issuer
// 0x11, then 0x13 and 0x15.
func forkedLog(t testing.TB) (one didwebvh.History, a, b []byte) {
	t.Helper()
	_, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{Domain: "forked.example", Update: newSigner(0x01), Next: newSigner(0x02).Public(),
		Recovery: newSigner(0x03).Public(), Issuer: newSigner(0x11).Public(), At: forkDay1})
	if err != nil {
		t.Fatal(err)
	}
	if one, err = didwebvh.Verify(line, nil, forkSeen); err != nil {
		t.Fatal(err)
	}
	rotate := func(issuer byte) []byte {
		l, err := didwebvh.Rotate(t.Context(), one, didwebvh.RotateRequest{Update: newSigner(0x02), Next: newSigner(0x04).Public(), Issuer: newSigner(issuer).Public(), At: forkDay2})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	return one, rotate(0x13), rotate(0x15)
}

func didLogProof(t testing.TB) ForkProof {
	t.Helper()
	one, a, b := forkedLog(t)
	p, err := ProveDIDLog(one.DID(), 1, one.Head().Line, a, b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGoldenForkProof(t *testing.T) {
	want := golden(t)["forkproof.did_log"]
	one, a, b := forkedLog(t)
	for _, pair := range [][2][]byte{{a, b}, {b, a}} {
		p, err := ProveDIDLog(one.DID(), 1, one.Head().Line, pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Encode()
		if err != nil || string(got) != want {
			t.Errorf("encoded\n%s, %v, want\n%s", got, err, want)
		}
	}
	for _, name := range []string{"forkproof.did_log", "forkproof.charter", "forkproof.log"} {
		p, err := ParseForkProof([]byte(golden(t)[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, err := p.Encode(); err != nil || string(again) != golden(t)[name] {
			t.Errorf("%s again\n%s, %v", name, again, err)
		}
	}
	if _, err := ProveDIDLog(one.DID(), 1, one.Head().Line, a, a); !errors.Is(err, ErrSameEntry) {
		t.Errorf("one line twice: %v", err)
	}
	p, err := ProveDIDLog(one.DID(), 0, nil, a, b)
	if err != nil || p.Parent != nil || p.Entry() != 1 {
		t.Errorf("first entries that differ: %+v, %v", p, err)
	}
}

func TestBadForkProofs(t *testing.T) {
	read := func(s string) error { _, err := ParseForkProof([]byte(s)); return err }
	g := golden(t)
	p := didLogProof(t)
	edits{
		{"a is not below b", `{"a":{"id":"` + p.A.ID.String(), `{"a":{"id":"` + p.B.ID.String()},
		{"a and b are one", `"b":{"id":"` + p.B.ID.String(), `"b":{"id":"` + p.A.ID.String()},
		{"a signature on a line that has its own", `"signatures":[]`, `"signatures":[{"org":"did:web:a.example","sig":"` + strings.Repeat("A", 86) + `=="}]`},
		{"no signatures member", `,"signatures":[]`, ``},
		{"nobody is accused", `"equivocators":["` + p.Equivocators[0].String() + `"]`, `"equivocators":[]`},
		{"two are accused", `"equivocators":["`, `"equivocators":["did:web:a.example","`},
		{"an unknown kind", `"kind":"did_log"`, `"kind":"did_lag"`},
		{"another kind", `"kind":"did_log"`, `"kind":"beacon"`},
		{"no kind", `,"kind":"did_log"`, ``},
		{"an entry before the first", `"seq":1`, `"seq":0`},
		{"a parent without id", `"id":"` + p.Parent.ID.String() + `",`, ``},
		{"evidence of a log of another kind", `"kind"`, `"evidence":{"a":"x","b":"y"},"kind"`},
		{"an unknown member", `"kind"`, `"kin":1,"kind"`},
		{"white space", `,"kind"`, `, "kind"`},
	}.run(t, g["forkproof.did_log"], read)
	edits{
		{"no parent", `,"parent":{"id":"zQmet7AfK9xFRsLqLDHQdn1hy33mn7fR6gHXU94juvcQ8kZ","seq":6}`, ``},
		{"a signature that is cut", `AA==`, `==`},
		{"a signature in base64url", `sig":"A`, `sig":"_`},
		{"a signature in another spelling", `AA==`, `AB==`},
		{"signers out of order", `did:web:a.example`, `did:web:z.example`},
		{"no signatures", `"signatures":[{"org":"did:web:b.example","sig":"` + strings.Repeat("A", 86) + `=="}]`, `"signatures":[]`},
	}.run(t, g["forkproof.charter"], read)
	edits{
		{"no evidence", `"evidence":{"a":"one\n","b":"two\n","left":"x"},`, ``},
		{"one note", `"a":"one\n"`, `"a":""`},
		{"a parent", `"kind":"log"`, `"kind":"log","parent":{"id":"zQmet7AfK9xFRsLqLDHQdn1hy33mn7fR6gHXU94juvcQ8kZ","seq":6}`},
	}.run(t, g["forkproof.log"], read)
	many := p
	for i := range MaxHeads + 1 {
		many.Equivocators = append(many.Equivocators, did.MustParse("did:web:z"+strings.Repeat("z", i)+".example"))
	}
	if _, err := many.Encode(); err == nil {
		t.Error("more equivocators than members")
	}
	if _, err := ParseForkProof(bytes.Repeat([]byte(" "), 33<<10)); !errors.Is(err, did.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestCheckDIDLog(t *testing.T) {
	one, a, b := forkedLog(t)
	p := didLogProof(t)
	if envelope.IDOf(a) != p.A.ID {
		a, b = b, a
	}
	longer, err := one.Extend(a, nil, forkSeen)
	if err != nil {
		t.Fatal(err)
	}
	three, err := didwebvh.Rotate(t.Context(), longer, didwebvh.RotateRequest{Update: newSigner(0x04), Next: newSigner(0x05).Public(), At: forkDay2.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	edited := func(f func(*ForkProof)) ForkProof {
		c := p
		parent := *p.Parent
		c.Parent = &parent
		f(&c)
		return c
	}
	stranger := did.MustParse("did:web:stranger.example")
	if err := p.CheckDIDLog(one, DIDLogSide{Lines: a}, DIDLogSide{Lines: b}, forkSeen); err != nil {
		t.Fatal(err)
	}
	if err := p.CheckDIDLog(one, DIDLogSide{Lines: bytes.Join([][]byte{a, three}, []byte("\n"))}, DIDLogSide{Lines: b}, forkSeen); err != nil {
		t.Errorf("one branch goes on: %v", err)
	}
	for _, c := range []struct {
		name   string
		p      ForkProof
		common didwebvh.History
		a, b   []byte
		now    time.Time
	}{
		{"the sides are swapped", p, one, b, a, forkSeen},
		{"one line twice", p, one, a, a, forkSeen},
		{"a line is missing", p, one, a, nil, forkSeen},
		{"a line is changed", p, one, a, bytes.Replace(b, []byte("2026-12-15"), []byte("2026-12-14"), 1), forkSeen},
		{"the common part is missing", p, didwebvh.History{}, a, b, forkSeen},
		{"the common part is longer", p, longer, a, b, forkSeen},
		{"the parent is another line", edited(func(p *ForkProof) { p.Parent.ID = p.A.ID }), one, a, b, forkSeen},
		{"the parent has another number", edited(func(p *ForkProof) { p.Parent.Seq = 2 }), one, a, b, forkSeen},
		{"no parent is named", edited(func(p *ForkProof) { p.Parent = nil }), one, a, b, forkSeen},
		{"another DID is accused", edited(func(p *ForkProof) { p.Equivocators = []did.DID{stranger} }), one, a, b, forkSeen},
		{"it is of another kind", edited(func(p *ForkProof) { p.Kind = ForkBeacon }), one, a, b, forkSeen},
		{"the entries are from the future", p, one, a, b, forkDay1},
	} {
		if err := c.p.CheckDIDLog(c.common, DIDLogSide{Lines: c.a}, DIDLogSide{Lines: c.b}, c.now); !errors.Is(err, ErrNotProven) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestAWitnessedForkNeedsBothProofs: lines that a witness has to sign prove nothing
// without its proofs, or anybody with a stolen update key could frame.
func TestAWitnessedForkNeedsBothProofs(t *testing.T) {
	one, _, _ := forkedLog(t)
	w := newSigner(0x21)
	list := didwebvh.WitnessList{Threshold: 1, Keys: []did.PublicKey{w.Public()}}
	line, err := didwebvh.Rotate(t.Context(), one, didwebvh.RotateRequest{Update: newSigner(0x02), Next: newSigner(0x04).Public(), Witness: &list, At: forkDay2})
	if err != nil {
		t.Fatal(err)
	}
	proven := func(h didwebvh.History, line []byte) DIDLogSide {
		proof, err := didwebvh.SignWitness(t.Context(), w, didwebvh.VersionID(line), forkSeen)
		if err != nil {
			t.Fatal(err)
		}
		tally, err := h.Proofs(line, [][]byte{proof})
		if err != nil || !tally.Met() {
			t.Fatal(err, tally)
		}
		return DIDLogSide{line, tally.Witness}
	}
	side := proven(one, line)
	two, err := one.Extend(side.Lines, side.Witness, forkSeen)
	if err != nil {
		t.Fatal(err)
	}
	next := func(issuer byte) []byte {
		l, err := didwebvh.Rotate(t.Context(), two, didwebvh.RotateRequest{Update: newSigner(0x04), Next: newSigner(0x05).Public(), Issuer: newSigner(issuer).Public(), At: forkDay2.Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := next(0x13), next(0x15)
	p, err := ProveDIDLog(two.DID(), 2, two.Head().Line, a, b)
	if err != nil {
		t.Fatal(err)
	}
	if p.A.ID != envelope.IDOf(a) {
		a, b = b, a
	}
	if err := p.CheckDIDLog(two, proven(two, a), proven(two, b), forkSeen); err != nil {
		t.Errorf("both are witnessed: %v", err)
	}
	if err := p.CheckDIDLog(two, proven(two, a), DIDLogSide{Lines: b}, forkSeen); !errors.Is(err, ErrNotProven) || didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
		t.Errorf("one is not: %v", err)
	}
}

func FuzzForkProof(f *testing.F) {
	for _, name := range []string{"forkproof.did_log", "forkproof.charter", "forkproof.log"} {
		f.Add([]byte(golden(f)[name]))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, err := ParseForkProof(in)
		if err != nil {
			return
		}
		if out, err := p.Encode(); err != nil || !bytes.Equal(out, in) {
			t.Fatalf("%q is written again as %q, %v", in, out, err)
		}
	})
}
