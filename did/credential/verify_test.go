package credential_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
)

var errLocked = errors.New("locked")

type locked struct{ envelope.Signer }

func (locked) Sign(context.Context, envelope.Preimage) (did.Signature, error) {
	return did.Signature{}, errLocked
}

const (
	contexts = `["https://www.w3.org/ns/credentials/v2","https://harbor.example/v1"]`
	document = `{"@context":` + contexts + `,"id":"urn:uuid:1","type":["VerifiableCredential","Berth"],"issuer":"` + harbor + `",` +
		`"validFrom":"2026-12-01T00:00:00Z","validUntil":"2026-12-31T00:00:00Z","credentialSubject":{"id":"did:example:ship","berth":7}}`
	options = `{"type":"DataIntegrityProof","cryptosuite":"eddsa-jcs-2022","created":"2026-12-01T00:00:00Z",` +
		`"verificationMethod":"` + harbor + `#key-1","proofPurpose":"assertionMethod","@context":` + contexts + `}`
)

// swap replaces old in s, which must hold it.
func swap(t testing.TB, s, old, next string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("no %s in %s", old, s)
	}
	return strings.Replace(s, old, next, 1)
}

// doc and opt are the good credential and proof with one change.
func doc(t testing.TB, old, next string) string { return swap(t, document, old, next) }
func opt(t testing.TB, old, next string) string { return swap(t, options, old, next) }

// by is the proof of another method.
func by(t testing.TB, method string) string { return opt(t, harbor+"#key-1", method) }

func TestForeignCredential(t *testing.T) {
	w := &world{}
	got, err := credential.Verify(t.Context(), secure(t, document, options, key1), credential.Options{Resolve: w.resolve(t), At: now})
	if err != nil {
		t.Fatal(err)
	}
	for i, warned := range got.Warnings {
		// harbor's document has faults of its own, which its reader should see; their words are did's.
		if !strings.Contains(warned.Where, "#") {
			t.Errorf("warning %d: %+v", i, warned)
		}
	}
	if len(got.Warnings) != 2 {
		t.Errorf("warnings %+v", got.Warnings)
	}
	got.Warnings = nil
	want := credential.Result{
		ID: "urn:uuid:1", Types: []string{"VerifiableCredential", "Berth"}, Issuer: did.MustParse(harbor),
		Subjects: []string{"did:example:ship"}, Kid: "key-1", Version: "v7",
		Created: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), ValidFrom: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		ValidUntil: time.Date(2026, 12, 31, 0, 0, 0, 0, time.UTC), Status: credential.StatusNone,
		Document: parsed(t, string(canonical(t, parsed(t, document)))),
		Evidence: []did.Evidence{{Step: "signature", Kid: "key-1"}, {Step: "key", Version: "v7"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if w.asked != 1 {
		t.Errorf("the issuer was resolved %d times", w.asked)
	}
}

func TestAccepted(t *testing.T) {
	at := func(s string) time.Time {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	list := func(raw []byte) []byte {
		v := parsed(t, string(raw))
		p, _ := v.Get("proof")
		return []byte(strings.Replace(string(raw), string(p.Raw()), "["+string(p.Raw())+"]", 1))
	}
	spaced := []byte(" \n" + strings.ReplaceAll(string(secure(t, document, options, key1)), `,"`, ",\n\t\""))
	for _, c := range []struct {
		name     string
		raw      []byte
		at       time.Time
		warnings string // where, beside those of harbor's document
		status   credential.Status
		subjects string
	}{
		{"issuer as an object", secure(t, doc(t, `"`+harbor+`"`, `{"id":"`+harbor+`","name":"Harbor"}`), options, key1), now, "", 1, "did:example:ship"},
		{"one proof in a list", list(secure(t, document, options, key1)), now, "", 1, "did:example:ship"},
		{"written with white space and in another order", spaced, now, "", 1, "did:example:ship"},
		{"another key of the issuer", secure(t, document, by(t, harbor+"#key-10"), key10), now, "", 1, "did:example:ship"},
		{"a key a second before its end", secure(t, document, by(t, harbor+"#later"), laterKey), now, "", 1, "did:example:ship"},
		{"a key before it was revoked", secure(t, document, by(t, harbor+"#old"), oldKey), at("2026-12-18T23:59:59Z"), "", 1, "did:example:ship"},
		{"in its first second", secure(t, document, options, key1), at("2026-12-01T00:00:00Z"), "", 1, "did:example:ship"},
		{"in its last second", secure(t, document, options, key1), at("2026-12-30T23:59:59Z"), "", 1, "did:example:ship"},
		{"without dates", secure(t, doc(t, `"validFrom":"2026-12-01T00:00:00Z","validUntil":"2026-12-31T00:00:00Z",`, ""), options, key1), at("2226-12-01T00:00:00Z"), "", 1, "did:example:ship"},
		{"dates at an offset", secure(t, doc(t, "2026-12-01T00:00:00Z", "2026-12-20T01:00:00+01:00"), options, key1), now, "", 1, "did:example:ship"},
		{"with a status", secure(t, doc(t, `"id":"urn`, `"credentialStatus":{"type":"BitstringStatusListEntry"},"id":"urn`), options, key1), now, "credentialStatus", 2, "did:example:ship"},
		{"with a status of no form", secure(t, doc(t, `"id":"urn`, `"credentialStatus":null,"id":"urn`), options, key1), now, "credentialStatus", 2, "did:example:ship"},
		{"with a schema and terms", secure(t, doc(t, `"id":"urn`, `"termsOfUse":[],"credentialSchema":{},"id":"urn`), options, key1), now, "credentialSchema termsOfUse", 1, "did:example:ship"},
		{"two subjects, one of them nameless", secure(t, doc(t, `{"id":"did:example:ship","berth":7}`, `[{"berth":7},{"id":"did:example:ship"}]`), options, key1), now, "", 1, " did:example:ship"},
		{"one type, no id", secure(t, doc(t, `"id":"urn:uuid:1","type":["VerifiableCredential","Berth"]`, `"type":"VerifiableCredential"`), options, key1), now, "", 1, "did:example:ship"},
		{"a proof without context or date", secure(t, document, swap(t, opt(t, `,"@context":`+contexts, ""), `"created":"2026-12-01T00:00:00Z",`, ""), key1), now, "", 1, "did:example:ship"},
		{"a proof with an end, an id and a nonce", secure(t, document, opt(t, "{", `{"expires":"2026-12-20T00:00:01Z","id":"urn:x","nonce":"n",`), key1), now, "", 1, "did:example:ship"},
		{"nested 32 deep", secure(t, doc(t, `"berth":7`, `"berth":`+strings.Repeat("[", 30)+strings.Repeat("]", 30)), options, key1), now, "", 1, "did:example:ship"},
		{"as large as may be", append(secure(t, document, options, key1), padding(secure(t, document, options, key1))...), now, "", 1, "did:example:ship"},
		{"a proof of tomorrow", secure(t, document, opt(t, "2026-12-01", "2026-12-21"), key1), now, "proof", 1, "did:example:ship"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := credential.Verify(t.Context(), c.raw, credential.Options{Resolve: (&world{}).resolve(t), At: c.at})
			if err != nil {
				t.Fatal(err)
			}
			var where []string
			for _, warned := range r.Warnings {
				if !strings.Contains(warned.Where, "#") {
					where = append(where, warned.Where)
				}
			}
			if got := strings.Join(where, " "); got != c.warnings {
				t.Errorf("warnings %q, want %q", got, c.warnings)
			}
			if r.Status != c.status {
				t.Errorf("status %s, want %s", r.Status, c.status)
			}
			if got := strings.Join(r.Subjects, " "); got != c.subjects {
				t.Errorf("subjects %q, want %q", got, c.subjects)
			}
		})
	}
}

// padding is the white space that fills raw up to 64 KiB.
func padding(raw []byte) []byte { return []byte(strings.Repeat(" ", 64<<10-len(raw))) }

// TestRefused is identity B-9 and B-10 under "Whose key", B-12 under "Which context is signed".
func TestRefused(t *testing.T) {
	good := string(secure(t, document, options, key1))
	value := func(raw string) string {
		p, _ := parsed(t, raw).Get("proof")
		s, _ := p.Get("proofValue")
		text, _ := s.Text()
		return text
	}
	flipped := value(good)
	flipped = flipped[:40] + map[bool]string{true: "2", false: "3"}[flipped[40] != '2'] + flipped[41:]
	v1 := doc(t, "https://www.w3.org/ns/credentials/v2", "https://www.w3.org/2018/credentials/v1")
	longer := string(padding([]byte(good)))
	unsupported, form, issuer, proof, dates := credential.ErrUnsupported, credential.ErrForm, credential.ErrIssuer, credential.ErrProof, credential.ErrDates
	for _, c := range []struct {
		name string
		raw  string
		want error
	}{
		// What was changed after signing.
		{"a claim", swap(t, good, `"berth":7`, `"berth":8`), proof},
		{"a claim more", swap(t, good, `"berth":7`, `"berth":7,"crane":1`), proof},
		{"a member more", swap(t, good, `"id":"urn`, `"evidence":[],"id":"urn`), proof},
		{"the subject", swap(t, good, "did:example:ship", "did:example:boat"), proof},
		{"the end", swap(t, good, "2026-12-31", "2027-12-31"), proof},
		{"the time of the proof", swap(t, good, `"created":"2026-12-01`, `"created":"2026-12-02`), proof},
		{"the value, one digit", swap(t, good, value(good), flipped), proof},
		{"the value, cut", swap(t, good, value(good), value(good)[:80]), proof},
		{"the value, of another document", swap(t, good, value(good), value(string(secure(t, doc(t, "7}", "9}"), options, key1)))), proof},
		{"the proof, of another document", strings.Replace(string(secure(t, doc(t, "7}", "9}"), options, key1)), `"berth":9`, `"berth":7`, 1), proof},
		{"the claim and the hash over it, by a stranger", string(secure(t, document, options, foreignKey)), proof},
		{"one byte appended", good + "}", form},
		{"a second document appended", good + good, form},

		// Whose key.
		{"another key of the issuer under this name", string(secure(t, document, options, key10)), proof},
		{"key-1 signs as key-10", string(secure(t, document, by(t, harbor+"#key-10"), key1)), proof},
		{"key-10 is renamed key-1 after signing", strings.Replace(string(secure(t, document, by(t, harbor+"#key-10"), key10)), "#key-10", "#key-1", 1), proof},
		{"a prefix of a key's name", string(secure(t, document, by(t, harbor+"#key-"), key1)), did.ErrNoMethod},
		{"a key's name in other case", string(secure(t, document, by(t, harbor+"#Key-1"), key1)), did.ErrNoMethod},
		{"a key listed that is not there", string(secure(t, document, by(t, harbor+"#gone"), key1)), did.ErrNoMethod},
		{"a key for authentication", string(secure(t, document, by(t, harbor+"#auth"), authKey)), credential.ErrRelationship},
		{"a key for authentication says so", string(secure(t, document, swap(t, by(t, harbor+"#auth"), "assertionMethod", "authentication"), authKey)), proof},
		{"a key for both is used for authentication", string(secure(t, document, opt(t, "assertionMethod", "authentication"), key1)), proof},
		{"a key that was revoked", string(secure(t, document, by(t, harbor+"#old"), oldKey)), did.ErrUnusable},
		{"a key at the second of its end", string(secure(t, document, by(t, harbor+"#short"), shortKey)), did.ErrUnusable},
		{"a key that another controls", string(secure(t, document, by(t, harbor+"#lent"), borrowedKey)), did.ErrNoMethod},
		{"a key that does not sign", string(secure(t, document, by(t, harbor+"#x"), key1)), did.ErrNotSigning},
		{"a key of an unknown type", string(secure(t, document, by(t, harbor+"#odd"), key1)), did.ErrUnusable},
		{"another's key, which the issuer's document lists", string(secure(t, document, by(t, line+"#key-1"), foreignKey)), issuer},
		{"credential of one signed by another", string(secure(t, doc(t, harbor, line), options, key1)), issuer},
		{"the same with an object", string(secure(t, doc(t, `"`+harbor+`"`, `{"id":"`+line+`"}`), options, key1)), issuer},
		{"an issuer that only begins alike", string(secure(t, doc(t, harbor, harbor+".evil.example"), options, key1)), issuer},
		{"an issuer in other case", string(secure(t, doc(t, harbor, "did:web:Harbor.example"), options, key1)), issuer},
		{"an issuer with a fragment", string(secure(t, doc(t, harbor, harbor+"#key-1"), options, key1)), issuer},
		{"an issuer of the web", string(secure(t, doc(t, harbor, "https://harbor.example"), options, key1)), issuer},
		{"an issuer nobody can resolve", string(secure(t, doc(t, harbor, "did:web:gone.example"), by(t, "did:web:gone.example#k"), key1)), errUnreachable},
		{"no issuer", string(secure(t, doc(t, `"issuer":"`+harbor+`",`, ""), options, key1)), form},
		{"an issuer without a name", string(secure(t, doc(t, `"`+harbor+`"`, `{"name":"Harbor"}`), options, key1)), form},
		{"two issuers", string(secure(t, doc(t, `"`+harbor+`"`, `["`+harbor+`","`+line+`"]`), options, key1)), form},
		{"a method without a fragment", string(secure(t, document, by(t, harbor), key1)), proof},
		{"a method that is no URL", string(secure(t, document, by(t, "did:web:#key-1"), key1)), proof},
		{"a method by its fragment", string(secure(t, document, by(t, "#key-1"), key1)), unsupported},
		{"a method of the web", string(secure(t, document, by(t, "https://harbor.example#key-1"), key1)), unsupported},
		{"a method with a query", string(secure(t, document, by(t, harbor+"?versionId=1#key-1"), key1)), unsupported},
		{"a method with a path", string(secure(t, document, by(t, harbor+"/x#key-1"), key1)), unsupported},

		// What the proof is.
		{"no proof", document, proof},
		{"a proof that is null", doc(t, `"id":"urn`, `"proof":null,"id":"urn`), proof},
		{"a list of no proofs", doc(t, `"id":"urn`, `"proof":[],"id":"urn`), proof},
		{"a proof that is a text", doc(t, `"id":"urn`, `"proof":"x","id":"urn`), proof},
		{"two proofs", twice(t, good), unsupported},
		{"a link to an earlier proof", string(secure(t, document, opt(t, "{", `{"previousProof":"urn:x",`), key1)), unsupported},
		{"a proof for another's ears", string(secure(t, document, opt(t, "{", `{"domain":"bank.example",`), key1)), unsupported},
		{"the algorithm none", string(secure(t, document, opt(t, "eddsa-jcs-2022", "none"), key1)), unsupported},
		{"the type none", string(secure(t, document, opt(t, "DataIntegrityProof", "none"), key1)), unsupported},
		{"the suite of another curve", string(secure(t, document, opt(t, "eddsa-jcs-2022", "ecdsa-jcs-2019"), key1)), unsupported},
		{"the suite over RDF", string(secure(t, document, opt(t, "eddsa-jcs-2022", "eddsa-rdfc-2022"), key1)), unsupported},
		{"the suite left out", string(secure(t, document, opt(t, `"cryptosuite":"eddsa-jcs-2022",`, ""), key1)), proof},
		{"a value in a suite it was not made in", swap(t, good, "eddsa-jcs-2022", "eddsa-rdfc-2022"), unsupported},
		{"a proof that has ended", string(secure(t, document, opt(t, "{", `{"expires":"2026-12-20T00:00:00Z",`), key1)), dates},
		{"an end of the proof moved out", swap(t, string(secure(t, document, opt(t, "{", `{"expires":"2026-12-20T00:00:00Z",`), key1)), "2026-12-20", "2027-12-20"), proof},

		// Which context is signed.
		{"the proof has a context that the document does not begin with", string(secure(t, document, opt(t, contexts, `["https://www.w3.org/ns/credentials/v2","https://evil.example/v1"]`), key1)), proof},
		{"the proof has one more than the document", string(secure(t, document, opt(t, contexts, `["https://www.w3.org/ns/credentials/v2","https://harbor.example/v1","https://evil.example/v1"]`), key1)), proof},
		{"a context put before the signed ones", swap(t, good, contexts, `["https://www.w3.org/ns/credentials/v2","https://evil.example/v1","https://harbor.example/v1"]`), proof},
		{"a signed context taken away", swap(t, good, contexts, `["https://www.w3.org/ns/credentials/v2"]`), proof},
		{"other JSON of the issuer, made a credential afterwards", relabelled(t, `[]`), proof},
		{"the same with one context that is no credential's", relabelled(t, `["https://harbor.example/v1"]`), form},

		// When.
		{"not valid yet", string(secure(t, doc(t, "2026-12-01", "2026-12-21"), options, key1)), dates},
		{"ended this second", string(secure(t, doc(t, "2026-12-31", "2026-12-20"), options, key1)), dates},
		{"ended, at an offset", string(secure(t, doc(t, "2026-12-31T00:00:00Z", "2026-12-20T00:59:59+01:00"), options, key1)), dates},
		{"ended before it began", string(secure(t, doc(t, "2026-12-31", "2026-11-20"), options, key1)), dates},
		{"ended, and forged", swap(t, string(secure(t, doc(t, "2026-12-31", "2026-12-20"), options, key1)), "berth\":7", "berth\":8"), proof},
		{"an end that is no time", string(secure(t, doc(t, "2026-12-31T00:00:00Z", "never"), options, key1)), form},
		{"an end in the year that stands for none", string(secure(t, doc(t, "2026-12-31T00:00:00Z", "0001-01-01T00:00:00Z"), options, key1)), form},
		{"an end that is null", string(secure(t, doc(t, `"2026-12-31T00:00:00Z"`, "null"), options, key1)), form},
		{"a date without an offset", string(secure(t, doc(t, "00:00:00Z", "00:00:00"), options, key1)), form},

		// What it is.
		{"nothing", "", form},
		{"white space", " \n", form},
		{"a number", "7", form},
		{"a list of credentials", "[" + good + "]", form},
		{"a member twice", swap(t, good, `"issuer":`, `"issuer":"`+line+`","issuer":`), form},
		{"a member of the proof twice", swap(t, good, `"created":`, `"created":"2026-12-01T00:00:00Z","created":`), form},
		{"a member twice, once by an escape", swap(t, good, `"issuer":`, `"\u0069ssuer":"`+line+`","issuer":`), form},
		{"nested 33 deep", string(doc(t, `"berth":7`, `"berth":`+strings.Repeat("[", 31)+strings.Repeat("]", 31))), form},
		{"a byte order mark", "\xef\xbb\xbf" + good, form},
		{"bytes that are no UTF-8", swap(t, good, "did:example:ship", "did:example:\xff"), form},
		{"one byte too large", good + longer + " ", credential.ErrTooLarge},
		{"a token", "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJkaWQ6d2ViOmhhcmJvci5leGFtcGxlIn0.AAAA", unsupported},
		{"a token without a signature", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJkaWQ6d2ViOmhhcmJvci5leGFtcGxlIn0.", unsupported},
		{"a token after a line feed", "\neyJhbGciOiJub25lIn0.e30.~", unsupported},
		{"version 1.1", string(secure(t, v1, opt(t, contexts, `["https://www.w3.org/2018/credentials/v1","https://harbor.example/v1"]`), key1)), unsupported},
		{"version 1.1, not signed", v1, unsupported},
		{"version 1.1 as one context", doc(t, contexts, `"https://www.w3.org/2018/credentials/v1"`), unsupported},
		{"a context that is no list", string(secure(t, doc(t, contexts, `"https://www.w3.org/ns/credentials/v2"`), opt(t, `,"@context":`+contexts, ""), key1)), form},
		{"no context", string(secure(t, doc(t, `"@context":`+contexts+`,`, ""), opt(t, `,"@context":`+contexts, ""), key1)), form},
		{"the context second", string(secure(t, doc(t, contexts, `["https://harbor.example/v1","https://www.w3.org/ns/credentials/v2"]`), opt(t, `,"@context":`+contexts, ""), key1)), form},
		{"no type", string(secure(t, doc(t, `"type":["VerifiableCredential","Berth"],`, ""), options, key1)), form},
		{"another type", string(secure(t, doc(t, "VerifiableCredential", "Credential"), options, key1)), form},
		{"a type that is no text", string(secure(t, doc(t, `"Berth"`, "7"), options, key1)), form},
		{"a presentation", string(secure(t, doc(t, `["VerifiableCredential","Berth"]`, `"VerifiablePresentation"`), options, key1)), unsupported},
		{"an enveloped credential", string(secure(t, doc(t, `["VerifiableCredential","Berth"]`, `"EnvelopedVerifiableCredential"`), options, key1)), unsupported},
		{"no subject", string(secure(t, doc(t, `,"credentialSubject":{"id":"did:example:ship","berth":7}`, ""), options, key1)), form},
		{"an empty list of subjects", string(secure(t, doc(t, `{"id":"did:example:ship","berth":7}`, "[]"), options, key1)), form},
		{"a subject that is a text", string(secure(t, doc(t, `{"id":"did:example:ship","berth":7}`, `"did:example:ship"`), options, key1)), form},
		{"a subject's id that is no text", string(secure(t, doc(t, `"did:example:ship"`, "7"), options, key1)), form},
		{"an id that is no text", string(secure(t, doc(t, `"urn:uuid:1"`, "7"), options, key1)), form},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{}
			r, err := credential.Verify(t.Context(), []byte(c.raw), credential.Options{Resolve: w.resolve(t), At: now})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if !reflect.DeepEqual(r, credential.Result{}) {
				t.Errorf("a result beside the error: %+v", r)
			}
			if decided := !errors.Is(err, unsupported); decided == (c.want == unsupported) {
				t.Errorf("a verdict on what is not supported, or none: %v", err)
			}
			if mayAsk := c.want == proof || c.want == dates || c.want == did.ErrNoMethod || c.want == did.ErrUnusable || c.want == did.ErrNotSigning ||
				c.want == credential.ErrRelationship || c.want == errUnreachable; w.asked > 0 && !mayAsk {
				t.Errorf("the issuer of what is refused by its form was resolved")
			}
		})
	}
}

// twice is raw with its proof in a list two times.
func twice(t testing.TB, raw string) string {
	p, _ := parsed(t, raw).Get("proof")
	return swap(t, raw, string(p.Raw()), "["+string(p.Raw())+","+string(p.Raw())+"]")
}

// relabelled is a document that the issuer signed under own contexts, to which those of a credential were added.
func relabelled(t testing.TB, own string) string {
	t.Helper()
	proof := prove(t, doc(t, contexts, own), opt(t, contexts, own), key1)
	all := swap(t, own, "]", map[bool]string{true: "", false: ","}[own == "[]"]+contexts[1:])
	return string(canonical(t, parsed(t, doc(t, contexts, all)).With("proof", proof)))
}

// TestContextAddedAfterSigning is w3c/vc-data-integrity#225.
// It is identity B-12.
func TestContextAddedAfterSigning(t *testing.T) {
	raw := swap(t, string(secure(t, document, options, key1)), contexts, swap(t, contexts, "]", `,{"berth":"https://evil.example/sold"}]`))
	r, err := credential.Verify(t.Context(), []byte(raw), credential.Options{Resolve: (&world{}).resolve(t), At: now})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.Document.Raw()), string(canonical(t, parsed(t, document))); got != want {
		t.Errorf("document %s\nwant %s", got, want)
	}
	if len(r.Warnings) == 0 || r.Warnings[0].Where != "@context" {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// TestNumbersThatRoundAlike: RFC 8785 cannot tell these two apart, so the reader must not see the second.
func TestNumbersThatRoundAlike(t *testing.T) {
	signed := secure(t, doc(t, `"berth":7`, `"berth":9007199254740992`), options, key1)
	raw := swap(t, string(signed), "9007199254740992", "9007199254740993")
	r, err := credential.Verify(t.Context(), []byte(raw), credential.Options{Resolve: (&world{}).resolve(t), At: now})
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := r.Document.Get("credentialSubject")
	if n, _ := subject.Get("berth"); string(n.Raw()) != "9007199254740992" {
		t.Errorf("berth %s", n.Raw())
	}
}

func TestIssuerThatIsNotToBeReliedOn(t *testing.T) {
	raw := secure(t, document, options, key1)
	other, err := did.ParseDocument([]byte(documents[line]), did.MustParse(line))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*did.Resolution)
		want   error
	}{
		{"frozen by a fork", func(r *did.Resolution) { r.State = did.Frozen }, keyring.ErrFrozen},
		{"deactivated", func(r *did.Resolution) { r.State = did.Deactivated }, keyring.ErrDeactivated},
		{"of no state", func(r *did.Resolution) { r.State = 0 }, credential.ErrIssuer},
		{"another's name beside its document", func(r *did.Resolution) { r.DID = other.ID() }, credential.ErrIssuer},
		{"another's document", func(r *did.Resolution) { r.Document = other }, credential.ErrIssuer},
		{"another's resolution", func(r *did.Resolution) { r.DID, r.Document = other.ID(), other }, credential.ErrIssuer},
		{"no document", func(r *did.Resolution) { r.Document = did.Document{} }, credential.ErrIssuer},
	} {
		w := &world{change: c.change}
		if r, err := credential.Verify(t.Context(), raw, credential.Options{Resolve: w.resolve(t), At: now}); !errors.Is(err, c.want) || r.Kid != "" {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// A credential of before a move verifies under the document of the new DID, if that is the DID the issuer has moved to.
func TestAnIssuerThatMoved(t *testing.T) {
	h, signer := acme(t), envelopetest.Repeat
	line, err := didwebvh.Move(t.Context(), h, didwebvh.MoveRequest{Update: signer(u2), Next: signer(key10).Public(), Domain: "new.example", At: day1.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	moved, err := h.Extend(line, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	raw := exported(t, h)
	r, err := credential.Verify(t.Context(), raw, fromLog(moved, now))
	if err != nil || r.Issuer != h.DID() || len(r.Warnings) == 0 {
		t.Errorf("after the move: %+v, %v", r, err)
	}
	doc := string(moved.Head().Document.Raw())
	for name, c := range map[string]struct{ text, id string }{
		"which does not name the old one": {strings.Replace(doc, h.DID().String(), "did:web:old.example", 1), moved.DID().String()},
		"of another SCID":                 {strings.ReplaceAll(doc, moved.DID().String(), "did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:new.example"), "did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:new.example"},
		"of another method":               {strings.ReplaceAll(doc, moved.DID().String(), "did:web:new.example"), "did:web:new.example"},
	} {
		d, err := did.ParseDocument([]byte(c.text), did.MustParse(c.id))
		if err != nil {
			t.Fatal(err)
		}
		o := credential.Options{At: now, Resolve: func(_ context.Context, asked did.DID) (did.Resolution, error) {
			return did.Resolution{DID: asked, Document: d, Raw: d.Raw(), Version: "v", State: did.Held}, nil
		}}
		if _, err := credential.Verify(t.Context(), raw, o); !errors.Is(err, credential.ErrIssuer) {
			t.Errorf("a document %s: %v", name, err)
		}
	}
}

func TestWithoutResolverOrTime(t *testing.T) {
	raw := secure(t, document, options, key1)
	for _, o := range []credential.Options{{}, {At: now}, {Resolve: (&world{}).resolve(t)}} {
		if _, err := credential.Verify(t.Context(), raw, o); !errors.Is(err, credential.ErrOptions) {
			t.Errorf("got %v", err)
		}
	}
}

func TestResolverGetsTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := credential.Verify(ctx, secure(t, document, options, key1), credential.Options{
		At: now, Resolve: func(ctx context.Context, _ did.DID) (did.Resolution, error) { return did.Resolution{}, ctx.Err() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPublishedVectors(t *testing.T) {
	asked := func(context.Context, did.DID) (did.Resolution, error) {
		t.Error("resolved")
		return did.Resolution{}, errUnreachable
	}
	for name, want := range map[string]error{
		"eddsa-jcs-2022/signedJCS.json":             credential.ErrIssuer,
		"Ed25519Signature2020/signedEdSig.json":     credential.ErrUnsupported,
		"eddsa-rdfc-2022/signedDataInt.json":        credential.ErrUnsupported,
		"eddsa-rdfc-2022/employ/signedDataInt.json": credential.ErrUnsupported,
		"proof-set-chain/signedProofChain1.json":    credential.ErrUnsupported,
		"proof-set-chain/signedProofChain2.json":    credential.ErrUnsupported,
		"proof-set-chain/signedProofSet1.json":      credential.ErrUnsupported,
		"proof-set-chain/signedProofSet2.json":      credential.ErrUnsupported,
		"unsigned.json":                             credential.ErrProof,
		"employmentAuth.json":                       credential.ErrProof,
	} {
		if _, err := credential.Verify(t.Context(), vector(t, name), credential.Options{Resolve: asked, At: now}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

func TestStatusHasNames(t *testing.T) {
	if got := credential.StatusNone.String() + " " + credential.StatusUnchecked.String() + " " + credential.Status(0).String(); got != "none unchecked status 0" {
		t.Errorf("got %s", got)
	}
}
