package didwebvh_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// plainLog is a first entry as another implementation writes it: no pre-rotation, and the key may sign on.
func plainLog(t testing.TB, update seed) didwebvh.History {
	t.Helper()
	f := forge{
		before: "{SCID}", number: 1, time: "2026-12-01T10:00:00Z", signers: []seed{update},
		parameters: `{"method":"did:webvh:1.0","scid":"{SCID}","updateKeys":["` + update.Public().Multikey() + `"]}`,
		state:      `{"id":"did:webvh:{SCID}:plain.example"}`,
	}
	h, err := didwebvh.Verify(f.first(t), nil, day1)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// handed is h and an entry 2 by which a signer makes another key the update key.
func handed(t testing.TB, h didwebvh.History, signer, to seed) (didwebvh.History, error) {
	f := second(h)
	f.signers, f.parameters = []seed{signer}, `{"updateKeys":["`+to.Public().Multikey()+`"]}`
	return h.Extend(f.line(t), nil, day2)
}

// TestB1: A rotated to B in entry 2, and whoever holds the leaked A writes another entry 2.
func TestB1(t *testing.T) {
	const a, b, thief seed = 0x41, 0x42, 0x43
	h := plainLog(t, a)
	honest, err := handed(t, h, a, b)
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := handed(t, h, a, thief)
	if err != nil {
		t.Fatalf("without pre-rotation the other entry 2 verifies: %v", err)
	}
	for name, pair := range map[string][2]didwebvh.History{"honest first": {honest, stolen}, "stolen first": {stolen, honest}} {
		other, common, err := pair[0].Compare(pair[1].Log(), nil, day2)
		if err != nil || common != 1 || other.Len() != 2 || other.Head().ID != pair[1].Head().ID {
			t.Errorf("%s: got %d versions, %d common, %v; want two branches from entry 1", name, other.Len(), common, err)
		}
	}
	guarded := create(t, acme())
	f := second(guarded)
	for name, spoil := range map[string]func(*forge){
		"the leaked key signs for itself": func(f *forge) {
			f.parameters = strings.Replace(f.parameters, u2.Public().Multikey(), u1.Public().Multikey(), 1)
		},
		"the leaked key names another": func(f *forge) {
			f.parameters = strings.Replace(f.parameters, u2.Public().Multikey(), thief.Public().Multikey(), 1)
		},
		"the leaked key shows the next": func(*forge) {},
	} {
		g := f
		g.signers = []seed{u1}
		spoil(&g)
		if _, err := guarded.Extend(g.line(t), nil, day2); didwebvh.ReasonOf(err) != didwebvh.ReasonKey {
			t.Errorf("with pre-rotation, %s: got %v", name, err)
		}
	}
}

// TestB2: the first entries of a valid log, with the witness file of that time, verify; what is held is not changed by them.
func TestB2(t *testing.T) {
	const a seed = 0x71
	log, ids := chain(t, step{list(1, a)}, step{}, step{})
	now := day2.Add(time.Hour)
	lines := bytes.SplitAfter(log, []byte("\n"))
	held, err := didwebvh.Verify(log, votes{4: {a}}.file(t, ids), now)
	if err != nil {
		t.Fatal(err)
	}
	old, file := bytes.Join(lines[:2], nil), votes{2: {a}}.file(t, ids)
	if h, err := didwebvh.Verify(old, file, now); err != nil || h.Len() != 2 {
		t.Errorf("alone: %d entries, %v", h.Len(), err)
	}
	other, common, err := held.Compare(old, file, now)
	if err != nil || common != 2 || other.Len() != 2 || held.Len() != 4 {
		t.Errorf("beside what is held: %d entries, %d common, %v", other.Len(), common, err)
	}
}

// TestB4: the old list governs the entry that replaces it, and a file pruned to each witness's latest proof suffices.
func TestB4(t *testing.T) {
	for _, by := range []string{"ts", "python", "java"} {
		v := find(t, "witness-update/"+by)
		_, err := didwebvh.Verify(v.log, v.witness, present)
		var e *didwebvh.Error
		if !errors.As(err, &e) || e.Reason != didwebvh.ReasonWitness || e.Number != 2 {
			t.Errorf("witness-update/%s: got %v, want entry 2 refused", by, err)
		}
	}
	const a, b, c seed = 0x71, 0x72, 0x73
	log, ids := chain(t, step{list(2, a, b)}, step{}, step{list(1, c)}, step{}, step{})
	for name, v := range map[string]votes{
		"every proof":                   {2: {a, b}, 3: {a, b}, 4: {a, b}, 5: {c}, 6: {c}},
		"pruned to the latest":          {4: {a, b}, 6: {c}},
		"the latest, of different ages": {4: {a}, 5: {b}, 6: {c}},
	} {
		if _, err := didwebvh.Verify(log, v.file(t, ids), day2.Add(time.Hour)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := didwebvh.Verify(log, votes{3: {a, b}, 6: {c}}.file(t, ids), day2.Add(time.Hour)); didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
		t.Errorf("pruned too far: got %v", err)
	}
}

// TestB7: witness lists that say nothing are refused when they are read, whatever proofs come with them.
func TestB7(t *testing.T) {
	const a, b seed = 0x71, 0x72
	id := func(s seed) string { return `{"id":"did:key:` + s.Public().Multikey() + `"}` }
	h := create(t, acme())
	for name, list := range map[string]string{
		"one witness twice":            `{"threshold":2,"witnesses":[` + id(a) + `,` + id(a) + `]}`,
		"a threshold of zero":          `{"threshold":0,"witnesses":[` + id(a) + `]}`,
		"a threshold above the list":   `{"threshold":3,"witnesses":[` + id(a) + `,` + id(b) + `]}`,
		"a threshold below zero":       `{"threshold":-1,"witnesses":[` + id(a) + `]}`,
		"a threshold in words":         `{"threshold":"1","witnesses":[` + id(a) + `]}`,
		"an empty list":                `{"threshold":0,"witnesses":[]}`,
		"a threshold and no list":      `{"threshold":1}`,
		"a list and no threshold":      `{"witnesses":[` + id(a) + `]}`,
		"a list of seventeen":          `{"threshold":1,"witnesses":[` + strings.Repeat(id(a)+",", 16) + id(b) + `]}`,
		"a threshold of two spellings": `{"threshold":1,"threshold":2,"witnesses":[` + id(a) + `,` + id(b) + `]}`,
	} {
		f := second(h)
		f.parameters = strings.TrimSuffix(f.parameters, "}") + `,"witness":` + list + "}"
		line := lineOrRaw(t, f)
		file := witnessed(t, day2, goldenNext, a, a, b)
		if id := didwebvh.VersionID(line); id != "" {
			file = witnessed(t, day2, id, a, a, b)
		}
		_, err := h.Extend(line, file, day2)
		if r := didwebvh.ReasonOf(err); r != didwebvh.ReasonParameters && !(r == didwebvh.ReasonForm && strings.Contains(name, "spellings")) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// lineOrRaw is the forged line, or where its parameters are no JSON one reader takes, an honest line with them put in.
func lineOrRaw(t *testing.T, f forge) []byte {
	if _, err := strictjson.Parse([]byte(f.parameters), 32); err == nil {
		return f.line(t)
	}
	honest := f
	honest.parameters = `{}`
	return bytes.Replace(honest.line(t), []byte(`"parameters":{}`), []byte(`"parameters":`+f.parameters), 1)
}

// TestB8: every entry's hash and proof is verified, always, however many follow and on however many processors.
func TestB8(t *testing.T) {
	for _, entries := range []int{4, 40} {
		log, _ := chainOf(t, entries)
		lines := bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
		if _, err := didwebvh.Verify(log, nil, present); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			spoil func([]byte) []byte
			want  didwebvh.Reason
		}{
			"its document is altered": {func(l []byte) []byte {
				return bytes.Replace(l, []byte("acme.example/api"), []byte("evil.example/api"), 1)
			}, didwebvh.ReasonHash},
			"its time is altered": {func(l []byte) []byte { return bytes.Replace(l, []byte("09:00:00Z"), []byte("09:00:01Z"), 1) }, didwebvh.ReasonHash},
			"the chain is right, its proof is of another time": {func(l []byte) []byte {
				return bytes.Replace(l, []byte(`"created":"2026-12-01T10:00:00Z"`), []byte(`"created":"2026-12-01T10:00:01Z"`), 1)
			}, didwebvh.ReasonProof},
			"the chain is right, its proof is that of entry 3": {func(l []byte) []byte {
				return bytes.Replace(l, proofValue(t, l), proofValue(t, lines[2]), 1)
			}, didwebvh.ReasonProof},
		} {
			bad := bytes.Join([][]byte{lines[0], c.spoil(lines[1]), bytes.Join(lines[2:], nil)}, nil)
			if bytes.Equal(bad, log) || len(bad) < len(log)-4 {
				t.Fatalf("%s: nothing was altered", name)
			}
			for _, procs := range []int{1, 4} {
				_, err := onProcessors(procs, bad)
				var e *didwebvh.Error
				if !errors.As(err, &e) || e.Number != 2 || e.Reason != c.want {
					t.Errorf("%d entries, %s, %d processors: got %v (%v)", entries, name, procs, err, didwebvh.ReasonOf(err))
				}
			}
		}
	}
}

// chainOf is a log of n valid entries and their versionIds.
func chainOf(t testing.TB, n int) ([]byte, []string) {
	t.Helper()
	h := longLog(t, n-1)
	var ids []string
	for i := range n {
		v, _ := h.At(i + 1)
		ids = append(ids, v.ID)
	}
	return h.Log(), ids
}

func proofValue(t testing.TB, line []byte) []byte {
	t.Helper()
	v, err := strictjson.Parse(bytes.TrimSuffix(line, []byte("\n")), 32)
	if err != nil {
		t.Fatal(err)
	}
	proofs, _ := v.Get("proof")
	value, _ := proofs.Elements()[0].Get("proofValue")
	s, _ := value.Text()
	return []byte(s)
}

// onProcessors verifies a log with GOMAXPROCS set.
func onProcessors(n int, log []byte) (didwebvh.History, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	return didwebvh.Verify(log, nil, present)
}

// TestB16 (Gitlawb/node PR#314, blinklabs-io/gouroboros#2234): each of the 11 small-order points as an update key or a
// witness, with the signature that plain Ed25519 takes for many messages under it. The entry is refused for the key.
func TestB16(t *testing.T) {
	var file struct {
		Keys         []struct{ DID string }
		SignatureHex string `json:"signature_hex"`
	}
	b, err := os.ReadFile("../testdata/local/ed25519-small-order.json")
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	sig, hexErr := hex.DecodeString(file.SignatureHex)
	if err := errors.Join(err, hexErr); err != nil || len(file.Keys) != 11 || len(sig) != 64 {
		t.Fatalf("%d keys, %v", len(file.Keys), err)
	}
	h := create(t, acme())
	for _, k := range file.Keys {
		text := strings.TrimPrefix(k.DID, "did:key:")
		under := func(v strictjson.Value) strictjson.Value {
			return v.With("verificationMethod", strictjson.StringOf(k.DID+"#"+text)).With("proofValue", strictjson.StringOf(did.Multibase(sig)))
		}
		update := second(h)
		update.parameters, update.proof = strings.Replace(update.parameters, u2.Public().Multikey(), text, 1), under
		open := forge{
			before: "{SCID}", number: 1, time: "2026-12-01T10:00:00Z", signers: []seed{u1}, proof: under,
			parameters: `{"method":"did:webvh:1.0","scid":"{SCID}","updateKeys":["` + text + `"]}`, state: `{"id":"did:webvh:{SCID}:plain.example"}`,
		}
		witness := second(h)
		witness.parameters = strings.TrimSuffix(witness.parameters, "}") + `,"witness":{"threshold":1,"witnesses":[{"id":"` + k.DID + `"}]}}`
		proof, err := strictjson.Canonicalize(fmt.Appendf(nil, `[{"versionId":%q,"proof":[%s]}]`, didwebvh.VersionID(witness.line(t)),
			under(witnessProof(t, day2, didwebvh.VersionID(witness.line(t)), u1)).Raw()), 32)
		if err != nil {
			t.Fatal(err)
		}
		for name, try := range map[string]func() error{
			"an update key": func() error { _, err := h.Extend(update.line(t), nil, day2); return err },
			"a witness":     func() error { _, err := h.Extend(witness.line(t), proof, day2); return err },
			"the first key": func() error { _, err := didwebvh.Verify(open.first(t), nil, day2); return err },
		} {
			if err := try(); didwebvh.ReasonOf(err) != didwebvh.ReasonParameters || !errors.Is(err, did.ErrKeyInvalid) {
				t.Errorf("%s as %s: %v", text, name, err)
			}
		}
	}
}

// first is the line of a first entry: its SCID is made and put in its places.
func (f forge) first(t testing.TB) []byte {
	t.Helper()
	blank, err := strictjson.Canonicalize(fmt.Appendf(nil, `{"parameters":%s,"state":%s,"versionId":"{SCID}","versionTime":"%s"}`, f.parameters, f.state, f.time), 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(blank)
	scid := did.Base58(append([]byte{0x12, 0x20}, sum[:]...))
	f.before, f.parameters, f.state = scid, strings.ReplaceAll(f.parameters, "{SCID}", scid), strings.ReplaceAll(f.state, "{SCID}", scid)
	return f.line(t)
}
