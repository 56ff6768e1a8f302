package verifier_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/verifier"
)

const betaWeb = "did:web:beta.example"

func webDocument(seed byte) []byte {
	return []byte(`{"@context":["https://www.w3.org/ns/did/v1"],"id":"` + betaWeb + `","verificationMethod":[{"id":"` + betaWeb + `#` + kid(seed) + `","type":"Multikey","controller":"` +
		betaWeb + `","publicKeyMultibase":"` + kid(seed) + `"}],"assertionMethod":["` + betaWeb + `#` + kid(seed) + `"]}`)
}

// webJoin is the join of a did:web with its document.
func webJoin(seed byte) []byte {
	doc := webDocument(seed)
	j := joinOf(beta(), "beta", seed)
	j.Org, j.SCID, j.DIDVersion = mustDID(betaWeb), "", envelope.IDOf(doc).String()
	return pack(bundle.DIDLog{DID: j.Org, From: 1, Log: doc}, env(must(envelope.Seal(ctx, j, key(seed)))))
}

func TestWhatDecidesIsNamed(t *testing.T) {
	h, w := two()
	acme := withTwo()
	ended := must(plain().Extend(must(didwebvh.Deactivate(ctx, plain(), didwebvh.DeactivateRequest{Update: key(u3), At: day2.Add(time.Hour)})), nil, now))
	last := billing(plain())
	last.Kid = kid(i2)
	rot := rotated()
	rotation := pack(append(append(rot.lines(i2, 0, 2), logLines(plain())...), logLines(beta())...)...)
	late := rotated()
	ends := rotated()
	ends.event(i2, "agent.revoked", billing(one()).Agent.String(), attestation.AgentRevoked{Agent: billing(one()).Agent, Name: "billing", Reason: "scheduled", ThroughSerial: 1}, agent().ID())
	revoked := append(append(ends.lines(i2, 0, 2, 3), logLines(plain())...), logLines(beta())...)
	fresh := billing(plain()) // the same serial under the new key, issued by no event
	fresh.Kid = kid(i2)
	tainted := &evidence{org: plain()}
	v1, taintFrom := one().Head().ID, uint64(0)
	tainted.event(i1, "log.opened", "", attestation.LogOpened{DidVersion: v1})
	tainted.event(i1, "agent.issued", billing(one()).Agent.String(), attestation.AgentIssued{Agent: billing(one()).Agent, ID: agent().ID(), Name: "billing", Serial: 1}, agent().ID())
	tainted.event(i2, "key.rotated", plain().DID().String(), attestation.KeyRotated{Added: []string{kid(i2)}, Did: plain().DID(), DidVersion: plain().Head().ID, Previous: v1,
		Reason: "compromise", Retired: []string{kid(i1)}, TaintFrom: &taintFrom})
	stolen := append(append(tainted.lines(i2, 0, 1, 2), logLines(plain())...), logLines(beta())...)
	x := envelope.IDOf([]byte("x"))
	late.event(i1, "charter.signed", x.String(), attestation.CharterSigned{Body: x}, x)
	retired := pack(append(append(late.lines(i2, 0, 2, 3), logLines(plain())...), logLines(beta())...)...)
	request := must(keyring.RequestAgent(ctx, billing(one()), key(ag)))
	newer := billing(one())
	newer.Serial = 2
	strange := billing(one())
	strange.Capabilities = []keyring.Capability{"borrow", "teleport"}
	self := billing(one())
	self.Org, self.Kid, self.DIDVersion = must(didkey.FromKey(pub(bi))), kid(bi), ""
	keyVC := prove(vcOf("did:key:"+kid(bi)), "did:key:"+kid(bi)+"#"+kid(bi), bi)
	webVC := prove(vcOf(betaWeb), betaWeb+"#"+kid(bi), bi)
	betaLog := with(beta().Log())
	gone := must(plain().Extend(must(didwebvh.Move(ctx, plain(), didwebvh.MoveRequest{Update: key(u3), Next: pub(bu1), Domain: "new.example", At: day2.Add(time.Hour)})), nil, now))
	for _, c := range []struct {
		name    string
		file    []byte
		o       verifier.Options
		outcome verifier.Outcome
		want    []string
	}{
		{"an agent whose key was rotated out, the event at hand", agent().DSSE(), verifier.Options{With: with(rotation)}, verifier.Broken,
			[]string{"is signed by " + kid(i1) + ", retired at index 2"}},
		{"an event by a retired key", retired, verifier.Options{}, verifier.Broken, []string{"event 3 of acme.example is signed by " + kid(i1) + ", retired at index 2"}},
		{"a DID log that ended", ended.Log(), verifier.Options{}, verifier.Verifies, []string{"ends the DID", "entry 3 ended the DID for good"}},
		{"an agent of a DID that ended", sealed(last, i2).DSSE(), verifier.Options{With: with(ended.Log())}, verifier.Broken, []string{"acme.example ended its DID"}},
		{"an agent that was revoked", sealed(fresh, i2).DSSE(), verifier.Options{With: with(pack(revoked...))}, verifier.Broken, []string{"was revoked at index 3 of its log"}},
		{"an agent issued by a stolen key", agent().DSSE(), verifier.Options{With: with(pack(stolen...))}, verifier.Pending, []string{"is disputed: it was issued at index 1"}},
		{"events signed by a stolen key", pack(stolen...), verifier.Options{}, verifier.Pending, []string{"acme.example 1 is disputed: the key.rotated at index 2"}},
		{"an agent before its time", agent().DSSE(), verifier.Options{With: with(one().Log()), At: day1.Add(-time.Hour)}, verifier.Broken, []string{"begins at 2026-12-01T10:00:00Z"}},
		{"an agent asked for by itself", request.DSSE(), verifier.Options{With: with(one().Log())}, verifier.Pending, []string{"is a request", "trustnode agent add billing --request FILE"}},
		{"an agent with a newer object", agent().DSSE(), verifier.Options{With: with(one().Log(), sealed(newer, i1).DSSE())}, verifier.Broken, []string{"serial 2 replaces 1"}},
		{"a capability that is not known", sealed(strange, i1).DSSE(), verifier.Options{With: with(one().Log())}, verifier.Verifies,
			[]string{"and may borrow; serial 1", "what teleport means for billing: it is not known here and grants nothing"}},
		{"an agent of a did:key", sealed(self, bi).DSSE(), verifier.Options{}, verifier.Verifies, []string{"is its own key"}},
		{"an agent of another organization's log", agent().DSSE(), verifier.Options{With: betaLog}, verifier.Pending, []string{"whose DID log is not here"}},
		{"a version that is not here", sealed(func() keyring.Agent { a := billing(h); a.Kid = kid(i2); return a }(), i2).DSSE(), verifier.Options{With: with(one().Log())},
			verifier.Pending, []string{"names version", "which is not here", "newer DID log"}},
		{"a log with a witness file of another", h.Log(), verifier.Options{Witness: witness([]byte("[]"))}, verifier.Broken, []string{"0 of 1 witness proofs"}},
		{"a log with a witness file it does not need", one().Log(), verifier.Options{Witness: witness(w)}, verifier.Verifies, []string{"no entry has to be witnessed"}},
		{"a log from the future", one().Log(), verifier.Options{Now: day1.Add(-time.Hour)}, verifier.Broken, []string{"is ahead of"}},
		{"a log from the future, looked at then", one().Log(), verifier.Options{Now: day1.Add(-time.Hour), At: day1}, verifier.Verifies, nil},
		{"a charter before it is in force", boot(), verifier.Options{Now: day2.Add(-time.Hour)}, verifier.Broken, []string{"ahead"}},
		{"a did:web join", webJoin(bi), verifier.Options{}, verifier.Unproven, []string{"self-asserted and proves nothing by itself", "pinned by its join or by the operator"}},
		{"a did:web join under the pinned did.json", webJoin(bi), verifier.Options{With: with(webDocument(bi))}, verifier.Verifies, []string{"nothing but that proves them"}},
		{"a did:web that changed", webJoin(ag), verifier.Options{With: with(webDocument(bi))}, verifier.Broken,
			[]string{betaWeb + " serves other keys than the pinned snapshot; not trusted", "compare by voice, then did resolve --accept-head z"}},
		{"a did:web document", webDocument(bi), verifier.Options{}, verifier.Unproven, []string{"did resolve --accept-head"}},
		{"a credential of a did:key", keyVC, verifier.Options{}, verifier.Verifies, []string{`"Partner"`}},
		{"a credential of a did:web", webVC, verifier.Options{}, verifier.Pending, []string{"whose did.json proves nothing"}},
		{"a credential of a pinned did:web", webVC, verifier.Options{With: with(webDocument(bi))}, verifier.Verifies, []string{"given with --with: nothing but that proves them"}},
		{"a credential by the key of another", prove(vcOf("did:key:"+kid(bi)), "did:key:"+kid(ag)+"#"+kid(ag), ag), verifier.Options{}, verifier.Broken, []string{"not by the issuer"}},
		{"a credential of another method", prove(vcOf("did:example:x"), "did:example:x#k", ag), verifier.Options{}, verifier.Unsupported, nil},
		{"a credential whose key was rotated out", vc(), verifier.Options{With: acme}, verifier.Pending, []string{kid(i1) + " left the document of acme.example in entry 2", "fetch it again"}},
		{"a forged credential of a key that was rotated out", bytes.Replace(vc(), []byte("borrow"), []byte("lender"), 1), verifier.Options{With: acme}, verifier.Broken, []string{"signature"}},
		{"a credential of a key that was rotated out, past its end", vc(), verifier.Options{With: acme, At: day1.AddDate(0, 0, 30)}, verifier.Broken, []string{"ended at"}},
		{"a credential of a key that was never listed", prove(vcOf(one().DID().String()), one().DID().String()+"#"+kid(ag), ag), verifier.Options{With: acme}, verifier.Pending,
			[]string{"no version here of acme.example lists it, and a newer one may"}},
		{"a credential of an issuer that moved", vc(), verifier.Options{With: with(moved().Log())}, verifier.Verifies, []string{"this DID has moved to " + moved().DID().String(), `"agent" "billing", who may "borrow"`}},
		{"a credential of a key that was rotated out before a move", vc(), verifier.Options{With: with(gone.Log())}, verifier.Pending, []string{kid(i1) + " left the document of acme.example in entry 2"}},
		{"a forged credential of a key that was rotated out before a move", bytes.Replace(vc(), []byte("borrow"), []byte("lender"), 1), verifier.Options{With: with(gone.Log())}, verifier.Broken, []string{"signature"}},
		{"a credential in the name of after a move, by a key of before it", prove(vcOf(gone.DID().String()), gone.DID().String()+"#"+kid(i1), i1), verifier.Options{With: with(gone.Log())}, verifier.Broken, []string{"not by the issuer"}},
		{"a forged credential in the name of after a move, under a key of before it", prove(vcOf(gone.DID().String()), gone.DID().String()+"#"+kid(i1), ag), verifier.Options{With: with(gone.Log())}, verifier.Broken, []string{"not by the issuer"}},
		{"a draft of an agent object", envelope.Envelope{Type: keyring.AgentType, Body: must(envelope.Marshal(billing(one())))}.DSSE(), verifier.Options{}, verifier.Pending,
			[]string{"is a draft: nobody has signed it yet", "agent request --key-dir", "agent add billing --request"}},
		{"an empty object", []byte("{}"), verifier.Options{}, verifier.Broken, []string{"it is an empty JSON object\n"}},
		{"a credential that ended", vc(), verifier.Options{With: with(one().Log()), At: day1.AddDate(0, 0, 30)}, verifier.Broken, []string{"ended at"}},
		{"a permission on its own", must(permission()).DSSE(), verifier.Options{}, verifier.Pending, []string{"a permission is verified as part of a case file"}},
		{"material that is no material", agent().DSSE(), verifier.Options{With: with([]byte("hello"))}, verifier.Broken, []string{"with-1, given with --with", "text"}},
		{"material that lacks its witness file", agent().DSSE(), verifier.Options{With: with(h.Log())}, verifier.Broken, []string{"with-1, given with --with", "witness"}},
		{"too much material", agent().DSSE(), verifier.Options{With: make([]verifier.Material, verifier.MaxWith+1)}, verifier.Broken, []string{"at most 64"}},
		{"an organization's fingerprint", join(), verifier.Options{Fingerprint: keyring.Fingerprint(h.DID(), h.Head().ID), Strict: true}, verifier.Verifies, []string{"the fingerprint names"}},
		{"another's fingerprint", join(), verifier.Options{Fingerprint: keyring.Fingerprint(beta().DID(), beta().Head().ID)}, verifier.Broken, []string{"something else"}},
		{"the fingerprint of an earlier version", h.Log(), verifier.Options{Witness: witness(w), Fingerprint: keyring.Fingerprint(one().DID(), one().Head().ID)}, verifier.Pending,
			[]string{"the fingerprint is of version 1 of acme.example, the log is at 2 now", "changes with each entry: compare that of version 2"}},
		{"the fingerprint of an earlier version, of a join", join(), verifier.Options{Fingerprint: keyring.Fingerprint(one().DID(), one().Head().ID)}, verifier.Pending, []string{"is of version 1 of acme.example"}},
		{"a mistyped fingerprint", join(), verifier.Options{Fingerprint: "org1-aaaa"}, verifier.Broken, []string{"its last group does not fit"}},
		{"no fingerprint, strictly", join(), verifier.Options{Strict: true}, verifier.Broken, []string{"a fingerprint is needed", "--fingerprint org1-…"}},
		{"the federation's fingerprint", boot(), verifier.Options{Fingerprint: charter.Fingerprint(genesis().ID()), Strict: true}, verifier.Verifies, []string{"\"fin-lending\" is the one"}},
		{"a pin of the log", h.Log(), verifier.Options{Witness: witness(w), Strict: true, Pins: known("did %s 2 %s", h.DID(), h.Head().ID)}, verifier.Verifies, []string{"acme.example is the one the pins know, up to version 2"}},
		{"a pin of an earlier version", h.Log(), verifier.Options{Witness: witness(w), Strict: true, Pins: known("did %s 1 %s", h.DID(), one().Head().ID)}, verifier.Verifies, []string{"up to version 1"}},
		{"a pin of a later version", one().Log(), verifier.Options{Strict: true, Pins: known("did %s 2 %s", h.DID(), h.Head().ID)}, verifier.Broken, []string{"a fingerprint is needed"}},
		{"a pin of another history", h.Log(), verifier.Options{Witness: witness(w), Pins: known("did %s 2 2-QmOther", h.DID())}, verifier.Broken, []string{"does not hold version 2-QmOther, which the pins name"}},
		{"a pin of a name that was left", moved().Log(), verifier.Options{Strict: true, Pins: known("did %s 1 %s", one().DID(), one().Head().ID)}, verifier.Verifies, []string{"new.example is the one the pins know, up to version 1"}},
		{"a pin of another history of a name that was left", moved().Log(), verifier.Options{Pins: known("did %s 2 %s", one().DID(), plain().Head().ID)}, verifier.Broken, []string{"does not hold version " + plain().Head().ID + ", which the pins name"}},
		{"a pin of another history of who joins", join(), verifier.Options{Pins: known("did %s 2 2-QmOther", h.DID())}, verifier.Broken, []string{"which the pins name"}},
		{"a pin of somebody else", join(), verifier.Options{Strict: true, Pins: known("did %s 1 %s", beta().DID(), beta().Head().ID)}, verifier.Broken, []string{"a fingerprint is needed"}},
		{"a pin of a did:web", webJoin(bi), verifier.Options{Strict: true, With: with(webDocument(bi)), Pins: known("did %s 3 %s", betaWeb, envelope.IDOf(webDocument(bi)))}, verifier.Verifies,
			[]string{betaWeb + " is the one the pins know, up to version 3"}},
		{"a pin of another did.json", webJoin(bi), verifier.Options{With: with(webDocument(bi)), Pins: known("did %s 1 %s", betaWeb, envelope.IDOf(webDocument(ag)))}, verifier.Broken,
			[]string{"with-1, given with --with: the did.json of " + betaWeb + " is version " + envelope.IDOf(webDocument(bi)).String() + ", the pins name " + envelope.IDOf(webDocument(ag)).String()}},
		{"a pin of another did.json, under a credential", webVC, verifier.Options{With: with(webDocument(bi)), Pins: known("did %s 1 %s", betaWeb, envelope.IDOf(webDocument(ag)))}, verifier.Broken, []string{"the pins name"}},
		{"a pin of the charter", boot(), verifier.Options{Strict: true, Pins: known("head %s 0 %s", genesis().ID(), genesis().ID())}, verifier.Verifies, []string{"\"fin-lending\" is the one whose genesis the pins know\n"}},
		{"a pin of a later charter", boot(), verifier.Options{Strict: true, Pins: known("head %s 3 %s", genesis().ID(), beta().Head().ID)}, verifier.Verifies, []string{"is the one whose genesis the pins know\n"}},
		{"a pin of another charter", boot(), verifier.Options{Pins: known("head %s 0 %s", genesis().ID(), agent().ID())}, verifier.Broken, []string{"charter 0 in the file is"}},
		{"a member's fingerprint for a federation", boot(), verifier.Options{Fingerprint: keyring.Fingerprint(h.DID(), h.Head().ID)}, verifier.Broken, []string{"something else"}},
	} {
		r := verify(c.file, c.o)
		if r.Outcome != c.outcome {
			t.Errorf("%s: %s, want %s\n%s", c.name, r.Outcome, c.outcome, text(r))
		}
		if c.name == "an event by a retired key" && r.Hint != "" {
			t.Errorf("%s: nothing helps, and the hint is %q", c.name, r.Hint)
		}
		for _, want := range c.want {
			if !strings.Contains(text(r), want) {
				t.Errorf("%s: want %q in\n%s", c.name, want, text(r))
			}
		}
	}
}

// A proof that a later one of its witness covers is not needed; that nobody vouches for its bytes is said.
func TestAProofNothingNeedsIsSaid(t *testing.T) {
	h, second := two()
	h, third := next(h, didwebvh.RotateRequest{Update: key(u3), Next: pub(bu1), At: day2.Add(time.Hour)}, true)
	file := append(append(bytes.TrimSuffix(second, []byte("]")), ','), third[1:]...)
	changed := bytes.Replace(file, []byte(`"proofValue":"z`), []byte(`"proofValue":"z2`), 1)
	const idle = "1 of 2 proofs in its witness file say"
	for _, c := range []struct {
		name    string
		witness []byte
		idle    bool
	}{{"whole", file, false}, {"pruned", third, false}, {"its first proof changed", changed, true}} {
		r := verify(h.Log(), verifier.Options{Witness: witness(c.witness)})
		if r.Outcome != verifier.Verifies || strings.Contains(text(r), idle) != c.idle {
			t.Errorf("%s: %s\n%s", c.name, r.Outcome, text(r))
		}
	}
	joined := pack(bundle.DIDLogs(h.DID(), 1, h.Log(), changed)[0])
	if r := verify(joined, verifier.Options{}); !r.OK || !strings.Contains(text(r), idle) {
		t.Errorf("in a bundle: %s", text(r))
	}
}

func TestWhatAnEntryChangesIsSaid(t *testing.T) {
	update, _ := next(one(), didwebvh.RotateRequest{Update: key(u2), Next: pub(u3), At: day2}, false)
	recovery, _ := next(one(), didwebvh.RotateRequest{Update: key(rec), Next: pub(u3), Recovery: pub(brec), At: day2}, false)
	for _, c := range []struct {
		name, want string
		h          didwebvh.History
	}{
		{"the update key", "replaces the update key, which writes entries and signs nothing else, by " + kid(u2), update},
		{"the update key, by the recovery key", "written with the recovery key", recovery},
		{"the issuer key", "Z by its controller: retires issuer key " + kid(i1) + "; adds issuer key " + kid(i2) + "\n", plain()},
	} {
		if r := verify(c.h.Log(), verifier.Options{}); !r.OK || !strings.Contains(text(r), c.want) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, text(r))
		}
	}
}

// Nothing of a file that may hold a secret is repeated: a report is read by others than whoever holds it.
func TestNoSecretIsQuoted(t *testing.T) {
	for name, c := range map[string]struct{ file, secret string }{
		"an operator's token":       {"tno_Jq3Xo0aWwV7eYb1", "Jq3Xo"},
		"an agent's token":          {"  tn1_Jq3Xo0aWwV7eYb1\n", "Jq3Xo"},
		"a recovery key":            {"rec1-abcd-efgh", "abcd"},
		"a recovery key by hand":    {"rec1 abcd efgh", "abcd"},
		"in capitals":               {"REC1-ABCD-EFGH", "ABCD"},
		"in the middle of a line":   {"my token is tno_Jq3Xo0aWwV7eYb1, do not tell", "my token"},
		"past what would be quoted": {"Jq3Xo " + strings.Repeat("-", 60) + " tn1_x", "Jq3Xo"},
		"on a later line":           {"Jq3Xo of mine\ntno_xyz", "Jq3Xo"},
		"the name of a JSON member": {`{"tno_Jq3Xo0aWwV7eYb1":1}`, "Jq3Xo"},
		"the entry of a proof":      {`{"id":"rec1-abcd-efgh","proof":"x"}`, "abcd"},
		"given as the fingerprint":  {"", "Jq3Xo"},
	} {
		o := verifier.Options{Name: "x"}
		b := []byte(c.file)
		if c.file == "" {
			b, o.Fingerprint = one().Log(), "tno_Jq3Xo0aWwV7eYb1"
		}
		r := verify(b, o)
		if strings.Contains(strings.ToLower(text(r)), strings.ToLower(c.secret)) || r.OK {
			t.Errorf("%s: %s", name, text(r))
		}
	}
	if r := verify([]byte("a shopping list"), verifier.Options{}); !strings.Contains(text(r), `"a shopping list"`) {
		t.Errorf("what is no secret: %s", text(r))
	}
}

// Two organizations at one domain are called by their whole DIDs.
func TestOneDomainIsNoName(t *testing.T) {
	twin, line, err := didwebvh.Create(ctx, didwebvh.CreateRequest{Domain: "acme.example", Update: key(bu1), Next: pub(bu2), Recovery: pub(brec), Issuer: pub(bi), At: day1})
	if err != nil {
		t.Fatal(err)
	}
	r := verify(pack(append(logLines(one()), bundle.DIDLog{DID: twin, From: 1, Log: append(line, '\n')})...), verifier.Options{})
	if !r.OK || !strings.Contains(text(r), "DID log of "+twin.String()) || !strings.Contains(text(r), "DID log of "+one().DID().String()) {
		t.Error(text(r))
	}
}

func TestTheReportIsOneJSONObject(t *testing.T) {
	for _, s := range stories() {
		r := verify(s.bytes, s.o)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back verifier.Report
		if err := json.Unmarshal(b, &back); err != nil || text(back) != text(r) || back.Outcome != r.Outcome {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// unplugged fails the test where anything is dialled or asked for.
type unplugged struct{ t *testing.T }

func (u unplugged) RoundTrip(r *http.Request) (*http.Response, error) {
	u.t.Errorf("fetches %s", r.URL)
	return nil, http.ErrUseLastResponse
}

func TestNothingIsFetched(t *testing.T) {
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	t.Cleanup(func() { http.DefaultTransport, net.DefaultResolver = transport, resolver })
	http.DefaultTransport = unplugged{t}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(_ context.Context, network, address string) (net.Conn, error) {
		t.Errorf("asks %s %s", network, address)
		return nil, net.ErrClosed
	}}
	for _, s := range stories() {
		verify(s.bytes, s.o)
	}
}

func BenchmarkVerifyBoot(b *testing.B) {
	file := boot()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if r := verify(file, verifier.Options{}); !r.OK {
			b.Fatal(text(r))
		}
	}
}

// known are pins of one line.
func known(format string, a ...any) pins.Pins {
	slot, value, err := pins.Parse(fmt.Sprintf(format, a...))
	p := pins.Memory()
	if err == nil {
		err = p.Put(context.Background(), slot, value)
	}
	if err != nil {
		panic(err)
	}
	return p
}
