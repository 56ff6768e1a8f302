package didpeer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// vectors is the file of published DIDs and of invalid ones.
type vectors struct {
	Resolve  []struct{ Name, DID string }
	Numalgo0 struct{ DID, EquivalentDidKey string }
	Numalgo2 struct {
		DID         string
		DidDocument json.RawMessage
	}
	Numalgo3 struct{ From, DID string }
	Numalgo4 struct {
		Short, Long   string
		InputDocument json.RawMessage
	}
	Invalid []struct{ Why, DID, Error string }
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	var v vectors
	readJSON(t, "peer-did-vectors.json", &v)
	return v
}

func resolve(d did.DID, stored string) (did.Resolution, error) {
	return Resolver{}.Resolve(context.Background(), d, did.Material{Log: []byte(stored)}, did.Options{})
}

// parsed resolves text, which may be no DID at all: that is INVALID_DID, as the registry answers it.
func parsed(text, stored string) (did.Resolution, error) {
	d, err := did.Parse(text)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	return resolve(d, stored)
}

// longOf makes the long form of numalgo 4 that carries doc.
func longOf(doc []byte) string {
	text := "z" + base58.Encode(append(bytes.Clone(jsonCodec), doc...))
	return "did:peer:4" + hashOf(text) + ":" + text
}

func compact(t testing.TB, doc []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func canonical(t testing.TB, doc []byte) string {
	t.Helper()
	b, err := strictjson.Canonicalize(doc, did.MaxDocumentDepth)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantName(t *testing.T, what string, err error, name did.ErrorName) {
	t.Helper()
	var r *did.ResolutionError
	if !errors.As(err, &r) || r.Name != name {
		t.Errorf("%s: got %v, want %s", what, err, name)
	}
}

// wantHeld checks what holds for each resolved DID.
func wantHeld(t testing.TB, what, text string, r did.Resolution) {
	t.Helper()
	if r.DID.String() != text || r.Document.ID() != r.DID || !bytes.Equal(r.Raw, r.Document.Raw()) ||
		r.Version != did.StaticVersion || r.State != did.Held || !r.VerifiedAt.IsZero() || !r.Created.IsZero() {
		t.Errorf("%s: got %+v", what, r)
	}
	if got := canonical(t, r.Raw); got != string(r.Raw) {
		t.Errorf("%s: document is not in its canonical form: %s", what, r.Raw)
	}
}

func TestVectors(t *testing.T) {
	v := readVectors(t)
	resolved, refused := 0, 0
	for _, c := range v.Resolve {
		r, err := parsed(c.DID, "")
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		wantHeld(t, c.Name, c.DID, r)
		for _, m := range r.Document.Methods() {
			if m.Err != nil || m.Controller != c.DID {
				t.Errorf("%s: method %+v", c.Name, m)
			}
		}
		if len(r.Document.Methods()) == 0 || len(r.Warnings) != 0 {
			t.Errorf("%s: %d methods, warnings %v", c.Name, len(r.Document.Methods()), r.Warnings)
		}
		resolved++
	}
	names := map[string]did.ErrorName{"NOT_FOUND": did.NotFound, "": did.InvalidDID}
	for _, c := range v.Invalid {
		want := names[c.Error]
		if strings.HasPrefix(c.DID, "did:peer:5") {
			want = did.FeatureNotSupported
		}
		r, err := parsed(c.DID, "")
		wantName(t, c.Why, err, want)
		if reflect.DeepEqual(r, did.Resolution{}) {
			refused++
		}
	}
	if resolved != 4 || refused != 6 {
		t.Errorf("%d resolved, %d refused, want 4 and 6", resolved, refused)
	}
}

func TestNumalgo0IsTheDIDKeyUnderAnotherName(t *testing.T) {
	const id, key = "did:peer:0z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH", "z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"
	v := readVectors(t).Numalgo0
	if v.DID != id || v.EquivalentDidKey != "did:key:"+key {
		t.Fatalf("vectors changed: %+v", v)
	}
	const m = id + "#" + key
	want := `{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/multikey/v1"],"assertionMethod":["` + m +
		`"],"authentication":["` + m + `"],"capabilityDelegation":["` + m + `"],"capabilityInvocation":["` + m + `"],"id":"` + id +
		`","verificationMethod":[{"controller":"` + id + `","id":"` + m + `","publicKeyMultibase":"` + key + `","type":"Multikey"}]}`
	r, err := parsed(id, "")
	if err != nil || string(r.Raw) != want {
		t.Errorf("got %s, %v\nwant %s", r.Raw, err, want)
	}
}

func TestNumalgo2IsThePublishedDocument(t *testing.T) {
	v := readVectors(t).Numalgo2
	r, err := parsed(v.DID, "")
	if want := canonical(t, v.DidDocument); err != nil || string(r.Raw) != want {
		t.Errorf("got %s, %v\nwant %s", r.Raw, err, want)
	}
}

func TestNumalgo3IsAnotherNameOfNumalgo2(t *testing.T) {
	v := readVectors(t).Numalgo3
	r, err := parsed(v.From, "")
	if err != nil || !reflect.DeepEqual(r.Document.AlsoKnownAs(), []string{v.DID}) {
		t.Errorf("got %v, %v, want %s", r.Document.AlsoKnownAs(), err, v.DID)
	}
	_, err = parsed(v.DID, v.From)
	wantName(t, "numalgo 3 itself", err, did.FeatureNotSupported)
}

// inContext is the input document as the specification puts it into the context of a DID.
func inContext(t *testing.T, input []byte, id, other string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(input, &doc); err != nil {
		t.Fatal(err)
	}
	doc["id"], doc["alsoKnownAs"] = id, []string{other}
	for _, m := range doc["verificationMethod"].([]any) {
		m.(map[string]any)["controller"] = id
	}
	b, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(t, b)
}

func TestBothFormsOfNumalgo4(t *testing.T) {
	v := readVectors(t).Numalgo4
	input := compact(t, v.InputDocument)
	if got := longOf(input); got != v.Long {
		t.Errorf("encoding the input document gives %s, want %s", got, v.Long)
	}
	r, err := parsed(v.Long, "")
	if want := inContext(t, input, v.Long, v.Short); err != nil || string(r.Raw) != want {
		t.Errorf("long: got %s, %v\nwant %s", r.Raw, err, want)
	}
	r, err = parsed(v.Short, v.Long)
	if want := inContext(t, input, v.Short, v.Long); err != nil || string(r.Raw) != want {
		t.Errorf("short: got %s, %v\nwant %s", r.Raw, err, want)
	}
	wantHeld(t, "short", v.Short, r)
	if short, err := Short(did.MustParse(v.Long)); err != nil || short.String() != v.Short {
		t.Errorf("Short: got %v, %v", short, err)
	}
}

func TestThePrintedInputDocumentIsOfAnotherDID(t *testing.T) {
	v := readVectors(t).Numalgo4
	printed := bytes.Replace(compact(t, v.InputDocument), []byte("didcomm:transport/queue"), []byte("didcomm://queue"), 1)
	if got := longOf(printed); got == v.Long {
		t.Error("the document as printed has the published hash")
	}
}

func TestOnlyTheOwnLongFormAnswersAShortOne(t *testing.T) {
	v := readVectors(t)
	short, long := v.Numalgo4.Short, v.Numalgo4.Long
	foreign := longOf([]byte(`{"verificationMethod":[]}`))
	cases := []struct {
		name, stored string
		want         did.ErrorName
	}{
		{"nothing is stored", "", did.NotFound},
		{"the short form itself is stored", short, did.NotFound},
		{"another DID's long form is stored", foreign, did.NotFound},
		{"a DID of another numalgo is stored", v.Numalgo2.DID, did.NotFound},
		{"the long form stands behind a space", " " + long, did.NotFound},
		{"the stored text ends in a line feed", long + "\n", did.InvalidDID},
		{"the stored document is empty", short + ":", did.InvalidDID},
		{"the stored document lost its last character", long[:len(long)-1], did.InvalidDID},
		{"the stored document has one character more", long + "1", did.InvalidDID},
		{"the stored document is another's", short + ":" + strings.SplitN(foreign, ":", 4)[3], did.InvalidDID},
		{"the stored text is too long", long + strings.Repeat("1", did.MaxLongDID), did.InvalidDID},
	}
	for _, c := range cases {
		r, err := parsed(short, c.stored)
		wantName(t, c.name, err, c.want)
		if got := errors.Is(err, did.ErrAbsent); got != (c.want == did.NotFound) {
			t.Errorf("%s: absent is %v", c.name, got)
		}
		if !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v", c.name, r)
		}
	}
}

func TestShortRefuses(t *testing.T) {
	v := readVectors(t)
	cases := []struct {
		name, did string
		want      error
	}{
		{"another method", "did:key:z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH", ErrMethod},
		{"a numalgo with one form", v.Numalgo2.DID, ErrNumalgo},
		{"a short form", v.Numalgo4.Short, ErrForm},
		{"a document that does not match", v.Numalgo4.Long + "1", ErrHash},
	}
	for _, c := range cases {
		if d, err := Short(did.MustParse(c.did)); !errors.Is(err, c.want) || !d.IsZero() {
			t.Errorf("%s: got %v, %v, want %v", c.name, d, err, c.want)
		}
	}
	if _, err := Short(did.DID{}); !errors.Is(err, ErrMethod) {
		t.Errorf("nobody: %v", err)
	}
}

const (
	edKey = "z6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc"
	xKey  = "z6LSg8zQom395jKLrGiBNruB9MM6V8PWuf2FpEy4uRFiqQBR"
	pKey  = "zDnaerx9CtbPJ1q36T5Ln5wYt3MQYeGRG5ehnPAmxcf5mDZpv"
	// p384Key is of a type that is known and not supported.
	p384Key = "z82LkvCwHNreneWpsgPEbV3gu1C6NFJEBg4srfJ5gdxEsMGRJUz2sG9FE42shbn2xkZJh54"
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// TestRefused is identity B-13 (padding, and X25519 under purpose V).
func TestRefused(t *testing.T) {
	const two = "did:peer:2.V" + edKey
	cases := []struct {
		name, did string
		want      did.ErrorName
		cause     error
	}{
		{"numalgo 1", "did:peer:1zQmZMygzYqNwU6Uhmewx5Xepf2VLp5S4HLSwwgf2aiKZuwa", did.FeatureNotSupported, ErrNumalgo},
		{"numalgo 9", "did:peer:9" + edKey, did.FeatureNotSupported, ErrNumalgo},
		{"no numalgo", "did:peer:" + edKey, did.InvalidDID, ErrForm},
		{"another method", "did:key:" + edKey, did.InvalidDID, ErrMethod},
		{"numalgo 0 without a key", "did:peer:0", did.InvalidDID, did.ErrKeyText},
		{"numalgo 0 with two keys", "did:peer:0" + edKey + "." + edKey, did.InvalidDID, did.ErrKeyText},
		{"numalgo 0 in base64url", "did:peer:0u7QEuQHwzMHbvJt1ZC_I7ODKlyPk0a_gqZz3ixIYPVCtfSQ", did.InvalidDID, did.ErrKeyText},
		{"numalgo 0 with an unsupported key", "did:peer:0" + p384Key, did.FeatureNotSupported, did.ErrKeyUnsupported},
		{"numalgo 2 without elements", "did:peer:2", did.InvalidDID, ErrForm},
		{"numalgo 2 without a full stop", "did:peer:2V" + edKey, did.InvalidDID, ErrForm},
		{"numalgo 2 with an empty element", "did:peer:2..V" + edKey, did.InvalidDID, ErrForm},
		{"numalgo 2 with a full stop at the end", two + ".", did.InvalidDID, ErrForm},
		{"a purpose without a key", "did:peer:2.V", did.InvalidDID, did.ErrKeyText},
		{"a purpose in lower case", "did:peer:2.v" + edKey, did.InvalidDID, ErrForm},
		{"a colon in a key", two + ":" + edKey, did.InvalidDID, did.ErrKeyText},
		{"an unsupported key beside a good one", two + ".V" + p384Key, did.FeatureNotSupported, did.ErrKeyUnsupported},
		{"X25519 for assertion", "did:peer:2.A" + xKey, did.InvalidDID, did.ErrKeyInvalid},
		{"X25519 for authentication", "did:peer:2.V" + xKey, did.InvalidDID, did.ErrKeyInvalid},
		{"X25519 for invocation", "did:peer:2.I" + xKey, did.InvalidDID, did.ErrKeyInvalid},
		{"X25519 for delegation", "did:peer:2.D" + xKey, did.InvalidDID, did.ErrKeyInvalid},
		{"Ed25519 for key agreement", "did:peer:2.E" + edKey, did.InvalidDID, did.ErrKeyInvalid},
		{"a service that is empty", two + ".S", did.InvalidDID, ErrForm},
		{"a service with escaped padding", two + ".S" + b64(`{"t":"x"}`) + "%3D", did.InvalidDID, ErrForm},
		{"a service with bits left over", two + ".Se31", did.InvalidDID, ErrForm},
		{"a service that is no JSON", two + ".S" + b64(`{"t":"x"`), did.InvalidDID, ErrForm},
		{"a service that is a string", two + ".S" + b64(`"x"`), did.InvalidDID, ErrForm},
		{"a list of services in a list", two + ".S" + b64(`[[{"t":"x"}]]`), did.InvalidDID, ErrForm},
		{"a name twice", two + ".S" + b64(`{"t":"x","t":"y"}`), did.InvalidDID, ErrForm},
		{"a name short and long", two + ".S" + b64(`{"t":"x","type":"y"}`), did.InvalidDID, ErrForm},
		{"a name short and long below", two + ".S" + b64(`{"s":[{"a":[],"accept":[]}]}`), did.InvalidDID, ErrForm},
		{"an absolute id", two + ".S" + b64(`{"id":"did:web:acme.example#x","t":"x"}`), did.InvalidDID, ErrForm},
		{"an id without a fragment", two + ".S" + b64(`{"id":"#","t":"x"}`), did.InvalidDID, ErrForm},
		{"an id that is no text", two + ".S" + b64(`{"id":1,"t":"x"}`), did.InvalidDID, ErrForm},
		{"a number out of range", two + ".S" + b64(`{"priority":1e999}`), did.InvalidDID, ErrForm},
		{"a service nested too deep", two + ".S" + b64(strings.Repeat(`{"s":`, 40)+"0"+strings.Repeat("}", 40)), did.InvalidDID, ErrForm},
		{"more services than a document may have", two + strings.Repeat(".Se30", did.MaxServices+1), did.InvalidDID, did.ErrTooLarge},
		{"numalgo 4 without a hash", "did:peer:4", did.InvalidDID, ErrForm},
		{"a short form that is no hash", "did:peer:4" + edKey, did.InvalidDID, ErrForm},
		{"a short form with another hash", "did:peer:4" + did.Multibase(append([]byte{0x13, 0x20}, make([]byte, 32)...)), did.InvalidDID, ErrForm},
		{"a short form above any hash", "did:peer:4z" + strings.Repeat("2", 9000), did.InvalidDID, ErrForm},
		{"a document that is not base58", ofText("zll"), did.InvalidDID, ErrForm},
		{"a document in another base", ofText("u" + b64("\x80\x04{}")), did.InvalidDID, ErrForm},
		{"a document without a base", ofText(""), did.InvalidDID, nil}, // ends in a colon: no DID
		{"an empty document", ofText("z"), did.InvalidDID, ErrForm},
		{"a document of another codec", ofText(did.Multibase([]byte("\x51{}"))), did.InvalidDID, ErrForm},
		{"a codec in a longer varint", ofText(did.Multibase([]byte("\x80\x84\x00{}"))), did.InvalidDID, ErrForm},
		{"a second document behind a colon", longOf([]byte("{}")) + ":z", did.InvalidDID, ErrHash},
		{"a document that is no JSON", longOf([]byte(`{`)), did.InvalidDIDDocument, did.ErrDocument},
		{"a document that is an array", longOf([]byte(`[]`)), did.InvalidDIDDocument, did.ErrDocument},
		{"a document that has an id", longOf([]byte(`{"id":"did:web:acme.example"}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"another name that is no list", longOf([]byte(`{"alsoKnownAs":"did:web:acme.example"}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"methods that are no list", longOf([]byte(`{"verificationMethod":{}}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"a method that is no object", longOf([]byte(`{"verificationMethod":["#1"]}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"two methods with one id", longOf([]byte(`{"verificationMethod":[{"id":"#1"},{"id":"#1"}]}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"a number out of range in a document", longOf([]byte(`{"x":1e999}`)), did.InvalidDIDDocument, did.ErrDocument},
		{"a document nested too deep", longOf([]byte(strings.Repeat("[", 40) + strings.Repeat("]", 40))), did.InvalidDIDDocument, did.ErrDocument},
		{"methods that swell the document", longOf([]byte(`{"authentication":[` + strings.Repeat("{},", 3000) + `{}]}`)), did.InvalidDID, did.ErrTooLarge},
		{"more than may be a DID", longOf([]byte(`{"x":"` + strings.Repeat("x", 12000) + `"}`)), did.InvalidDID, did.ErrTooLarge},
	}
	for _, c := range cases {
		r, err := parsed(c.did, "")
		wantName(t, c.name, err, c.want)
		if c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.cause)
		}
		if !reflect.DeepEqual(r, did.Resolution{}) {
			t.Errorf("%s: got %+v", c.name, r)
		}
	}
	_, err := resolve(did.DID{}, "")
	wantName(t, "nobody", err, did.InvalidDID)
}

// ofText makes a long form around any text, with the right hash.
func ofText(text string) string { return "did:peer:4" + hashOf(text) + ":" + text }

func TestVersionsAndEndedContextsAreRefused(t *testing.T) {
	d := did.MustParse("did:peer:0" + edKey)
	for _, o := range []did.Options{{VersionID: did.StaticVersion}, {VersionNumber: 1}, {VersionTime: time1}} {
		_, err := Resolver{}.Resolve(t.Context(), d, did.Material{}, o)
		wantName(t, "a version", err, did.InvalidOptions)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Resolver{}.Resolve(ctx, d, did.Material{}, did.Options{})
	wantName(t, "an ended context", err, did.InternalError)
}

// TestSmallOrderKeysAreRefused is identity B-16.
func TestSmallOrderKeysAreRefused(t *testing.T) {
	var file struct{ Keys []struct{ Hex, DID string } }
	readJSON(t, "ed25519-small-order.json", &file)
	for _, k := range file.Keys {
		key := strings.TrimPrefix(k.DID, "did:key:")
		for _, text := range []string{"did:peer:0" + key, "did:peer:2.V" + key, "did:peer:2.A" + edKey + ".A" + key} {
			_, err := parsed(text, "")
			wantName(t, text, err, did.InvalidDID)
			if !errors.Is(err, did.ErrKeyInvalid) {
				t.Errorf("%s: got %v", text, err)
			}
		}
		carried := longOf([]byte(`{"verificationMethod":[{"id":"#1","type":"Multikey","publicKeyMultibase":"` + key + `"}],"assertionMethod":["#1"]}`))
		r, err := parsed(carried, "")
		if err != nil || len(r.Warnings) != 1 {
			t.Errorf("%s in a document: warnings %v, %v", k.Hex, r.Warnings, err)
		}
		if got, err := r.Document.Key("1", did.AssertionMethod); !errors.Is(err, did.ErrUnusable) || !got.IsZero() {
			t.Errorf("%s in a document: got %v, %v", k.Hex, got, err)
		}
	}
	if len(file.Keys) != 11 {
		t.Errorf("%d keys, want 11", len(file.Keys))
	}
}

// TestServices is identity B-13 (services as one array).
func TestServices(t *testing.T) {
	const dm = `{"t":"dm","s":{"uri":"https://a.example","a":["didcomm/v2"],"r":[]}}`
	const long = `{"type":"DIDCommMessaging","serviceEndpoint":{"uri":"https://a.example","accept":["didcomm/v2"],"routingKeys":[]},"id":`
	cases := []struct {
		name     string
		elements []string
		want     string
	}{
		{"one service is #service", []string{dm}, `[` + long + `"#service"}]`},
		{"three services are counted", []string{dm, dm, dm}, `[` + long + `"#service"},` + long + `"#service-1"},` + long + `"#service-2"}]`},
		{"a list in one element is read as its services", []string{`[` + dm + `,` + dm + `]`}, `[` + long + `"#service"},` + long + `"#service-1"}]`},
		{"a list and a service are counted together", []string{`[` + dm + `]`, dm}, `[` + long + `"#service"},` + long + `"#service-1"}]`},
		{
			"a service with an id is not counted", []string{`{"id":"#x","t":"LinkedDomains","s":"https://a.example"}`, dm},
			`[{"id":"#x","type":"LinkedDomains","serviceEndpoint":"https://a.example"},` + long + `"#service"}]`,
		},
		{
			"the flat form keeps its shape", []string{`{"t":"dm","s":"https://a.example","r":["did:x:y#z"],"a":["didcomm/v2"]}`},
			`[{"type":"DIDCommMessaging","serviceEndpoint":"https://a.example","routingKeys":["did:x:y#z"],"accept":["didcomm/v2"],"id":"#service"}]`,
		},
		{
			"only a type that is dm is written out", []string{`{"t":"did-communication","s":"dm","x":"dm","priority":0}`},
			`[{"type":"did-communication","serviceEndpoint":"dm","x":"dm","priority":0,"id":"#service"}]`,
		},
		{
			"names are written out in lists too", []string{`{"type":"dm","s":[{"uri":"https://a.example","a":[]}]}`},
			`[{"type":"DIDCommMessaging","serviceEndpoint":[{"uri":"https://a.example","accept":[]}],"id":"#service"}]`,
		},
	}
	for _, c := range cases {
		text := "did:peer:2.V" + edKey
		for _, e := range c.elements {
			text += ".S" + b64(e)
		}
		r, err := parsed(text, "")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var doc struct{ Service json.RawMessage }
		if err := json.Unmarshal(r.Raw, &doc); err != nil {
			t.Fatal(err)
		}
		if want := canonical(t, []byte(c.want)); string(doc.Service) != want {
			t.Errorf("%s: got %s\nwant %s", c.name, doc.Service, want)
		}
	}
}

// TestRoomIsCountedBeforeItIsFilled: what ParseDocument would refuse for its length must not be written first.
func TestRoomIsCountedBeforeItIsFilled(t *testing.T) {
	doc, err := strictjson.Parse([]byte(`{"authentication":[`+strings.Repeat("{},", 16)+`{}],"keyAgreement":[{}]}`), did.MaxDocumentDepth)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]error{did.MaxDocument / 18: nil, did.MaxDocument/18 + 1: did.ErrTooLarge} {
		v, err := contextualize(doc, strings.Repeat("d", size), "other")
		if !errors.Is(err, want) || (err != nil) != (v.Kind() == 0) {
			t.Errorf("18 controllers of %d bytes: got %v, want %v", size, err, want)
		}
	}
}

func TestACarriedDocumentIsReadTolerantly(t *testing.T) {
	const doc = `{"alsoKnownAs":["did:web:acme.example"],"verificationMethod":[
		{"id":"#ed","type":"Multikey","publicKeyMultibase":"` + edKey + `"},
		{"id":"#theirs","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"` + edKey + `"},
		{"id":"#odd","type":"NewKey2030","publicKeyMultibase":"z123"}],
		"authentication":["#ed","#theirs",{"id":"#in","type":"Multikey","publicKeyMultibase":"` + pKey + `"}],
		"assertionMethod":["#odd"]}`
	text := longOf([]byte(doc))
	short := text[:strings.LastIndex(text, ":")]
	r, err := parsed(text, "")
	if err != nil {
		t.Fatal(err)
	}
	wantHeld(t, "carried", text, r)
	if got, want := r.Document.AlsoKnownAs(), []string{"did:web:acme.example", short}; !reflect.DeepEqual(got, want) {
		t.Errorf("also known as %v, want %v", got, want)
	}
	for kid, want := range map[string]error{"ed": nil, "in": nil, "theirs": did.ErrNoMethod, "odd": did.ErrRelationship} {
		if _, err := r.Document.Key(kid, did.Authentication); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", kid, err, want)
		}
	}
	if _, err := r.Document.Key("odd", did.AssertionMethod); !errors.Is(err, did.ErrUnusable) || len(r.Warnings) != 1 {
		t.Errorf("an unknown type: %v, warnings %v", err, r.Warnings)
	}
}
