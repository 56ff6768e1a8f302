package attestation

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did"
	"trustnode/did/envelope"
)

func samplePackage() Package {
	entry := Entry(append([]byte{entryVersion}, bytes.Repeat([]byte{7}, 64+9)...))
	return Package{
		Did: did.MustParse("did:web:acme.example"), Entries: []Entry{entry}, Federation: envelope.IDOf([]byte("f")),
		From: 3, Note: []byte("a\nb\n\n— c AAAA\n"), Rest: []tlog.Hash{{1}, {2}},
	}
}

func TestPackageIsWhatItWasWritten(t *testing.T) {
	want := samplePackage()
	b, err := want.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParsePackage(b, MaxPackage)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Bytes()
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("read and written again: %s, was %s (%v)", again, b, err)
	}
	if _, err := ParsePackage(b, len(b)-1); err == nil {
		t.Error("a package above its cap is read")
	}
}

func TestPackageCaps(t *testing.T) {
	cases := map[string]func(*Package){
		"257 entries":        func(p *Package) { p.Entries = slices.Repeat(p.Entries, MaxBatch+1) },
		"127 hashes":         func(p *Package) { p.Rest = make([]tlog.Hash, MaxRange+1) },
		"an entry too short": func(p *Package) { p.Entries = []Entry{p.Entries[0][:65]} },
		"another version":    func(p *Package) { p.Entries = []Entry{append([]byte{2}, p.Entries[0][1:]...)} },
		"an entry too long":  func(p *Package) { p.Entries = []Entry{append(p.Entries[0], make([]byte, MaxEntry)...)} },
		"an endless note":    func(p *Package) { p.Note = make([]byte, MaxNote+1) },
		"no did":             func(p *Package) { p.Did = did.DID{} },
		"from above 2^53":    func(p *Package) { p.From = 1 << 53 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			p := samplePackage()
			change(&p)
			if err := p.Check(); err == nil {
				t.Error("accepted")
			}
		})
	}
	full := samplePackage()
	full.Entries, full.Rest = slices.Repeat(full.Entries, MaxBatch), make([]tlog.Hash, MaxRange)
	full.Note, full.From = make([]byte, MaxNote), 1<<53-1
	if err := full.Check(); err != nil {
		t.Errorf("a package at every cap: %v", err)
	}
}

func FuzzPackage(f *testing.F) {
	b, err := samplePackage().Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParsePackage(b, MaxPackage)
		if err != nil {
			return
		}
		again, err := p.Bytes()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q is written again as %q (%v)", b, again, err)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte{entryVersion})
	f.Add(append([]byte{entryVersion}, bytes.Repeat([]byte("{"), 80)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := Entry(b)
		env, ev, err := e.Envelope()
		if err != nil {
			return
		}
		back, err := EntryOf(env)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("event %v comes back as %q (%v)", ev, back, err)
		}
	})
}
