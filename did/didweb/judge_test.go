package didweb_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/envelope"
)

func TestJudge(t *testing.T) {
	expires := func(day string) string { return `,"expires":"2027-01-` + day + `T00:00:00Z"` }
	revoked := func(day string) string { return `,"revoked":"2027-01-` + day + `T00:00:00Z"` }
	one := func(more ...string) []byte { return document(beta, method(beta, "a", k1, more...), "a") }
	both := document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a", "b")
	witness := func(id, endpoint string) []byte {
		return with(one(), `"service":[{"id":"#`+id+`","type":"TrustnodeWitness","serviceEndpoint":"`+endpoint+`"}]`)
	}
	w2, w3 := "did:key:"+k2.Multikey(), "did:key:"+k3.Multikey()
	keys := func(k ...did.PublicKey) []did.PublicKey { return k }
	for title, c := range map[string]struct {
		held, next []byte
		want       didweb.Change
	}{
		"the same bytes": {one(), one(), didweb.Change{Verdict: didweb.Unchanged}},
		"white space after the end": {one(), append(one(), '\n'),
			didweb.Change{Verdict: didweb.SameKeys}},
		"an endpoint of a page moved": {one(), with(one(), `"service":[{"id":"#lending","type":"TrustnodeLending","serviceEndpoint":"https://beta.example/x"}]`),
			didweb.Change{Verdict: didweb.SameKeys}},
		"the methods in another order and under other names": {both, document(beta, method(beta, "x", k2)+","+method(beta, "y", k1), "x", "y"),
			didweb.Change{Verdict: didweb.SameKeys}},
		"one key twice": {one(), document(beta, method(beta, "a", k1)+","+method(beta, "b", k1), "a", "b"),
			didweb.Change{Verdict: didweb.SameKeys}},
		"a key in another encoding": {one(), document(beta, `{"id":"#a","type":"Ed25519VerificationKey2020","controller":"`+beta+`","publicKeyMultibase":"`+k1.Multikey()+`"}`, "a"),
			didweb.Change{Verdict: didweb.SameKeys}},
		"a key that may not assert": {one(), document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a"),
			didweb.Change{Verdict: didweb.SameKeys}},
		"a key that another DID controls": {one(), document(beta, method(beta, "a", k1)+`,{"id":"#b","type":"Multikey","controller":"did:web:evil.example","publicKeyMultibase":"`+k2.Multikey()+`"}`, "a", "b"),
			didweb.Change{Verdict: didweb.SameKeys}},
		"a key more": {one(), both, didweb.Change{Verdict: didweb.OtherKeys, Added: keys(k2)}},
		"a key less": {both, one(), didweb.Change{Verdict: didweb.OtherKeys, Removed: keys(k2)}},
		"another key under the old name": {one(), document(beta, method(beta, "a", k2), "a"),
			didweb.Change{Verdict: didweb.OtherKeys, Added: keys(k2), Removed: keys(k1)}},
		"no key any more": {one(), document(beta, method(beta, "a", k1)),
			didweb.Change{Verdict: didweb.OtherKeys, Removed: keys(k1)}},
		"the key becomes unusable": {one(), document(beta, method(beta, "a", k1, `,"publicKeyHex":"00"`), "a"),
			didweb.Change{Verdict: didweb.OtherKeys, Removed: keys(k1)}},
		"an end is set":                {one(), one(expires("01")), didweb.Change{Verdict: didweb.SameKeys}},
		"an end comes nearer":          {one(expires("05")), one(expires("01")), didweb.Change{Verdict: didweb.SameKeys}},
		"an end by revocation":         {one(expires("05")), one(expires("09"), revoked("01")), didweb.Change{Verdict: didweb.SameKeys}},
		"an end is put off":            {one(expires("01")), one(expires("05")), didweb.Change{Verdict: didweb.OtherKeys, Extended: keys(k1)}},
		"an end is taken back":         {one(expires("01")), one(), didweb.Change{Verdict: didweb.OtherKeys, Extended: keys(k1)}},
		"a revocation is taken back":   {one(revoked("01")), one(), didweb.Change{Verdict: didweb.OtherKeys, Extended: keys(k1)}},
		"a revocation behind an end":   {one(revoked("01")), one(expires("01"), revoked("02")), didweb.Change{Verdict: didweb.SameKeys}},
		"a second name without an end": {one(expires("01")), document(beta, method(beta, "a", k1, expires("01"))+","+method(beta, "b", k1), "a", "b"), didweb.Change{Verdict: didweb.OtherKeys, Extended: keys(k1)}},
		"the witness has another key": {witness("witness", w2), witness("witness", w3),
			didweb.Change{Verdict: didweb.OtherKeys, Services: []string{beta + "#witness"}}},
		"the witness has another name": {witness("witness", w2), witness("w", w2),
			didweb.Change{Verdict: didweb.OtherKeys, Services: []string{beta + "#w", beta + "#witness"}}},
		"a witness more":  {one(), witness("witness", w2), didweb.Change{Verdict: didweb.OtherKeys, Services: []string{beta + "#witness"}}},
		"no witness more": {witness("witness", w2), one(), didweb.Change{Verdict: didweb.OtherKeys, Services: []string{beta + "#witness"}}},
		"the same witness": {witness("witness", w2), append(witness("witness", w2), ' '),
			didweb.Change{Verdict: didweb.SameKeys}},
	} {
		c.want.ID = envelope.IDOf(c.next)
		got, err := didweb.Judge(take(t, beta, c.held), c.held, c.next)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", title, got, err, c.want)
		}
	}
}

// TestJudgeWithoutVerdict: where there is an error there is no verdict, so nobody replaces the pinned document.
func TestJudgeWithoutVerdict(t *testing.T) {
	held := document(beta, method(beta, "a", k1), "a")
	s := take(t, beta, held)
	other := document("did:web:evil.example", method("did:web:evil.example", "a", k1), "a")
	for title, c := range map[string]struct {
		held, next []byte
		want       error
	}{
		"the pinned bytes are not those of the row": {append(bytes.Clone(held), ' '), held, didweb.ErrMismatch},
		"the pinned bytes are lost":                 {nil, held, didweb.ErrMismatch},
		"a document of another DID (B-5)":           {held, other, did.ErrDocument},
		"no JSON":                                   {held, []byte("gone"), did.ErrDocument},
		"nothing":                                   {held, nil, did.ErrDocument},
		"more than a document may have":             {held, append(bytes.Clone(held), make([]byte, did.MaxDocument)...), did.ErrTooLarge},
	} {
		got, err := didweb.Judge(s, c.held, c.next)
		if !errors.Is(err, c.want) || !reflect.DeepEqual(got, didweb.Change{}) {
			t.Errorf("%s: got %+v, %v; want %v", title, got, err, c.want)
		}
	}
}

// FuzzJudge asks that a document which may take the pinned one's place lists exactly its keys, and that the judgement
// made the other way round never trusts what this one does not.
func FuzzJudge(f *testing.F) {
	held := document(beta, method(beta, "a", k1, `,"expires":"2027-01-01T00:00:00Z"`)+","+method(beta, "b", k2), "a", "b")
	f.Add(held)
	f.Add(document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a", "b"))
	f.Add(document(beta, method(beta, "b", k2)+","+method(beta, "a", k1), "a", "b"))
	f.Add(with(held, `"service":[{"id":"#w","type":"TrustnodeWitness","serviceEndpoint":"did:key:`+k3.Multikey()+`"}]`))
	pinned := take(f, beta, held)
	f.Fuzz(func(t *testing.T, next []byte) {
		c, err := didweb.Judge(pinned, held, next)
		if err != nil {
			if !reflect.DeepEqual(c, didweb.Change{}) {
				t.Fatalf("%q: %+v beside %v", next, c, err)
			}
			return
		}
		s, err := didweb.Take(pinned.DID, next, pinned.SPKI, at, didweb.Joined)
		same := err == nil && s.SameKeys(pinned)
		switch c.Verdict {
		case didweb.Unchanged:
			if !bytes.Equal(held, next) {
				t.Fatalf("%q is taken for the pinned bytes", next)
			}
		case didweb.SameKeys:
			if !same || len(c.Added)+len(c.Removed)+len(c.Extended)+len(c.Services) > 0 {
				t.Fatalf("%q has other keys: %+v", next, c)
			}
			if s.BytesID != c.ID {
				t.Fatalf("%q is %s, judged as %s", next, s.BytesID, c.ID)
			}
		case didweb.OtherKeys:
			if same && len(c.Extended)+len(c.Services) == 0 {
				t.Fatalf("%q is refused for nothing: %+v", next, c)
			}
		default:
			t.Fatalf("%q: verdict %v", next, c.Verdict)
		}
	})
}
