package casefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

func opened(t *testing.T, w *world, o Options) (Set, mediation.Case, mediation.Report) {
	t.Helper()
	s, c, r, err := Open(context.Background(), w.build(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, r
}

// plain is what of a case can be compared: all that is exported.
func plain(c mediation.Case) mediation.Case {
	return mediation.Case{ID: c.ID, Dispute: c.Dispute, Claimant: c.Claimant, Respondent: c.Respondent, State: c.State, Since: c.Since, Deadline: c.Deadline, Rung: c.Rung,
		Candidate: c.Candidate, Mediator: c.Mediator, Place: c.Place, Replies: c.Replies, Defaulted: c.Defaulted, Manifests: c.Manifests, Facts: c.Facts, Decision: c.Decision,
		Void: c.Void, Unwitnessed: c.Unwitnessed, Events: c.Events, Ignored: c.Ignored, Beyond: c.Beyond}
}

func TestTheCaseInAFileIsTheCaseOnTheNode(t *testing.T) {
	steps := []func(*world){
		func(w *world) {
			w.lend()
			w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req))
		},
		(*world).answer, (*world).rule,
	}
	for _, names := range [][]string{{"acme", "vendor", "arbiter"}, {"acme", "vendor", "dora", "arbiter"}} {
		w := newWorld(t, names...)
		for n, step := range steps {
			step(w)
			w.now = w.now.Add(time.Hour)
			for _, o := range w.orgs {
				w.head(o) // seen once more, later: the earlier time stays
			}
			for _, later := range []time.Duration{0, 8 * 24 * time.Hour, 400 * 24 * time.Hour} {
				at := w.now.Add(later)
				_, got, _ := opened(t, w, Options{AsOf: at})
				w.now = at
				want := w.fold()
				w.now = at.Add(-later)
				if !reflect.DeepEqual(plain(got), plain(want)) {
					t.Errorf("%d organizations, step %d, %s later:\ngot  %+v\nwant %+v", len(names), n, later, plain(got), plain(want))
				}
			}
		}
	}
}

func TestWhatExhibitsProve(t *testing.T) {
	full := func(w *world) []any {
		return []any{"permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req}
	}
	for _, tt := range []struct {
		name    string
		before  func(w *world) // the loan
		list    func(w *world) []any
		grades  string
		finding string
		why     string
	}{
		{"everything in its place", nil, full, "proven proven proven proven", "proven", ""},
		{"without the request", nil, func(w *world) []any { return full(w)[:6] }, "proven proven proven", "open", "no signed request"},
		{"without the row", nil, func(w *world) []any { return append(full(w)[:4], "readrequest", w.req) }, "proven proven attested", "open", "no signed request"},
		{"without the revocation", nil, func(w *world) []any { return full(w)[4:] }, "proven proven", "open", "no revocation"},
		{"a request from before the end", nil, func(w *world) []any {
			return []any{"revocation", w.revoked, "row", w.granted, "readrequest", w.read}
		}, "proven proven proven", "open", "no signed request"},
		{"a request that was answered, and written down again as denied", func(w *world) { w.req = w.read; w.denied = w.deny(w.read); w.cover(w.acme) }, func(w *world) []any {
			return append(full(w), "receipt", w.receipt, "row", w.granted)
		}, "proven proven proven proven proven proven", "open", "no signed request"},
		{"one request, two rows", func(w *world) { w.granted = w.deny(w.req); w.cover(w.acme) }, func(w *world) []any {
			return append(full(w), "row", w.granted)
		}, "proven proven proven proven proven", "proven", ""},
		{"bytes that are gone", func(w *world) { delete(w.objects, w.revoked) }, full, "proven hash_only proven proven", "open", "no revocation"},
		{"a row that is gone", func(w *world) { delete(w.rows, w.denied) }, full, "proven proven unproven attested", "open", "no signed request"},
		{"a kind that does not fit", nil, func(w *world) []any { return []any{"revocation", w.perm, "row", w.denied} }, "contradicted proven", "open", "no revocation"},
	} {
		w := newWorld(t, "acme", "vendor", "arbiter")
		w.lend()
		if tt.before != nil {
			tt.before(w)
		}
		w.file(1, w.manifest(tt.list(w)...))
		_, _, r := opened(t, w, Options{})
		var grades []string
		for _, it := range r.Items {
			grades = append(grades, string(it.Grade))
		}
		if got := strings.Join(grades, " "); got != tt.grades {
			t.Errorf("%s: grades %s, want %s\n%+v", tt.name, got, tt.grades, r.Items)
		}
		if c := r.Claims[0]; c.Finding != tt.finding || !strings.Contains(c.Why, tt.why) {
			t.Errorf("%s: claim %+v, want %s, %s", tt.name, c, tt.finding, tt.why)
		}
	}
}

// strip takes the cosignature of an organization from the proofs of some types.
func strip(who did.DID, types ...attestation.Type) func([]bundle.Line) []bundle.Line {
	return each(func(e bundle.Entry) bundle.Line {
		_, ev, _ := attestation.Entry(e.Entry).Envelope()
		if !slices.Contains(types, ev.Type) {
			return e
		}
		p := must(attlog.ParseProof(e.Proof))
		p.Note.Lines = slices.DeleteFunc(p.Note.Lines, func(l attlog.Line) bool { return l.Name == attlog.WitnessName(who) })
		e.Proof = p.Bytes()
		return e
	})
}

func TestWhatNobodyOutsideSawIsOneSidesWord(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		name  string
		who   []did.DID
		types []attestation.Type
		want  string
	}{
		{"the row, seen by the borrower alone", []did.DID{w.arbiter.did}, []attestation.Type{"audit.rows"}, "proven proven attested attested attested"},
		{"the revocation, seen by the borrower alone", []did.DID{w.arbiter.did}, []attestation.Type{"loan.revoked"}, "proven attested proven proven attested"},
		{"the row, seen by nobody", []did.DID{w.arbiter.did, w.vendor.did}, []attestation.Type{"audit.rows"}, "proven proven attested attested attested"},
		{"the borrower's agent, seen by nobody before", []did.DID{w.arbiter.did, w.acme.did}, []attestation.Type{"agent.issued"}, "proven proven proven unproven attested"},
	} {
		file := forge(w, func(l []bundle.Line) []bundle.Line {
			for _, d := range tt.who {
				l = strip(d, tt.types...)(l)
			}
			return l
		})
		_, _, r, err := Open(context.Background(), file, Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var grades []string
		for _, it := range r.Items {
			grades = append(grades, string(it.Grade))
		}
		if got := strings.Join(grades, " "); got != tt.want || r.Claims[0].Finding == "proven" {
			t.Errorf("%s: %s and %s, want %s", tt.name, got, r.Claims[0].Finding, tt.want)
		}
	}
}

// rotate gives an organization a new key and says so in its log.
func (w *world) rotate(o *org, announce bool) {
	w.t.Helper()
	ctx := context.Background()
	h := must(w.ring.History(ctx, o.did))
	old, key, before := o.kid(), w.signer(), o.version
	line := must(didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: o.next, Next: o.after.Public(), Issuer: key.Public(), At: w.tick().Time()}))
	o.didLog = append(append(o.didLog, line...), '\n')
	o.version = must(w.ring.Offer(ctx, o.did, o.didLog, nil)).Version.ID
	o.key = key
	if announce {
		w.event(o, attestation.Draft{Type: "key.rotated", Subject: o.did.String(), Data: attestation.KeyRotated{Added: []string{o.kid()}, Did: o.did,
			DidVersion: o.version, Previous: before, Reason: "scheduled", Retired: []string{old}}})
	}
}

func TestKeysAreJudgedByTheirPlace(t *testing.T) {
	sign := func(w *world, o *org) {
		g := w.chain.Head()
		w.event(o, attestation.Draft{Type: "charter.signed", Subject: g.ID.String(), Refs: []envelope.ID{g.ID}, Data: attestation.CharterSigned{Body: g.ID, Round: 0, Seq: 0}})
	}
	for _, tt := range []struct {
		name           string
		signed, rotate bool
		want           string // in the report, or in the error
		ok             bool
	}{
		{"a rotation between loan and dispute", true, true, "stood up to 8, rotated at 9", true},
		{"a rotation, and no trace that the charter was signed before", false, true, "its key is retired", false},
		{"a new version of the DID, and no rotation in the log", true, false, "is pending: no key.rotated", false},
	} {
		w := newWorld(t, "acme", "vendor", "arbiter")
		if tt.signed {
			sign(w, w.acme)
		}
		w.lend()
		w.event(w.acme, attestation.Draft{Type: "audit.rows", Data: attestation.AuditRows{Root: w.id2()}, Body: []byte(`{"first":9,"salt":"` + w.nonce() + `","size":1}`)})
		if tt.signed {
			w.event(w.acme, attestation.Draft{Type: "audit.rows", Data: attestation.AuditRows{Root: w.id2()}, Body: []byte(`{"first":9,"salt":"` + w.nonce() + `","size":1}`)})
		}
		if tt.rotate {
			w.rotate(w.acme, true)
		}
		w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req))
		w.answer()
		w.rule()
		if !tt.rotate {
			w.rotate(w.acme, false)
		}
		b, err := Build(context.Background(), w, w.id)
		if !tt.ok {
			var f *Fault
			if !errors.As(err, &f) || f.Line == 0 || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q in it", tt.name, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if r := verify(b, Options{}); !r.OK || !strings.Contains(text(r), tt.want) || !strings.Contains(text(r), "proven by the logs alone") {
			t.Errorf("%s: %s", tt.name, text(r))
		}
	}
}

func (w *world) id2() envelope.ID { return envelope.IDOf([]byte(w.nonce())) }

func TestALaterCharterChangesNoOpenCase(t *testing.T) {
	w := story(t)
	before := plain(w.fold())
	body := must(charter.Amend(w.chain.Head(), w.chain.Federation(), w.tick().Time(), 0))
	body.Policy.OfflineGraceS = 3600
	state := w.chain
	w.addCharter(body)
	_, c, _ := opened(t, w, Options{AsOf: w.now})
	if got := plain(c); !reflect.DeepEqual(got, before) {
		t.Errorf("got %+v\nwant %+v", got, before)
	}
	if r := verify(w.build(), Options{}); !strings.Contains(text(r), "walked 0..1") || !r.OK {
		t.Error(text(r))
	}
	if !reflect.DeepEqual(TermsOf(w.chain, 0), TermsOf(state, 0)) {
		t.Error("terms of charter 0 moved")
	}
	if got := TermsOf(w.chain, 7); !reflect.DeepEqual(got, mediation.Terms{}) {
		t.Errorf("terms of a charter nobody has: %+v", got)
	}
}

func TestTermsAreThoseOfTheCharter(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "dora", "arbiter")
	body := must(charter.Amend(w.chain.Head(), w.chain.Federation(), w.tick().Time(), 0))
	body.Mediation.Rotating.Ties = []charter.Tie{{A: w.acme.did, B: w.arbiter.did}, {A: w.dora().did, B: w.arbiter.did}}
	got := termsOf(charter.Head{ID: w.chain.Federation(), Body: body}, w.chain.Head().Body)
	if got.Groups[w.acme.did] != got.Groups[w.dora().did] || len(got.Groups) != 3 {
		t.Errorf("groups %v: ties are symmetric and transitive", got.Groups)
	}
	if _, tied := got.Groups[w.vendor.did]; tied {
		t.Error("who has no tie stands alone")
	}
	want := []did.DID{w.arbiter.did}
	if !reflect.DeepEqual(got.Neutral, want) || got.Respond != 7*24*time.Hour || got.Ack != 24*time.Hour || got.Decide != 10*24*time.Hour {
		t.Errorf("got %+v", got)
	}
	for _, m := range got.Members {
		if !m.Active {
			t.Errorf("%s is active in both", m.Org)
		}
	}
}

func (w *world) dora() *org { return w.orgs[2] }

func TestARevocationOfABorrowerEndsItsOnlyLoan(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	w.revoked = sign(w, lending.Revocation{At: w.tick(), Issuer: w.research.did, Kid: w.research.kid, Reason: "misuse", Target: w.quant.did.String(), TargetKind: "borrower"}, w.research)
	w.event(w.acme, attestation.Draft{Type: "loan.revoked", Subject: w.quant.did.String(), Refs: []envelope.ID{w.revoked},
		Data: attestation.LoanEnded{Cause: "revoked", Target: w.quant.did.String(), TargetKind: "borrower"}})
	w.req = w.request("again")
	w.denied = w.deny(w.req)
	w.cover(w.acme)
	w.file(1, w.manifest("permission", w.perm, "revocation", w.revoked, "row", w.denied, "readrequest", w.req))
	if _, _, r := opened(t, w, Options{}); r.Claims[0].Finding != "proven" {
		t.Errorf("%+v", r.Claims[0])
	}
}

// TestTheAuditorsWalkIsTrue: docs/evidence.md reads the golden file line by line.
func TestTheAuditorsWalkIsTrue(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "evidence.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "case.txt"))
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for l := range strings.Lines(string(text)) {
		said[strings.Join(strings.Fields(l), " ")] = true
	}
	quoted := 0
	for l := range strings.Lines(string(doc)) {
		kind, _, _ := strings.Cut(l, " ")
		if !slices.Contains([]string{"file", "trust", "ok", "claim", "unsaid", "result"}, kind) || !strings.HasPrefix(l[len(kind):], "  ") {
			continue
		}
		if quoted++; !said[strings.Join(strings.Fields(l), " ")] {
			t.Errorf("docs/evidence.md quotes what verify does not say: %s", l)
		}
	}
	if quoted < 4 {
		t.Errorf("%d lines are quoted", quoted)
	}
}
