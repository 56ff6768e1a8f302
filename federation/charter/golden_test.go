package charter

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"trustnode/did/envelope"
)

var update = flag.Bool("update", false, "write testdata/charter.txtar")

const goldenFile = "testdata/charter.txtar"

const goldenComment = `Golden vectors of charter and join. Keys: Ed25519 seeds of 32 equal bytes, acme 01, vendor 02, arbiter 03, dora 04;
kids are their multikey texts. The DIDs are made up. Sections NAME.body, .id, .dsse are one object; genesis.fingerprint is
what people compare. next.body admits dora. Each bad/ section is a body after a line that says which step refuses it and why.
`

// goldens builds the vectors anew.
func goldens(t *testing.T) *txtar.Archive {
	t.Helper()
	a := &txtar.Archive{Comment: []byte(goldenComment)}
	put := func(name, text string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text + "\n")})
	}
	object := func(name string, e envelope.Envelope) {
		put(name+".body", string(e.Body))
		put(name+".id", e.ID().String())
		put(name+".dsse", string(e.DSSE()))
	}
	genesis := seal(t, trio(t), everybody...)
	object("genesis", genesis)
	put("genesis.fingerprint", Fingerprint(genesis.ID()))
	chain := begun(t, world(acme, vendor, arbiter))
	b := child(t, chain)
	admit(&b)
	b.Recovery.Keys, b.Recovery.Threshold = []Key{{"recovery-1", spare.Public()}}, 1
	b.Mediation = DefaultMediation(arbiter.did)
	b.Mediation.Ladder = []string{"jury", "neutral", "rotating", "contract", "panel"}
	b.Mediation.Jury, b.Mediation.Contract = &Jury{Mode: "rules", Size: 5}, court()
	b.Mediation.Rotating.Ties = []Tie{{acme.did, dora.did}}
	object("next", seal(t, b, acme, vendor, dora))
	join, err := envelope.Seal(t.Context(), dora.join(true), dora)
	if err != nil {
		t.Fatal(err)
	}
	object("join", join)
	for _, c := range badBodies(genesis.Body) {
		_, _, err := Genesis(sign(t, envelope.Envelope{Type: Type, Body: []byte(c.body)}, everybody...), world(acme, vendor, arbiter), t0)
		var refused *Refused
		if !errors.As(err, &refused) {
			t.Fatalf("%s: %v", c.name, err)
		}
		put("bad/"+c.name, "want: "+refused.Error()+"\n"+c.body)
	}
	return a
}

type badBody struct{ name, body string }

func badBodies(genesis []byte) []badBody {
	turn := func(name, old, text string) badBody {
		return badBody{name, strings.Replace(string(genesis), old, text, 1)}
	}
	return []badBody{
		turn("key in another case", `"governance":`, `"Governance":`),
		turn("key twice", `"governance":`, `"governance":{"threshold":2},"governance":`),
		turn("key unknown", `"mediation"`, `"king":"acme","mediation"`),
		turn("key missing", `"round":0,`, ``),
		turn("default written out", `"released":[],`, `"released":[],"resolves":"",`),
		turn("null", `"released":[]`, `"released":null`),
		turn("fraction", `"threshold":2`, `"threshold":2.0`),
		turn("negative", `"threshold":2`, `"threshold":-2`),
		turn("white space", `"seq":0`, `"seq": 0`),
		turn("time with a zone", `T10:00:00Z","mediation"`, `T10:00:00+00:00","mediation"`),
		turn("escape that need not be", `"fin-lending"`, `"fin\u002dlending"`),
		turn("bidi override in a name", `"fin-lending"`, "\"fin-\u202elending\""),
		turn("no majority", `"threshold":2`, `"threshold":1`),
		turn("everybody must sign for ever", `"threshold":2`, `"threshold":3`),
		turn("no mediator for a pair", `"ladder":["neutral","rotating"]`, `"ladder":["neutral"]`),
		turn("life of three years", `"expires_at":"2027`, `"expires_at":"2029`),
	}
}

func TestGoldenVectors(t *testing.T) {
	want := txtar.Format(goldens(t))
	if *update {
		if err := os.WriteFile(goldenFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code makes", goldenFile)
	}
}

// section reads one golden text.
func section(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(b).Files {
		if f.Name == name {
			return bytes.TrimSuffix(f.Data, []byte("\n"))
		}
	}
	t.Fatalf("no section %s", name)
	return nil
}

func TestGoldenObjectsAreAccepted(t *testing.T) {
	k := world(acme, vendor, arbiter, dora)
	chain := Chain{}
	for _, name := range []string{"genesis", "next"} {
		e, err := envelope.ParseDSSE(section(t, name+".dsse"), MaxBody)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := e.ID().String(), string(section(t, name+".id")); got != want || !bytes.Equal(e.Body, section(t, name+".body")) {
			t.Errorf("%s: id %s, want %s", name, got, want)
		}
		if chain.IsZero() {
			chain, _, err = Genesis(e, k, t0)
		} else {
			chain, _, err = chain.Next(e, nil, k, t0.Add(time.Hour))
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if got, want := Fingerprint(chain.Federation()), string(section(t, "genesis.fingerprint")); got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	if m, ok := chain.Head().ByKey(dora.Public()); !ok || m.SinceSeq != 1 {
		t.Errorf("dora is since %d, %v", m.SinceSeq, ok)
	}
}

// TestMediationIsTheOneOfTheSpecification: the worked object is its own form, with
// exactly those members.
func TestMediationIsTheOneOfTheSpecification(t *testing.T) {
	const worked = `{"ack_within_s":86400,"appeal_within_s":604800,"decide_within_s":864000,"enforce_within_s":604800,"evidence_within_s":604800,"jury":{"mode":"rules","size":5},"ladder":["jury","rotating","panel"],"respond_within_s":604800,"rotating":{"pool":[],"ties":[]},"vote_within_s":604800}`
	got, err := envelope.Marshal(DefaultMediation())
	if err != nil || string(got) != worked {
		t.Errorf("got %s, %v", got, err)
	}
	var m Mediation
	if err := envelope.Unmarshal([]byte(worked), &m); err != nil || fmt.Sprint(m.Ladder) != "[jury rotating panel]" {
		t.Errorf("got %+v, %v", m, err)
	}
}
