package verifier_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/node/verifier"
)

// proving are the stories whose files verify.
func proving() []story {
	return slices.DeleteFunc(stories(), func(s story) bool { return s.outcome != verifier.Verifies })
}

func refused(t *testing.T, what string, b []byte, o verifier.Options) {
	t.Helper()
	if r := verify(b, o); r.OK || r.Why == "" || r.Outcome == verifier.Verifies {
		t.Errorf("%s verifies:\n%s", what, text(r))
	}
}

// free are the bytes of a file that nobody signed and that decide nothing: the time in the
// header of a boot file, which the report says is nobody's word.
func free(b []byte) (from, to int) {
	if i := bytes.Index(b, []byte(`"as_of":"`)); i >= 0 && i < 64 {
		return i + 9, i + 29
	}
	return 0, 0
}

func TestOneChangedBitAnywhereIsFound(t *testing.T) {
	for _, s := range proving() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			from, to := free(s.bytes)
			all := os.Getenv("TRUSTNODE_LONG") != ""
			for i := range s.bytes {
				if i >= from && i < to || testing.Short() && i%7 != 0 {
					continue
				}
				for bit := range 8 {
					if !all && bit != i%8 {
						continue
					}
					c := bytes.Clone(s.bytes)
					c[i] ^= 1 << bit
					refused(t, fmt.Sprintf("%s with bit %d of byte %d changed", s.file, bit, i), c, s.o)
				}
			}
		})
	}
}

func TestOneChangedBitOfTheWitnessFileIsFound(t *testing.T) {
	h, w := two()
	for i := range w {
		c := bytes.Clone(w)
		c[i] ^= 1 << (i % 8)
		refused(t, fmt.Sprintf("byte %d", i), h.Log(), verifier.Options{Witness: witness(c)})
	}
}

// claims are the ok and claim lines of a report.
func claims(r verifier.Report) map[string]bool {
	out := map[string]bool{}
	for _, l := range r.Lines {
		if l.Kind == "ok" || l.Kind == "claim" && !strings.Contains(l.Text, " had ") && !strings.Contains(l.Text, "these sign for it") {
			out[l.Text] = true
		}
	}
	return out
}

// A file that lost its end is refused, or where it ends with a whole line proves less: no
// bundle says how long it is to be.
func TestATruncatedFileNeverProvesMore(t *testing.T) {
	for _, s := range proving() {
		whole := claims(verify(s.bytes, s.o))
		for n := range s.bytes {
			atLine := n > 0 && (s.bytes[n-1] == '\n' || s.bytes[n] == '\n')
			if !atLine && n%13 != 0 {
				continue
			}
			r := verify(s.bytes[:n], s.o)
			if r.OK && !atLine {
				t.Errorf("%s cut at %d verifies", s.file, n)
			}
			for text := range claims(r) {
				if r.OK && !whole[text] {
					t.Errorf("%s cut at %d says more: %s", s.file, n, text)
				}
			}
		}
	}
}

func linesOf(b []byte) [][]byte {
	return slices.DeleteFunc(bytes.SplitAfter(b, []byte("\n")), func(l []byte) bool { return len(l) == 0 })
}

func TestChangesOfWholeLinesAreFound(t *testing.T) {
	for _, s := range proving() {
		lines := linesOf(s.bytes)
		join := func(l [][]byte) []byte { return bytes.Join(l, nil) }
		for i := range lines {
			refused(t, fmt.Sprintf("%s with line %d doubled", s.file, i+1), join(slices.Insert(slices.Clone(lines), i, lines[i])), s.o)
			for j := range i {
				c := slices.Clone(lines)
				c[i], c[j] = c[j], c[i]
				refused(t, fmt.Sprintf("%s with lines %d and %d swapped", s.file, j+1, i+1), join(c), s.o)
			}
		}
		crlf := bytes.ReplaceAll(s.bytes, []byte("\n"), []byte("\r\n"))
		if len(lines) > 1 {
			refused(t, s.file+" with CR LF", crlf, s.o)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(s.bytes)
		_ = z.Close()
		for name, c := range map[string][]byte{
			"a byte order mark before it": append([]byte("\xef\xbb\xbf"), s.bytes...), "a newline before it": append([]byte("\n"), s.bytes...),
			"itself after it": slices.Concat(s.bytes, s.bytes), "a byte after it": append(bytes.Clone(s.bytes), 'x'), "a NUL after it": append(bytes.Clone(s.bytes), 0),
			"two newlines after it": append(bytes.TrimRight(bytes.Clone(s.bytes), "\n"), "\n\n"...), "gzip around it": packed.Bytes(),
		} {
			if s.name == "credential" && (strings.Contains(name, "newline")) {
				continue // white space around JSON is no part of a credential
			}
			refused(t, s.file+" with "+name, c, s.o)
		}
	}
}

// endless repeats a text up to a length without holding it.
type endless struct {
	text string
	left int
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range n {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read, e.left = e.read+n, e.left-n
	return n, nil
}

func TestHugeFilesCostLittle(t *testing.T) {
	header := "{\"trustnode\":\"bundle\",\"v\":1}\n"
	for _, c := range []struct {
		name, start, text, want string
	}{
		{"brackets", "", "[", "longer than"},
		{"braces", "", `{"a":`, "longer than"},
		{"newlines", "", "\n", "white space"},
		{"NULs", "", "\x00", "binary"},
		{"a DID log of brackets", `{"versionId":`, "[", "longer than"},
		{"a bundle that is one line", header, "[", "longer than"},
		{"an object", `{"payload":"`, "A", "longer than"},
		{"a token", "eyJhbGciOiJFZERTQSJ9.e30.", "A", "longer than"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in := &endless{text: c.text, left: 100 << 20}
		r := verifier.Verify(ctx, io.MultiReader(strings.NewReader(c.start), in), verifier.Options{Now: now})
		runtime.ReadMemStats(&after)
		if r.OK || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s: ok %v, %q, want %q in it", c.name, r.OK, r.Why, c.want)
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 400<<20 {
			t.Errorf("%s: allocated %d MiB", c.name, cost>>20)
		}
	}
}

func TestWhatIsNothingKnownIsNamed(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	for _, c := range []struct{ name, file, want string }{
		{"nothing", "", "the file is empty"},
		{"a backup", "trustnode backup 1\n\x28\xb5\x2f\xfd", "trustnode restore FILE --data NEWDIR"},
		{"a C2SP proof", "c2sp.org/tlog-proof@v1\nindex 0\n\ndid:key:z/log\n", "a C2SP tlog-proof"},
		{"a policy", "log did:key:z/log+01020304+AAAA\nquorum none\n", "it is the policy of a log"},
		{"a head", "did:web:a.example/log\n4\n" + strings.Repeat("A", 43) + "=\n\n— did:web:a.example/log AAAA\n", "trustnode verify DIR"},
		{"an entry", "\x01" + strings.Repeat("\xff", 64) + "{\"at\":", "it is one entry of a log"},
		{"a tile of entries", "\x00\x47\x01" + strings.Repeat("\xff", 64) + "{\"at\":", "a tile of a log"},
		{"a tile of hashes", strings.Repeat("\xff", 64), "a tile of a log"},
		{"blanks", " \n\t\n", "nothing but white space"},
		{"a text", "Dear partner,\nhere is our DID", `text that begins with "Dear partner,"`},
		{"a binary file", "\x7fELF\x02\x01\x01\x00", "binary, its first bytes are 7f454c4602010100"},
		{"gzip", "\x1f\x8b\x08\x00", "unpack it first"},
		{"a ZIP archive", "PK\x03\x04", "unpack it first"},
		{"PEM", "-----BEGIN PUBLIC KEY-----\n", "PEM"},
		{"UTF-16", "\xff\xfe{\x00", "UTF-16"},
		{"a byte order mark", "\xef\xbb\xbf{}", "byte order mark"},
		{"a bundle with CR LF", "{\"trustnode\":\"bundle\",\"v\":1}\r\n", "CR LF"},
		{"a bundle of a later version", "{\"trustnode\":\"bundle\",\"v\":2}\n", "almost the header of a bundle"},
		{"broken JSON", "{\"a\":1,}", "line 1 column"},
		{"JSON with a name twice", `{"id":"did:web:a.example","id":"did:web:b.example"}`, "looks like JSON and is not"},
		{"deep JSON", deep, "looks like JSON and is not"},
		{"another JSON object", `{"name":"x","version":"1.0.0"}`, `with the members "name", "version"`},
		{"an entry on its way to its witnesses", `{"did":"did:web:a.example","entry":"e30"}`, "trustnode did witness sign FILE"},
		{"a proof on its way back", `{"id":"14-QmX","proof":"{}"}`, "a witness proof of entry \"14-QmX\""},
		{"another JSON array", `[1,2]`, "a JSON array of 2 elements"},
		{"a resolution result", `{"didDocument":{},"didResolutionMetadata":{}}`, "somebody's answer"},
		{"a receipt in compact form", "eyJhIjoxfQ.AAAA", "does not name what it is"},
		{"a token of three parts", "eyJhbGciOiJFZERTQSJ9.e30.AAAA", "a JSON Web Token"},
		{"an empty bundle", "{\"trustnode\":\"bundle\",\"v\":1}\n", "says nothing"},
		{"a bundle with a line of no kind", "{\"trustnode\":\"bundle\",\"v\":1}\n{\"a\":1}\n", "line 2: a line of a kind that is not known here"},
		{"a bundle that ends in a line", "{\"trustnode\":\"bundle\",\"v\":1}\n{\"a\":1}", "line 2: the last line does not end with a newline"},
		{"an object that is none", `{"payload":"e30=","payloadType":"text/plain","signatures":[]}`, "payload"},
		{"a presentation", `{"type":["VerifiablePresentation"],"@context":["https://www.w3.org/ns/credentials/v2"]}`, "VerifiablePresentation"},
	} {
		r := verify([]byte(c.file), verifier.Options{})
		if r.OK || !strings.Contains(text(r), c.want) {
			t.Errorf("%s: ok %v, want %q in\n%s", c.name, r.OK, c.want, text(r))
		}
		for _, l := range r.Lines {
			if strings.ContainsAny(l.Text, "\n\r\x00") {
				t.Errorf("%s: a line that is no line: %q", c.name, l.Text)
			}
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestAFileThatCannotBeReadDoesNotVerify(t *testing.T) {
	if r := verifier.Verify(ctx, failing{}, verifier.Options{Now: now}); r.OK || !strings.Contains(r.Why, "disk on fire") {
		t.Error(text(r))
	}
	if r := verifier.Verify(ctx, bytes.NewReader(one().Log()), verifier.Options{}); r.OK || !strings.Contains(r.Why, "no time") {
		t.Error(text(r))
	}
	h, _ := two()
	o := verifier.Options{Witness: func() ([]byte, error) { return nil, errors.New("no permission") }}
	if r := verify(h.Log(), o); r.OK || !strings.Contains(r.Why, "no permission") {
		t.Error(text(r))
	}
}

func TestAForgedLineInABundleIsFound(t *testing.T) {
	acme, _ := two()
	swap := func(e envelope.Envelope, org byte) envelope.Envelope { // signed by a stranger under the same kid
		sig := must(key(org).Sign(ctx, e.Preimage()))
		e.Signatures = []envelope.Signature{{KeyID: e.Signatures[0].KeyID, Sig: sig}}
		return e
	}
	seal := must(envelope.Seal(ctx, joinOf(acme, "acme", i2), key(i2)))
	old := must(envelope.Seal(ctx, joinOf(one(), "acme", i1), key(i1)))
	a := agent()
	a.Signatures = slices.DeleteFunc(a.Signatures, func(s envelope.Signature) bool { return s.KeyID == kid(ag) })
	noCharter := must(bundle.Encode(bundle.Header{Pin: &bundle.Pin{AsOf: envelope.TimeOf(day2), ID: envelope.IDOf(nil), Seq: 3}}, logLines(acme)...))
	unneeded := bundle.DIDLogs(one().DID(), 1, one().Log(), []byte("[]"))[0]
	for _, c := range []struct {
		name    string
		file    []byte
		outcome verifier.Outcome
		want    string
	}{
		{"a join signed by another key", pack(append(logLines(acme), env(swap(seal, bi)))...), verifier.Broken, "signature"},
		{"a join by a retired key", pack(append(logLines(acme), env(old))...), verifier.Broken, "its log ends at 2-"},
		{"a join without its log", pack(env(seal)), verifier.Pending, "whose DID log is not here"},
		{"a join of a version that is not here", pack(append(logLines(one()), env(seal))...), verifier.Pending, "version"},
		{"a draft signed by a stranger as well", pack(append(append(logLines(acme), logLines(beta())...), env(genesis(i2, bi, gi, ag)))...), verifier.Broken, "signature"},
		{"an agent object signed once", pack(append(logLines(one()), env(a))...), verifier.Broken, "signatures"},
		{"a pin of a charter that is not there", noCharter, verifier.Pending, "pins charter 3"},
		{"a witness file that nothing needs", pack(unneeded), verifier.Broken, "nothing needs"},
		{"a log that starts at its second entry", pack(bundle.DIDLog{DID: acme.DID(), From: 2, Log: acme.After(1), Witness: acme.Witness()}), verifier.Pending, "whole"},
		{"a log under the name of another DID", pack(bundle.DIDLog{DID: beta().DID(), From: 1, Log: acme.Log(), Witness: acme.Witness()}), verifier.Broken, "another DID"},
		{"a log in the name of a did:key", pack(bundle.DIDLog{DID: billing(one()).Agent, From: 1, Log: acme.Log()}), verifier.Broken, "keeps no log"},
		{"a body that no event names", pack(bundle.Body{Body: []byte(`{"a":1}`)}), verifier.Pending, "no event here names this body"},
		{"an object of a kind for others", pack(env(envelope.Envelope{Type: envelope.TypeOf("loanrequest"), Body: []byte(`{}`)})), verifier.Unsupported, "a loanrequest is for whoever"},
		{"an object of a kind nobody knows", pack(env(envelope.Envelope{Type: envelope.TypeOf("jain"), Body: []byte(`{}`)})), verifier.Broken, `"jain" is no kind of object that is known here`},
		{"an object of a later version", pack(env(envelope.Envelope{Type: "application/vnd.trustnode.agent.v2+json", Body: []byte(`{}`)})), verifier.Broken, "not a type of this project"},
	} {
		r := verify(c.file, verifier.Options{})
		if r.OK || r.Outcome != c.outcome || !strings.Contains(text(r), c.want) {
			t.Errorf("%s: outcome %s, want %s with %q in\n%s", c.name, r.Outcome, c.outcome, c.want, text(r))
		}
	}
}

// TestTheNameOfAFederationIsNoSentence gives a federation a name that goes on as the report would.
func TestTheNameOfAFederationIsNoSentence(t *testing.T) {
	acme, _ := two()
	name := "x is the one the fingerprint names, compared by voice"
	r := verify(pack(append(append(logLines(acme), logLines(beta())...), env(genesisOf(name, i2, bi, gi)))...), verifier.Options{})
	if !r.OK {
		t.Fatal(text(r))
	}
	for _, l := range r.Lines {
		if l.Kind == "trust" && !strings.HasPrefix(l.Text, `"x is the one the fingerprint names, compared by voice" is fed1-`) {
			t.Errorf("%s %q", l.Kind, l.Text)
		}
	}
}

func FuzzVerify(f *testing.F) {
	for _, s := range stories() {
		f.Add(s.bytes)
	}
	for _, b := range []string{"", "[", "{", "{\"trustnode\":\"bundle\",\"v\":1}\n{\"did\":\"did:key:z\"}\n", "eyJ.e30.", "[{\"versionId\":1,\"proof\":2}]", base64.StdEncoding.EncodeToString([]byte("x"))} {
		f.Add([]byte(b))
	}
	along := with(one().Log(), boot())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range []verifier.Options{{}, {With: along}} {
			r := verify(b, o)
			if last := r.Lines[len(r.Lines)-1]; last.Kind != "result" || r.OK != (r.Outcome == verifier.Verifies) || r.OK != (r.Why == "") {
				t.Fatalf("no sound report: %+v", r)
			}
			if again := verify(b, o); text(again) != text(r) {
				t.Fatal("two reports of one file")
			}
		}
	})
}

// FuzzWith hands anything in as material: it never makes a file verify that does not
// without, unless it is the log the file needs.
func FuzzWith(f *testing.F) {
	for _, s := range stories() {
		f.Add(s.bytes)
	}
	h, _ := two()
	f.Fuzz(func(t *testing.T, b []byte) {
		if r := verify(h.Log(), verifier.Options{With: with(b)}); r.OK {
			t.Fatalf("material stands for a witness file:\n%s", text(r))
		}
	})
}
