package verifier_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/verifier"
)

// federationOf is the fingerprint of the federation whose case and proofs lie in the testdata of package casefile.
const federationOf = "fed1-admq-ppgp"

// puppets are what somebody makes alone who has seen a genuine proof: the genuine charters, DID logs and what these rest on,
// beside a log whose DID says acme.example as a member's does, under a head that a DID of beta.example cosigns.
func puppets(t *testing.T) (genuine, theirs []bundle.Line, about envelope.ID) {
	t.Helper()
	_, lines := proofLines(t, shared(t, "proof.tnb"))
	for _, l := range lines {
		if k, ok := l.(bundle.Entry); ok {
			if _, e, _ := attestation.Entry(k.Entry).Envelope(); e.Type == "loan.issued" {
				continue
			}
		}
		genuine = append(genuine, l)
	}
	log := rotated()
	theirs = slices.Concat(logLines(log.org), logLines(beta()), log.lines(i2, 0, 1, 2))
	return genuine, theirs, log.entries[1].ID()
}

// fingerprint is the one of the federation, read where a file without puppets says it.
func fingerprint(t *testing.T) string {
	t.Helper()
	for _, l := range judgeProof(shared(t, "proof.tnb")).Lines {
		if at := strings.Index(l.Text, federationOf); at >= 0 {
			return l.Text[at : at+len("fed1-admq-ppgp-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx")]
		}
	}
	t.Fatal("no fingerprint is said")
	return ""
}

func asked(fingerprint string, strict bool, witnesses int) func(*verifier.Options) {
	return func(o *verifier.Options) { o.Fingerprint, o.Strict, o.Witnesses = fingerprint, strict, witnesses }
}

// unwitnessed takes the cosignatures from entries.
func unwitnessed(t *testing.T, lines []bundle.Line) (out []bundle.Line) {
	t.Helper()
	for _, l := range lines {
		if k, ok := l.(bundle.Entry); ok {
			p := must(attlog.ParseProof(k.Proof))
			p.Note.Lines = slices.DeleteFunc(slices.Clone(p.Note.Lines), func(l attlog.Line) bool { _, ok := l.Witness(); return ok })
			k.Proof = p.Bytes()
			l = k
		}
		out = append(out, l)
	}
	return out
}

// TestGenuineChartersDoNotVouchForPuppets is attestation I-14 for a proof: what vouches for a federation, and the number of
// witnesses that is asked for, say nothing of DIDs that its charters do not name, whatever domain these say.
func TestGenuineChartersDoNotVouchForPuppets(t *testing.T) {
	genuine, theirs, about := puppets(t)
	alone := unwitnessed(t, slices.DeleteFunc(slices.Clone(theirs), func(l bundle.Line) bool { k, ok := l.(bundle.DIDLog); return ok && k.DID == beta().DID() }))
	fed := fingerprint(t)
	org := ""
	for _, c := range []struct {
		name  string
		lines []bundle.Line
		ask   func(*verifier.Options)
		want  string
	}{
		{"an event of a puppet that a puppet cosigned", theirs, asked("", false, 0), "cosigned and is no member"},
		{"with all that can be asked for", theirs, asked(fed, true, 1), "cosigned and is no member"},
		{"an event of a puppet that nobody cosigned", alone, asked(fed, false, 0), "speaks in the file and is no member"},
		{"strictly", alone, asked(fed, true, 0), "speaks in the file and is no member"},
		{"strictly, without a fingerprint", alone, asked("", true, 0), "nothing but the file vouches for"},
		{"and the log of one that says nothing", slices.Concat(alone, logLines(beta())), asked("", false, 0), "does not rest on"},
	} {
		r := judgeProof(anew(t, []envelope.ID{about}, append(slices.Clone(genuine), c.lines...)...), c.ask)
		if r.OK || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s: %s, want %q in\n%s", c.name, r.Outcome, c.want, text(r))
		}
	}
	r := judgeProof(anew(t, []envelope.ID{about}, append(slices.Clone(genuine), alone...)...))
	for _, l := range r.Lines {
		if strings.Contains(strings.ReplaceAll(l.Text, "acme.example, compare", ""), " acme.example") || strings.HasPrefix(l.Text, "acme.example") {
			t.Errorf("a member and a puppet go by one name: %s", l.Text)
		}
		if at := strings.Index(l.Text, "org1-"); at >= 0 && strings.HasPrefix(l.Text, rotated().org.DID().String()) {
			org = l.Text[at : at+len("org1-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx-xxxx")]
		}
	}
	if !r.OK || org == "" {
		t.Fatalf("what only the file vouches for is not named with its own fingerprint:\n%s", text(r))
	}
	if r := judgeProof(anew(t, []envelope.ID{about}, append(slices.Clone(genuine), alone...)...), asked(org, false, 0)); !r.OK {
		t.Errorf("its own fingerprint is refused:\n%s", text(r))
	}
}

// TestStrangersDoNotWitness adds the cosignatures of strangers to the head of a genuine event.
func TestStrangersDoNotWitness(t *testing.T) {
	about, lines := proofLines(t, shared(t, "proof.tnb"))
	for i, l := range lines {
		k, ok := l.(bundle.Entry)
		if !ok {
			continue
		}
		p := must(attlog.ParseProof(k.Proof))
		p.Note.Lines = append(slices.Clone(p.Note.Lines), must(attlog.Cosign(ctx, key(wit), beta().DID(), p.Note, day2.Add(time.Hour))))
		k.Proof = p.Bytes()
		lines[i] = k
	}
	file := anew(t, about, append(lines, logLines(beta())...)...)
	if r := judgeProof(file, asked(fingerprint(t), true, 3)); r.Outcome != verifier.Broken || !strings.Contains(r.Why, "cosigned and is no member") {
		t.Errorf("%s", text(r))
	}
}

// TestAFederationDoesNotVouchForAStrangersAgent adds the agent object of a did:key to a boot file.
func TestAFederationDoesNotVouchForAStrangersAgent(t *testing.T) {
	acme, _ := two()
	self := billing(one())
	self.Org, self.Kid, self.DIDVersion = must(didkey.FromKey(pub(bu1))), kid(bu1), ""
	g := genesis(i2, bi, gi)
	file := pack(slices.Concat(logLines(acme), logLines(beta()), []bundle.Line{env(g), env(sealed(self, bu1))})...)
	if r := verify(file, verifier.Options{}); !r.OK || !strings.Contains(text(r), self.Org.String()+" is "+self.Org.String()+" by this file alone") {
		t.Errorf("%s", text(r))
	}
	r := verify(file, verifier.Options{Strict: true, Fingerprint: charter.Fingerprint(g.ID())})
	if r.OK || !strings.Contains(r.Why, "nothing but the file vouches for "+self.Org.String()) {
		t.Errorf("%s", text(r))
	}
}

// TestAMemberThatMovedIsAMember: the charter names it as it was, its log as it is.
func TestAMemberThatMovedIsAMember(t *testing.T) {
	g := genesisWith("fin-lending", joinOf(one(), "acme", i1), i1, bi, gi)
	file := pack(slices.Concat(logLines(moved()), logLines(beta()), []bundle.Line{env(g)})...)
	if r := verify(file, verifier.Options{Strict: true, Fingerprint: charter.Fingerprint(g.ID())}); !r.OK {
		t.Errorf("%s", text(r))
	}
}
