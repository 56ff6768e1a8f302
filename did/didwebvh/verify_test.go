package didwebvh_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// forge writes an entry from the standard alone, with whatever it is told to
// hold: it is what the holder of the update keys could do.
type forge struct {
	before     string // versionId before, SCID for a first entry
	number     int
	time       string
	parameters string
	state      string
	signers    []seed
	created    string                                  // of the proofs; "" for the day of the worked example
	proof      func(strictjson.Value) strictjson.Value // changes a proof after it is made
}

func (f forge) line(t testing.TB) []byte {
	t.Helper()
	v := func(id string) string {
		return fmt.Sprintf(`{"parameters":%s,"state":%s,"versionId":"%s","versionTime":"%s"}`, f.parameters, f.state, id, f.time)
	}
	canonical := func(s string) []byte {
		b, err := strictjson.Canonicalize([]byte(s), 32)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	sum := sha256.Sum256(canonical(v(f.before)))
	id := fmt.Sprintf("%d-%s", f.number, did.Base58(append([]byte{0x12, 0x20}, sum[:]...)))
	var proofs []strictjson.Value
	for _, s := range f.signers {
		p := f.sign(t, canonical(v(id)), s)
		if f.proof != nil {
			p = f.proof(p)
		}
		proofs = append(proofs, p)
	}
	parsed, err := strictjson.Parse(canonical(v(id)), 32)
	if err != nil {
		t.Fatal(err)
	}
	line, err := parsed.With("proof", strictjson.ArrayOf(proofs...)).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (f forge) sign(t testing.TB, document []byte, s seed) strictjson.Value {
	key := s.Public().Multikey()
	config := fmt.Sprintf(`{"created":"%s","cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",`+
		`"type":"DataIntegrityProof","verificationMethod":"did:key:%s#%s"}`, cmp.Or(f.created, "2026-12-01T10:00:00Z"), key, key)
	a, b := sha256.Sum256([]byte(config)), sha256.Sum256(document)
	p, err := strictjson.Parse([]byte(config), 2)
	if err != nil {
		t.Fatal(err)
	}
	return p.With("proofValue", strictjson.StringOf(did.Multibase(ed25519.Sign(s.private(), append(a[:], b[:]...)))))
}

// second is an honest entry 2 of the worked example, to be spoiled one way at a time.
func second(h didwebvh.History) forge {
	return forge{
		before: h.Head().ID, number: 2, time: "2026-12-15T09:00:00Z", signers: []seed{u2},
		parameters: fmt.Sprintf(`{"updateKeys":[%q],"nextKeyHashes":[%q]}`, u2.Public().Multikey(), didwebvh.KeyHash(u3.Public())),
		state:      string(h.Head().Document.Raw()),
	}
}

func TestEntryRefused(t *testing.T) {
	h := create(t, acme())
	if _, err := h.Extend(second(h).line(t), nil, day2); err != nil {
		t.Fatalf("the honest entry is refused: %v", err)
	}
	set := func(p string) func(*forge) { return func(f *forge) { f.parameters = p } }
	add := func(p string) func(*forge) {
		return func(f *forge) { f.parameters = strings.TrimSuffix(f.parameters, "}") + "," + p + "}" }
	}
	state := func(old, next string) func(*forge) {
		return func(f *forge) { f.state = strings.Replace(f.state, old, next, 1) }
	}
	proof := func(name, s string) func(*forge) {
		return func(f *forge) {
			f.proof = func(v strictjson.Value) strictjson.Value { return v.With(name, strictjson.StringOf(s)) }
		}
	}
	u2text := u2.Public().Multikey()
	cases := []struct {
		name  string
		spoil func(*forge)
		want  didwebvh.Reason
	}{
		{"the spent key signs again", func(f *forge) { f.signers = []seed{u1} }, didwebvh.ReasonKey},
		{"a key that was not committed to is shown", func(f *forge) {
			f.signers = []seed{u3}
			f.parameters = strings.Replace(f.parameters, u2text, u3.Public().Multikey(), 1)
		}, didwebvh.ReasonKey},
		{"update keys are left out under pre-rotation", set(`{"nextKeyHashes":[]}`), didwebvh.ReasonKey},
		{"update keys are emptied under pre-rotation", set(`{"updateKeys":[],"nextKeyHashes":[]}`), didwebvh.ReasonKey},
		{"new hashes are left out under pre-rotation", set(`{"updateKeys":["` + u2text + `"]}`), didwebvh.ReasonKey},
		{"a key is listed twice", set(`{"updateKeys":["` + u2text + `","` + u2text + `"],"nextKeyHashes":[]}`), didwebvh.ReasonParameters},
		{"one proof of two is by another key", func(f *forge) { f.signers = []seed{u2, w} }, didwebvh.ReasonKey},
		{"there is no proof", func(f *forge) { f.signers = nil }, didwebvh.ReasonProof},
		{"nine proofs", func(f *forge) { f.signers = slices.Repeat([]seed{u2}, 9) }, didwebvh.ReasonTooLarge},
		{"the proof has another purpose", proof("proofPurpose", "authentication"), didwebvh.ReasonProof},
		{"the proof is of another suite", proof("cryptosuite", "eddsa-rdfc-2022"), didwebvh.ReasonProof},
		{"the proof was made at another time", proof("created", "2026-12-01T10:00:01Z"), didwebvh.ReasonProof},
		{"the proof carries an expiry", proof("expires", "2036-12-01T10:00:01Z"), didwebvh.ReasonProof},
		{"the proof carries a context", proof("@context", "https://www.w3.org/ns/did/v1"), didwebvh.ReasonProof},
		{"the method fragment names another key", proof("verificationMethod", "did:key:"+u2text+"#"+u1.Public().Multikey()), didwebvh.ReasonProof},
		{"the number is skipped", func(f *forge) { f.number = 3 }, didwebvh.ReasonHash},
		{"the number repeats", func(f *forge) { f.number = 1 }, didwebvh.ReasonHash},
		{"the entry follows another one", func(f *forge) { f.before = "1-QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f" }, didwebvh.ReasonHash},
		{"the time is that of the entry before", func(f *forge) { f.time = "2026-12-01T10:00:00Z" }, didwebvh.ReasonTime},
		{"the time is 301 s ahead", func(f *forge) { f.time = "2026-12-15T09:05:01Z" }, didwebvh.ReasonTime},
		{"the time has an offset", func(f *forge) { f.time = "2026-12-15T09:00:00+00:00" }, didwebvh.ReasonTime},
		{"the time is no day", func(f *forge) { f.time = "2026-12-32T09:00:00Z" }, didwebvh.ReasonTime},
		{"the SCID is given again", add(`"scid":"QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f"`), didwebvh.ReasonParameters},
		{"the method is of a later version", add(`"method":"did:webvh:1.1"`), didwebvh.ReasonParameters},
		{"a parameter is unknown", add(`"prerotation":true`), didwebvh.ReasonParameters},
		{"a parameter is null", add(`"witness":null`), didwebvh.ReasonParameters},
		{"the threshold is zero", add(`"witness":{"threshold":0,"witnesses":[{"id":"did:key:` + w.Public().Multikey() + `"}]}`), didwebvh.ReasonParameters},
		{"the threshold is above the list", add(`"witness":{"threshold":2,"witnesses":[{"id":"did:key:` + w.Public().Multikey() + `"}]}`), didwebvh.ReasonParameters},
		{"a witness is weighted", add(`"witness":{"threshold":1,"witnesses":[{"id":"did:key:` + w.Public().Multikey() + `","weight":1}]}`), didwebvh.ReasonParameters},
		{"a witness is no key", add(`"witness":{"threshold":1,"witnesses":[{"id":"did:web:a.example"}]}`), didwebvh.ReasonParameters},
		{"the time to live is negative", add(`"ttl":-1`), didwebvh.ReasonParameters},
		{"deactivated is a word", add(`"deactivated":"true"`), didwebvh.ReasonParameters},
		{"the document moves without a word", func(f *forge) { f.state = strings.ReplaceAll(f.state, "acme.example", "evil.example") }, didwebvh.ReasonDocument},
		{"the document is of another SCID", func(f *forge) {
			f.state = strings.ReplaceAll(f.state, h.SCID(), "QmSnXeGYiUPY1GkwbQPoZtsi3g91RG13UXPqqZV64m6W49")
		}, didwebvh.ReasonDocument},
		{"the document has no id", func(f *forge) { f.state = `{}` }, didwebvh.ReasonDocument},
		{"the document's id is a URL", state(`"id":"`+goldenDID+`"`, `"id":"`+goldenDID+`#x"`), didwebvh.ReasonDocument},
		{"two methods share an id", func(f *forge) {
			v, _ := strictjson.Parse([]byte(f.state), 32)
			m, _ := v.Get("verificationMethod")
			f.state = string(v.With("verificationMethod", strictjson.ArrayOf(m.Elements()[0], m.Elements()[0])).Raw())
		}, didwebvh.ReasonDocument},
	}
	for _, c := range cases {
		f := second(h)
		c.spoil(&f)
		_, err := h.Extend(f.line(t), nil, day2)
		var e *didwebvh.Error
		if !errors.As(err, &e) || e.Reason != c.want || e.Number != 2 {
			t.Errorf("%s: got %v (%v), want %v", c.name, didwebvh.ReasonOf(err), err, c.want)
		}
	}
}

func TestLineRefused(t *testing.T) {
	h := create(t, acme())
	line := string(second(h).line(t))
	for name, bad := range map[string]string{
		"a member is given twice":     strings.Replace(line, `{"parameters"`, `{"versionTime":"2026-12-15T09:00:00Z","parameters"`, 1),
		"a member is unknown":         strings.Replace(line, `{"parameters"`, `{"note":"","parameters"`, 1),
		"a member is of another case": strings.Replace(line, `"versionId"`, `"versionid"`, 1),
		"a byte follows":              line + "x",
		"white space leads":           " " + line,
		"the line is an array":        "[" + line + "]",
		"the end is cut off":          line[:len(line)-1],
		"a lone surrogate":            strings.Replace(line, `"Multikey"`, `"\ude00\ud83d"`, 1),
		"a byte that is no UTF-8":     strings.Replace(line, `"Multikey"`, "\"\xff\"", 1),
		"an empty line between":       "\n" + line,
		"too long":                    strings.Replace(line, `"Multikey"`, `"`+strings.Repeat("x", 64<<10)+`"`, 1),
		"too deep":                    strings.Replace(line, `"Multikey"`, strings.Repeat("[", 40)+strings.Repeat("]", 40), 1),
	} {
		if bad == line {
			t.Fatalf("%s: the line was not changed", name)
		}
		if _, err := h.Extend([]byte(bad), nil, day2); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFirstEntryRefused(t *testing.T) {
	_, line, err := didwebvh.Create(t.Context(), acme())
	if err != nil {
		t.Fatal(err)
	}
	first := func() forge {
		v, err := strictjson.Parse(line, 32)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := v.Get("parameters")
		s, _ := v.Get("state")
		return forge{before: goldenSCID, number: 1, time: "2026-12-01T10:00:00Z", parameters: string(p.Raw()), state: string(s.Raw()), signers: []seed{u1}}
	}
	if got := first().line(t); !bytes.Equal(got, line) {
		t.Fatalf("the forge does not rebuild the entry\n got %s\nwant %s", got, line)
	}
	for name, spoil := range map[string]func(*forge){
		"another domain under the same SCID": func(f *forge) { f.state = strings.ReplaceAll(f.state, "acme.example", "evil.example") },
		"another time under the same SCID":   func(f *forge) { f.time = "2026-12-01T10:00:01Z" },
		"the placeholder is written out":     func(f *forge) { f.state = strings.Replace(f.state, goldenSCID, "{SCID}", 1) },
		"a key that is not listed signs":     func(f *forge) { f.signers = []seed{u2} },
		"no update key": func(f *forge) {
			f.parameters = strings.Replace(f.parameters, `["`+u1.Public().Multikey()+`"]`, "[]", 1)
		},
		"it claims to be the second": func(f *forge) { f.number = 2 },
	} {
		f := first()
		spoil(&f)
		if _, err := didwebvh.Verify(f.line(t), nil, day2); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, empty := range []string{"", "\n"} {
		if _, err := didwebvh.Verify([]byte(empty), nil, day2); didwebvh.ReasonOf(err) != didwebvh.ReasonForm {
			t.Errorf("an empty log: got %v", err)
		}
	}
}

const goldenSCID = "QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f"

func TestDeactivationIsFinal(t *testing.T) {
	h := create(t, acme())
	f := second(h)
	f.parameters = `{"updateKeys":["` + u2.Public().Multikey() + `"],"nextKeyHashes":[],"deactivated":true}`
	h, err := h.Extend(f.line(t), nil, day2)
	if err != nil || !h.Deactivated() {
		t.Fatalf("got %v, deactivated %v", err, h.Deactivated())
	}
	next := second(h)
	next.number, next.time, next.parameters = 3, "2026-12-16T09:00:00Z", `{}`
	_, err = h.Extend(next.line(t), nil, day2.AddDate(0, 0, 2))
	if didwebvh.ReasonOf(err) != didwebvh.ReasonDeactivated {
		t.Errorf("an entry after the end: got %v", err)
	}
}

func TestMove(t *testing.T) {
	h := create(t, acme())
	f := second(h)
	old := h.DID().String()
	f.state = strings.ReplaceAll(f.state, "acme.example", "new.example")
	moved := strings.ReplaceAll(old, "acme.example", "new.example")
	f.state = strings.Replace(f.state, `["did:web:new.example"]`, `["`+old+`"]`, 1)
	got, err := h.Extend(f.line(t), nil, day2)
	if err != nil {
		t.Fatal(err)
	}
	if got.DID().String() != moved || !got.Names(h.DID()) || !got.Names(got.DID()) || h.Names(got.DID()) {
		t.Errorf("moved to %s, names %v %v", got.DID(), got.Names(h.DID()), h.Names(got.DID()))
	}
	f.parameters = strings.TrimSuffix(f.parameters, "}") + `,"portable":false}`
	if _, err := h.Extend(f.line(t), nil, day2); didwebvh.ReasonOf(err) != didwebvh.ReasonDocument {
		t.Errorf("a move in the entry that gives portability up: got %v", err)
	}
}

func TestRotations(t *testing.T) {
	h := create(t, acme())
	at := day2
	lost := u2
	// The next key is lost: the recovery key is shown, and its successor is named.
	_, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: rec, Next: seed(0x40).Public(), At: at})
	if err == nil {
		t.Error("the recovery key was spent with no new one named")
	}
	line := rotate(t, h, didwebvh.RotateRequest{Update: rec, Next: seed(0x40).Public(), Recovery: seed(0x41).Public(), At: at})
	h, err = h.Extend(line, nil, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: lost, Next: u3.Public(), At: at}); !errors.Is(err, didwebvh.ErrKey) {
		t.Errorf("the lost key still counts: %v", err)
	}
	for n := range 5 {
		issuer := seed(0x60 + n).Public()
		line := rotate(t, h, didwebvh.RotateRequest{Update: seed(0x40 + 2*n), Next: seed(0x42 + 2*n).Public(), Issuer: issuer, At: at})
		if h, err = h.Extend(line, nil, at); err != nil {
			t.Fatal(err)
		}
		if k, err := h.Head().Document.Key(issuer.Multikey(), did.AssertionMethod); err != nil || k != issuer {
			t.Errorf("rotation %d: got %v, %v", n, k, err)
		}
	}
	if _, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: seed(0x4a), Next: u3.Public(), Issuer: i1.Public(), At: at}); err == nil {
		t.Error("a retired issuer key was listed again")
	}
	if h.Len() != 7 || !h.Head().Time.Equal(day2.Add(5*time.Second)) {
		t.Errorf("%d versions, the last at %s", h.Len(), h.Head().Time)
	}
	if again, err := didwebvh.Verify(h.Log(), nil, at); err != nil || again.Head().ID != h.Head().ID {
		t.Errorf("whole log: %v", err)
	}
}

func TestCreateRefused(t *testing.T) {
	for name, change := range map[string]func(*didwebvh.CreateRequest){
		"the domain is an address":        func(r *didwebvh.CreateRequest) { r.Domain = "127.0.0.1" },
		"the domain has a path":           func(r *didwebvh.CreateRequest) { r.Domain = "acme.example/x" },
		"the domain is empty":             func(r *didwebvh.CreateRequest) { r.Domain = "" },
		"the path climbs":                 func(r *didwebvh.CreateRequest) { r.Path = []string{".."} },
		"the next key is the issuer's":    func(r *didwebvh.CreateRequest) { r.Next = r.Issuer },
		"the recovery key is the next":    func(r *didwebvh.CreateRequest) { r.Recovery = r.Next },
		"the issuer signs the log itself": func(r *didwebvh.CreateRequest) { r.Update = i1 },
		"there is no issuer":              func(r *didwebvh.CreateRequest) { r.Issuer = did.PublicKey{} },
	} {
		r := acme()
		change(&r)
		if d, _, err := didwebvh.Create(t.Context(), r); err == nil {
			t.Errorf("%s: made %s", name, d)
		}
	}
	r := acme()
	r.Domain, r.Path = "acme.example:8443", []string{"orgs", "fin"}
	d, _, err := didwebvh.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	id, err := didwebvh.ParseIdentifier(d)
	if want := "https://acme.example:8443/orgs/fin/did.jsonl"; err != nil || id.URL() != want {
		t.Errorf("got %s, %v, want %s", id.URL(), err, want)
	}
}

type broken struct{ seed }

var errSigner = errors.New("the key is not here")

func (broken) Sign(context.Context, envelope.Preimage) (did.Signature, error) {
	return did.Signature{}, errSigner
}

func TestSignerErrorComesBack(t *testing.T) {
	r := acme()
	r.Update = broken{u1}
	if _, _, err := didwebvh.Create(t.Context(), r); !errors.Is(err, errSigner) {
		t.Errorf("got %v", err)
	}
}

func TestCompare(t *testing.T) {
	h, _ := golden(t)
	one := h.Prefix(1)
	other, err := one.Extend(second(one).line(t), nil, day2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		held        didwebvh.History
		log         []byte
		len, common int
		reason      didwebvh.Reason
	}{
		{"a first log", didwebvh.History{}, h.Log(), 2, 0, 0},
		{"the same log", h, h.Log(), 2, 2, 0},
		{"a shorter log", h, one.Log(), 1, 1, 0},
		{"a longer log", one, h.Log(), 2, 1, 0},
		{"only the new line", one, h.After(1), 2, 1, 0},
		{"only a line that is held", h, h.After(1), 2, 2, 0},
		{"another second line", h, other.Log(), 2, 1, 0},
		{"another second line alone", h, other.After(1), 2, 1, 0},
		{"a line after what is held", didwebvh.History{}, h.After(1), 0, 0, didwebvh.ReasonGap},
		{"a broken line", one, append(one.Log(), '{'), 0, 0, didwebvh.ReasonForm},
		{"nothing", h, nil, 0, 0, didwebvh.ReasonForm},
	} {
		got, common, err := c.held.Compare(c.log, h.Witness(), day2)
		if got.Len() != c.len || common != c.common || didwebvh.ReasonOf(err) != c.reason {
			t.Errorf("%s: got %d versions, %d common, %v", c.name, got.Len(), common, err)
		}
	}
	// A later line of another branch says nothing about where the branches part.
	third := rotate(t, other, didwebvh.RotateRequest{Update: u3, Next: seed(9).Public(), Recovery: seed(8).Public(), At: day2.Add(time.Minute)})
	if _, _, err := h.Compare(third, nil, day2.Add(time.Minute)); didwebvh.ReasonOf(err) != didwebvh.ReasonGap {
		t.Errorf("a third line of another branch: got %v", err)
	}
}

// TestCompareKeepsHeldLines: the proofs are outside the versionId, so one entry can have two lines.
func TestCompareKeepsHeldLines(t *testing.T) {
	h := create(t, acme())
	h, err := h.Extend(second(h).line(t), nil, day2)
	if err != nil {
		t.Fatal(err)
	}
	f := second(h.Prefix(1))
	f.signers = []seed{u2, u2}
	twin, err := h.Prefix(1).Extend(f.line(t), nil, day2)
	if err != nil {
		t.Fatal(err)
	}
	line := rotate(t, h, didwebvh.RotateRequest{Update: u3, Next: seed(9).Public(), Recovery: seed(8).Public(), At: day2.Add(time.Minute)})
	longer, err := twin.Extend(line, nil, day2.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	got, common, err := h.Compare(longer.Log(), nil, day2.Add(time.Minute))
	if err != nil || common != 2 || got.Len() != 3 || !bytes.HasPrefix(got.Log(), h.Log()) {
		t.Errorf("got %d versions, %d common, %v", got.Len(), common, err)
	}
}

func TestResolver(t *testing.T) {
	h, witness := golden(t)
	m := did.Material{Log: h.Log(), Witness: witness}
	one, _ := h.At(1)
	for _, c := range []struct {
		name    string
		m       did.Material
		o       did.Options
		version string
		err     did.ErrorName
	}{
		{"the head", m, did.Options{}, goldenNext, ""},
		{"by version", m, did.Options{VersionID: goldenFirst}, goldenFirst, ""},
		{"by time", m, did.Options{VersionTime: day2.Add(-time.Second)}, goldenFirst, ""},
		{"by number", m, did.Options{VersionNumber: 2}, goldenNext, ""},
		{"before the first", m, did.Options{VersionTime: day1.Add(-time.Second)}, "", did.NotFound},
		{"a version that is not there", m, did.Options{VersionNumber: 3}, "", did.NotFound},
		{"two questions", m, did.Options{VersionNumber: 1, VersionID: goldenFirst}, "", did.InvalidOptions},
		{"no log", did.Material{}, did.Options{}, "", did.NotFound},
		{"no witness file", did.Material{Log: h.Log()}, did.Options{}, "", did.InvalidDID},
	} {
		c.o.Now = day2
		got, err := didwebvh.Resolver{}.Resolve(t.Context(), h.DID(), c.m, c.o)
		var re *did.ResolutionError
		if errors.As(err, &re); got.Version != c.version || (c.err != "") != (re != nil) || re != nil && re.Name != c.err {
			t.Errorf("%s: got %s, %v", c.name, got.Version, err)
		}
	}
	foreign := did.MustParse(strings.Replace(goldenDID, "acme", "other", 1))
	if _, err := (didwebvh.Resolver{}).Resolve(t.Context(), foreign, m, did.Options{Now: day2}); err == nil {
		t.Error("the log resolves a DID it never had")
	}
	if v, ok := h.ByTime(day1); !ok || v.ID != one.ID {
		t.Errorf("at the very time of entry 1: %v, %v", v.ID, ok)
	}
}
