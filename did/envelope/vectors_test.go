package envelope_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// vector is one section of testdata/*.txtar. Sections called good/NAME are documents that open; bad/NAME start with a
// line "want: PATH: WHAT" or "want: signature".
type vector struct {
	file, name string
	text       []byte
	want       string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(b).Files {
			v := vector{file: filepath.Base(file), name: f.Name, text: f.Data}
			if strings.HasPrefix(f.Name, "bad/") {
				head, rest, _ := bytes.Cut(f.Data, []byte("\n"))
				want, ok := strings.CutPrefix(string(head), "want: ")
				if !ok {
					t.Fatalf("%s: %s does not say what it wants", file, f.Name)
				}
				v.want, v.text = want, rest
			}
			v.text = bytes.TrimSuffix(v.text, []byte("\n"))
			out = append(out, v)
		}
	}
	return out
}

// readers opens the documents of each file as the type it is about.
var readers = map[string]func([]byte, envelope.KeySource) (envelope.Envelope, error){
	"permission.txtar":  read[permission],
	"readrequest.txtar": read[readRequest],
	"ballot.txtar":      read[ballot],
}

func read[T envelope.Body](b []byte, src envelope.KeySource) (envelope.Envelope, error) {
	e, err := envelope.ParseDSSE(b, envelope.MaxBytes[T]())
	if err != nil {
		return e, err
	}
	v, err := envelope.Open[T](context.Background(), e, src)
	if err != nil {
		return e, err
	}
	return v.Envelope(), nil
}

func TestGoldenVectors(t *testing.T) {
	src := envelopetest.Keys{}
	for d, seed := range map[string]byte{harbor.String(): 1, line.String(): 2} {
		src[mustDID(d)] = keysOf("key-1", seed)
	}
	src[mustDID("did:webvh:QmPK4RScVUX9gTSC8ZbT7B2b3CFLHNwkGx8VmwKbGjTi4r:acme.example")] = keysOf("sign-1", 1)
	good, bad := 0, 0
	for _, v := range vectors(t) {
		t.Run(v.file+"/"+v.name, func(t *testing.T) {
			open := readers[v.file]
			switch kind, _, _ := strings.Cut(v.name, "/"); kind {
			case "good":
				good++
				e, err := open(v.text, src)
				if err != nil {
					t.Fatal(err)
				}
				checkParts(t, v.file, e)
			case "bad":
				bad++
				_, err := open(v.text, src)
				if got := verdict(err); got != v.want {
					t.Errorf("verdict %q, want %q", got, v.want)
				}
			}
		})
	}
	if good != 3 || bad != 34 {
		t.Errorf("%d good and %d bad vectors, expected 3 and 34", good, bad)
	}
}

// checkParts compares the other sections of a file with the envelope of its good one.
func checkParts(t *testing.T, file string, e envelope.Envelope) {
	t.Helper()
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{
		"body": string(e.Body), "id": e.ID().String(), "compact": compact, "preimage": string(e.Preimage().Bytes()),
	}
	for _, v := range vectors(t) {
		if want, ok := parts[v.name]; ok && v.file == file {
			if string(v.text) != want {
				t.Errorf("%s = %s\nwant %s", v.name, want, v.text)
			}
			delete(parts, v.name)
		}
	}
	if len(parts) > 0 {
		t.Errorf("%s lacks %v", file, parts)
	}
}

func verdict(err error) string {
	var f *envelope.FormError
	var typ *envelope.TypeError
	switch {
	case err == nil:
		return "accepted"
	case errors.As(err, &f):
		return f.Path + ": " + f.What
	case errors.As(err, &typ):
		return "type"
	case errors.Is(err, envelope.ErrSignature):
		return "signature"
	case errors.Is(err, envelope.ErrTooLarge):
		return "too large"
	}
	return err.Error()
}

var write = flag.Bool("write", false, "write testdata/*.txtar anew")

// TestWriteVectors is run by hand, with -write, when a vector is added. The released ones must not change.
func TestWriteVectors(t *testing.T) {
	if !*write {
		t.Skip("without -write")
	}
	writeVectors(t, "permission", samplePermission(t), 1)
	writeVectors(t, "readrequest", sampleReadRequest(t), 2)
	writeVectors(t, "ballot", sampleBallot(t), 1)
}

func writeVectors[T envelope.Body](t *testing.T, name string, body T, seed byte) {
	e, err := envelope.Seal(context.Background(), body, envelopetest.Repeat(seed))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	_, kid := body.Signer()
	a := &txtar.Archive{Comment: fmt.Appendf(nil, comment, name, seed, kid)}
	add := func(name, text string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text + "\n")})
	}
	add("good/dsse", string(e.DSSE()))
	add("compact", compact)
	add("body", string(e.Body))
	add("preimage", string(e.Preimage().Bytes()))
	add("id", e.ID().String())
	for _, c := range badChanges(t, e) {
		bad := c.change(e)
		_, err := readers[name+".txtar"](bad, envelope.KeySourceFunc(anyKey(seed)))
		add("bad/"+c.name, "want: "+verdict(err)+"\n"+string(bad))
	}
	if err := os.WriteFile("testdata/"+name+".txtar", txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

const comment = `Golden vectors of %s. The seed of the Ed25519 key is 32 bytes of 0x%02x, its kid %s.
good/dsse opens; compact, body, preimage and id are the same object in its other forms. Each bad/ section is that
object with one change, as DSSE JSON, after a line that says how it is refused: "path: what", "type", "signature".
`
