package casefile

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// forge writes a file anew with other lines and a header that fits them: what an attacker
// can do who holds no keys.
func forge(w *world, change func([]bundle.Line) []bundle.Line) []byte {
	f := must(split(context.Background(), w.build()))
	var lines []bundle.Line
	for _, l := range f.lines {
		lines = append(lines, l.Line)
	}
	return must(encode([]envelope.ID{w.id}, change(lines)))
}

func with(extra ...bundle.Line) func([]bundle.Line) []bundle.Line {
	return func(l []bundle.Line) []bundle.Line { return append(l, extra...) }
}

// each changes the lines of one kind.
func each[T bundle.Line](change func(T) bundle.Line) func([]bundle.Line) []bundle.Line {
	return func(lines []bundle.Line) []bundle.Line {
		for i, l := range lines {
			if t, ok := l.(T); ok {
				lines[i] = change(t)
			}
		}
		return lines
	}
}

// proofs changes the proof of the first entry of a type.
func proofs(typ attestation.Type, change func(*attlog.Proof)) func([]bundle.Line) []bundle.Line {
	done := false
	return each(func(e bundle.Entry) bundle.Line {
		_, ev, _ := attestation.Entry(e.Entry).Envelope()
		if ev.Type != typ || done {
			return e
		}
		done = true
		p := must(attlog.ParseProof(e.Proof))
		change(&p)
		e.Proof = p.Bytes()
		return e
	})
}

func (w *world) entryLine(o *org, i int) bundle.Line {
	n := o.notes[len(o.notes)-1]
	p := attlog.Proof{Index: uint64(i), Path: must(attlog.Include(uint64(i), n.Head.Size, hashReader(o.hashes))), Note: n}
	return bundle.Entry{Entry: o.entries[i], Proof: p.Bytes()}
}

func TestAFileWrittenAnewAroundALieIsFound(t *testing.T) {
	w := story(t)
	ctx := context.Background()
	other := newWorld(t, "evil", "vendor", "arbiter")
	other.lend()
	stranger := must(envelope.Seal(ctx, must(envelope.Decode[lending.ReadRequest](w.objects[w.req])), w.research.key))
	for _, tt := range []struct {
		name   string
		change func([]bundle.Line) []bundle.Line
		want   string
	}{
		{"a DID log of a stranger", with(bundle.DIDLog{DID: other.acme.did, From: 1, Log: other.acme.didLog}), "is no member"},
		{"an entry of a stranger's log", with(other.entryLine(other.acme, 0), bundle.DIDLog{DID: other.acme.did, From: 1, Log: other.acme.didLog}), "no member"},
		{"an entry whose DID log is not there", with(other.entryLine(other.acme, 0)), "not held here"},
		{"an entry the case does not use", with(w.entryLine(w.acme, 3)), "audit.rows is not used"},
		{"an entry twice, under two heads", with(w.entryLine(w.acme, 2)), "already"},
		{"a body nothing names", with(bundle.Body{Body: []byte(`{"a":1}`)}), "is not used"},
		{"an object nothing names", with(bundle.Envelope{Envelope: w.objects[w.receipt]}), "is not used"},
		{"a row of an event that is not there", with(rowLine(w, w.granted)), "no audit.rows event"},
		{"an object of a kind no case has", with(bundle.Envelope{Envelope: envelope.Envelope{Type: envelope.TypeOf("join"), Body: []byte(`{"a":1}`), Signatures: stranger.Signatures}}), "no part of a case file"},
		{"a compact object", with(bundle.Compact{What: "permission", Text: must(w.objects[w.perm].Compact())}), "not used"},
		{"a line of an unknown shape", with(bundle.Unknown{Raw: []byte(`{"new":1}`)}), "not used"},
		{"a request signed with another agent's key", each(func(e bundle.Envelope) bundle.Line {
			if e.ID() == w.req {
				e.Signatures = []envelope.Signature{{KeyID: e.Signatures[0].KeyID, Sig: stranger.Signatures[0].Sig}}
			}
			return e
		}), "signature"},
		{"a charter with a signature of nobody", each(func(e bundle.Envelope) bundle.Line {
			if e.Type == w.charter[0].Type {
				return bundle.Envelope{Envelope: must(envelope.Cosign(ctx, e.Envelope, w.research.key))}
			}
			return e
		}), "under no key this charter names"},
		{"an agent object signed once", each(func(e bundle.Envelope) bundle.Line {
			if e.Type == keyring.AgentType {
				e.Signatures = e.Signatures[:1]
			}
			return e
		}), "agent object"},
		{"a head signed by its witness alone", proofs("dispute.filed", func(p *attlog.Proof) { p.Note.Lines = p.Note.Lines[1:] }), "not signed by a key valid there"},
		{"a cosignature under another witness's name", proofs("dispute.filed", func(p *attlog.Proof) { p.Note.Lines[1].Name = attlog.WitnessName(other.acme.did) }), "false or unknown line"},
		{"a cosignature moved in time", proofs("dispute.filed", func(p *attlog.Proof) { p.Note.Lines[1].Sig[7]++ }), "false or unknown line"},
		{"a cosignature of the log's own witness", proofs("dispute.filed", func(p *attlog.Proof) {
			p.Note.Lines = append(p.Note.Lines, must(attlog.Cosign(ctx, w.acme.witness, w.acme.did, p.Note, w.now)))
		}), "false or unknown line"},
		{"two cosignatures of one witness", proofs("dispute.filed", func(p *attlog.Proof) {
			p.Note.Lines = append(p.Note.Lines, must(attlog.Cosign(ctx, w.arbiter.witness, w.arbiter.did, p.Note, w.now)))
		}), "count for nothing"},
		{"another index", proofs("dispute.filed", func(p *attlog.Proof) { p.Index = 3 }), "does not lead to the head"},
		{"a proof under the head of another log", proofs("dispute.answered", func(p *attlog.Proof) { p.Note = w.acme.notes[5] }), "is under a head of"},
		{"an event signed again by another key", each(func(e bundle.Entry) bundle.Line {
			if _, ev, _ := attestation.Entry(e.Entry).Envelope(); ev.Type == "ruling.issued" {
				e.Entry = slices.Concat(e.Entry[:1], stranger.Signatures[0].Sig[:], e.Entry[65:])
			}
			return e
		}), "does not lead to the head"},
		{"a row under another leaf", each(func(r bundle.Row) bundle.Line { r.Index, r.Size = 1, 2; return r }), "does not lead to the root"},
		{"a DID log in two parts that overlap", with(bundle.DIDLog{DID: w.acme.did, From: 2, Log: w.acme.didLog}), "repeats what"},
		{"a witness file nothing needs", each(func(d bundle.DIDLog) bundle.Line { d.Witness = []byte("[]"); return d }), "DID log of"},
	} {
		r := verify(forge(w, tt.change), Options{})
		if r.OK || !strings.Contains(r.Broken, tt.want) {
			t.Errorf("%s: ok %v, got %q, want %q in it", tt.name, r.OK, r.Broken, tt.want)
		}
	}
}

func rowLine(w *world, id envelope.ID) bundle.Line {
	p := w.rows[id]
	var path []byte
	for _, h := range p.Path {
		path = append(path, h[:]...)
	}
	return bundle.Row{Event: p.Event, Index: p.Index, Path: path, Row: p.Row, Size: p.Size}
}

// TestADroppedLineNeverProvesMore drops each line and writes the header anew: the file
// must fail, or prove no more than before.
func TestADroppedLineNeverProvesMore(t *testing.T) {
	w := story(t)
	whole := map[string]bool{}
	for _, l := range verify(w.build(), Options{}).Lines {
		whole[l.Text] = true
	}
	lines := must(split(context.Background(), w.build())).lines
	fails := 0
	for i, dropped := range lines {
		r := verify(forge(w, func(l []bundle.Line) []bundle.Line { return slices.Delete(l, i, i+1) }), Options{})
		if !r.OK {
			fails++
			continue
		}
		for _, l := range r.Lines {
			if l.Kind == "claim" && !whole[l.Text] && !strings.HasPrefix(l.Text, "as of") && !strings.Contains(l.Text, "wrote down") && !strings.Contains(l.Text, "read under loan") {
				t.Errorf("without line %d (%s) it says %q", dropped.n, dropped.Kind(), l.Text)
			}
		}
	}
	if fails < len(lines)*2/3 {
		t.Errorf("only %d of %d dropped lines fail the file", fails, len(lines))
	}
}

func TestAForkedLogFailsTheFile(t *testing.T) {
	w := story(t)
	evil := *w.acme
	evil.entries, evil.hashes, evil.notes, evil.facts = slices.Clone(evil.entries[:8]), slices.Clone(evil.hashes), slices.Clone(evil.notes[:8]), slices.Clone(evil.facts[:8])
	evil.keys = w.acme.keys
	ev := w.acme.facts[8].Event.Body()
	ev.Nonce = w.nonce()
	e := must(envelope.Seal(context.Background(), ev, w.acme.key))
	entry := must(attestation.EntryOf(e))
	leaves := append(attlog.Leaves(evil.entries), entry.Hash())
	h := attestation.Head{Size: 9, Root: attlog.RootOf(leaves)}
	n := must(attlog.Sign(context.Background(), w.acme.key, w.acme.did, h))
	p := attlog.Proof{Index: 7, Path: must(attlog.PathOf(leaves, 7)), Note: n}
	// The same entry 7, proven under a head of size 9 whose root is not that of entry 8's.
	file := forge(w, each(func(e bundle.Entry) bundle.Line {
		if attestation.Entry(e.Entry).ID() == w.acme.facts[7].Event.ID() {
			e.Proof = p.Bytes()
		}
		return e
	}))
	if r := verify(file, Options{}); r.OK || !strings.Contains(r.Broken, "two heads of size 9") {
		t.Errorf("ok %v, %q", r.OK, r.Broken)
	}
}

func TestAnAgentOfAnotherIsNotTheClaims(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req))
	// The arbiter's node holds everything; a stranger's dispute over acme's loan has no
	// standing.
	stolen := must(envelope.Marshal(mediation.Dispute{Against: w.vendor.did, Charter: mediation.CharterRef{ID: w.chain.Head().ID, Seq: 0},
		Claims:   []mediation.Claim{{Acts: 1, Code: "R1", FirstAt: envelope.TimeOf(w.now), LastAt: envelope.TimeOf(w.now), N: 1, Perm: w.perm, Subject: w.quant.did}},
		Evidence: envelope.IDOf([]byte("none")), Nonce: w.nonce(), Relief: []string{"score"}, Track: "normal"}))
	w.id = envelope.IDOf(stolen)
	w.step(w.arbiter, "dispute.filed", nil, stolen)
	if _, err := Build(context.Background(), w, w.id); err == nil || !strings.Contains(err.Error(), "no dispute in the file") {
		t.Errorf("a stranger's filing over another's loan: %v", err)
	}
}

func TestHostileManifestsDoNotKeepACaseFromBeingExported(t *testing.T) {
	for _, tt := range []struct {
		name string
		list func(w *world) []any
	}{
		{"kinds that do not fit the ids", func(w *world) []any {
			return []any{"document", w.perm, "permission", w.req, "row", w.perm, "readrequest", w.denied, "event", w.quant.object, "permission", w.research.object, "agent", w.perm}
		}},
		{"an agent object as a permission, before the agent is named", func(w *world) []any { return []any{"permission", w.quant.object, "readrequest", w.req} }},
		{"an object of an agent nobody knows", func(w *world) []any {
			key := w.signer()
			ghost := agentOf{did: must(didkey.FromKey(key.Public())), key: key}
			id := sign(w, lending.ReadRequest{At: w.tick(), Aud: w.research.did, Borrower: ghost.did, Kid: ghost.key.Public().Multikey(), Nonce: w.salt(), Op: "read", Perm: w.perm, Purpose: "x"}, ghost)
			return []any{"readrequest", id}
		}},
		{"ids of nothing", func(w *world) []any {
			nothing := envelope.IDOf([]byte("nothing"))
			return []any{"permission", nothing, "revocation", nothing, "row", nothing, "document", nothing, "event", nothing, "statement", nothing}
		}},
		{"the same item twice", func(w *world) []any { return []any{"row", w.denied, "row", w.denied, "row", w.granted} }},
	} {
		w := newWorld(t, "acme", "vendor", "arbiter")
		w.lend()
		list := tt.list(w)
		w.file(1, w.manifest(list...))
		r := verify(w.build(), Options{})
		if !r.OK {
			t.Errorf("%s: %s", tt.name, r.Broken)
		}
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		name string
		id   envelope.ID
		hide func()
		want error
	}{
		{"a case nobody filed", envelope.IDOf([]byte("x")), func() {}, attestation.ErrNotFound},
		{"without charters", w.id, func() { w.charter = nil }, attestation.ErrNotFound},
	} {
		tt.hide()
		if _, err := Build(context.Background(), w, tt.id); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func TestAnInterruptedVerificationSaysSo(t *testing.T) {
	w := story(t)
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	if _, _, _, err := Open(ctx, w.build(), Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAStrangersSignatureOnACharterIsLeftOut(t *testing.T) {
	w := story(t)
	clean := w.build()
	w.charter[0] = must(envelope.Cosign(context.Background(), w.charter[0], w.quant.key))
	if b := w.build(); !bytes.Equal(b, clean) {
		t.Error("the file is another one")
	}
}

func TestTwoMembersOfOneDomainAreNotConfused(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "acme", "arbiter")
	file := must(split(context.Background(), must(Prove(context.Background(), w, Place{w.vendor.did, w.vendor.eventOf(t, "log.opened")}))))
	s := newOpener(context.Background(), newRing(), file.lines)
	for _, step := range []func() error{s.dids, s.logs, s.charters} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.org(w.acme.did); got != w.acme.did.String() {
		t.Errorf("got %s, another member has that domain too", got)
	}
	if got := s.org(w.vendor.did); got != "vendor.example" {
		t.Errorf("got %s", got)
	}
}
