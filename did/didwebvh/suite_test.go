package didwebvh_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

// present is a time after all times of the suite's positive logs.
var present = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)

type vector struct {
	name         string // "multi-update/python"
	log, witness []byte
	negative     bool
}

func suite(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob("testdata/suite/*/*/did.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for _, f := range files {
		log, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		witness, err := os.ReadFile(filepath.Join(filepath.Dir(f), "did-witness.json"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		name := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(f), filepath.FromSlash("testdata/suite/")))
		all = append(all, vector{name, log, witness, strings.HasPrefix(name, "negative-")})
	}
	return all
}

func find(t testing.TB, name string) vector {
	t.Helper()
	all := suite(t)
	i := slices.IndexFunc(all, func(v vector) bool { return v.name == name })
	if i < 0 {
		t.Fatalf("no vector %s", name)
	}
	return all[i]
}

func TestSuitePositives(t *testing.T) {
	accepted, refused := 0, 0
	for _, v := range suite(t) {
		if v.negative {
			continue
		}
		h, err := didwebvh.Verify(v.log, v.witness, present)
		if strings.HasPrefix(v.name, "witness-update/") {
			refused++
			if didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
				t.Errorf("%s: got %v, want it refused: the old list governs", v.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.name, err)
			continue
		}
		accepted++
		compareResolution(t, v.name, "", h)
		compareResolution(t, v.name, ".1", h)
		compareResolution(t, v.name, ".2", h)
	}
	if accepted != 35 || refused != 3 {
		t.Errorf("accepted %d, refused %d, want 35 and 3", accepted, refused)
	}
}

// compareResolution checks a history against what other implementations resolved it to.
func compareResolution(t *testing.T, name, version string, h didwebvh.History) {
	t.Helper()
	raw, err := os.ReadFile("testdata/suite/" + name + "/resolutionResult" + version + ".json")
	if errors.Is(err, os.ErrNotExist) && version != "" {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Document map[string]any `json:"didDocument"`
		Metadata struct {
			VersionID string `json:"versionId"`
		} `json:"didDocumentMetadata"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	v, ok := h.ByID(want.Metadata.VersionID)
	if !ok || version == "" && v.ID != h.Head().ID {
		t.Errorf("%s: resolved version %s, want %s", name, h.Head().ID, want.Metadata.VersionID)
		return
	}
	if strings.HasPrefix(name, "deactivate/") { // their result still holds a document
		if !h.Deactivated() {
			t.Errorf("%s is not deactivated", name)
		}
		return
	}
	var got map[string]any
	if err := json.Unmarshal(v.Document.Raw(), &got); err != nil {
		t.Fatal(err)
	}
	// Their results add implicit services that no state holds.
	delete(got, "service")
	delete(want.Document, "service")
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want.Document)
	if !bytes.Equal(a, b) {
		t.Errorf("%s%s\n got %s\nwant %s", name, version, a, b)
	}
}

func TestSuiteNegatives(t *testing.T) {
	reasons := map[string]didwebvh.Reason{
		"negative-duplicate-witness-ids/ts":        didwebvh.ReasonParameters,
		"negative-pre-rotation-omit-updatekeys/ts": didwebvh.ReasonKey,
		"negative-scid-mismatch-genesis/ts":        didwebvh.ReasonHash,
		"negative-unknown-method-version/ts":       didwebvh.ReasonParameters,
		"negative-versiontime-future/ts":           didwebvh.ReasonTime,
		"negative-wrong-cryptosuite/ts":            didwebvh.ReasonProof,
		"negative-lowercase-pct-port-ip/ts":        didwebvh.ReasonForm, // no log, only an identifier
		"negative-path-traversal-did/ts":           didwebvh.ReasonForm,
		"negative-pct-encoded-ip-host/ts":          didwebvh.ReasonForm,
	}
	seen := 0
	for _, v := range suite(t) {
		if !v.negative {
			continue
		}
		seen++
		_, err := didwebvh.Verify(v.log, v.witness, present)
		if got := didwebvh.ReasonOf(err); got != reasons[v.name] || err == nil {
			t.Errorf("%s: got %v (%v), want %v", v.name, got, err, reasons[v.name])
		}
	}
	if seen != len(reasons) {
		t.Errorf("%d scenarios, want %d", seen, len(reasons))
	}
	for _, s := range []string{
		"did:webvh:Qm0000000000000000000000000000000000000000000000:127.0.0.1%3a8080",
		"did:webvh:Qm0000000000000000000000000000000000000000000000:example.com:..:..:admin",
		"did:webvh:Qm0000000000000000000000000000000000000000000000:127%2E0%2E0%2E1",
		"did:webvh:Qm0000000000000000000000000000000000000000000000:127%2e0%2e0%2e1",
		"did:webvh:Qm0000000000000000000000000000000000000000000000:169%2E254%2E169%2E254",
	} {
		if _, err := parse(s); err == nil {
			t.Errorf("%s is accepted", s)
		}
	}
}

func parse(s string) (didwebvh.Identifier, error) {
	d, err := did.Parse(s)
	if err != nil {
		return didwebvh.Identifier{}, err
	}
	return didwebvh.ParseIdentifier(d)
}

// identifiers are the host rules' cases.
func identifiers(t testing.TB) (reject []string, accept []struct{ DID, URL string }) {
	t.Helper()
	raw, err := os.ReadFile("testdata/identifiers.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Reject []string
		Accept []struct{ DID, URL string }
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases.Reject, cases.Accept
}

func TestIdentifiers(t *testing.T) {
	reject, accept := identifiers(t)
	if len(reject) != 22 || len(accept) != 3 {
		t.Fatalf("%d and %d cases, want 22 and 3", len(reject), len(accept))
	}
	for _, s := range reject {
		if id, err := parse(s); err == nil {
			t.Errorf("%s is accepted as %+v", s, id)
		}
	}
	for _, c := range accept {
		id, err := parse(c.DID)
		if err != nil || id.URL() != c.URL {
			t.Errorf("%s: got %s, %v, want %s", c.DID, id.URL(), err, c.URL)
		}
	}
	const scid = "did:webvh:QmSnXeGYiUPY1GkwbQPoZtsi3g91RG13UXPqqZV64m6W49:"
	for name, host := range map[string]string{
		"fullwidth digits are an address": "%EF%BC%91.%EF%BC%91.%EF%BC%91.%EF%BC%91",
		"a bare label is no domain":       "localhost",
		"an IPv6 address":                 "%5B%3A%3A1%5D",
		"a port of zero":                  "example.com%3A0",
		"a port with a leading zero":      "example.com%3A080",
		"user information":                "a%40evil.com",
		"a trailing dot hides a number":   "127.0.0.1.",
		"an escaped escape in a path":     "example.com:%252e%252e",
		"a NUL in a path":                 "example.com:a%00b",
	} {
		if id, err := parse(scid + host); err == nil {
			t.Errorf("%s: %s is accepted as %+v", name, host, id)
		}
	}
}
