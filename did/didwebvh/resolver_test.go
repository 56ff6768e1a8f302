package didwebvh_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

// TestBrokenLogs: what a log still answers when one of its entries is refused.
func TestBrokenLogs(t *testing.T) {
	const a seed = 0x71
	log, ids := chain(t, step{}, step{list(1, a)}, step{}) // entries 1 to 4, a minute apart, from 3 on witnessed
	lines := bytes.SplitAfter(log, []byte("\n"))
	d := create(t, acme()).DID()
	whole := votes{4: {a}}.file(t, ids)
	upto3 := votes{3: {a}}.file(t, ids)
	alter := func(n int, old, next string) []byte {
		all := bytes.Clone(lines[n-1])
		all = bytes.Replace(all, []byte(old), []byte(next), 1)
		return bytes.Join([][]byte{bytes.Join(lines[:n-1], nil), all, bytes.Join(lines[n:], nil)}, nil)
	}
	bad4 := alter(4, "acme.example/api", "evil.example/api")
	good, unwitnessed := did.Material{Log: log, Witness: whole}, did.Material{Log: log, Witness: upto3}
	broken4 := did.Material{Log: bad4, Witness: upto3}
	pruned4 := did.Material{Log: bad4, Witness: whole} // the one proof there is is for the refused entry
	broken2 := did.Material{Log: alter(2, "acme.example/api", "evil.example/api"), Witness: whole}
	broken1 := did.Material{Log: alter(1, "acme.example/api", "evil.example/api"), Witness: whole}
	at := func(n int) time.Time { return day2.Add(time.Duration(n-2) * time.Minute) }
	id := func(n int) did.Options { return did.Options{VersionID: ids[n-1]} }
	number := func(n uint64) did.Options { return did.Options{VersionNumber: n} }
	when := func(n int) did.Options { return did.Options{VersionTime: at(n)} }
	for _, c := range []struct {
		name    string
		m       did.Material
		o       did.Options
		version int // 0: refused
		err     did.ErrorName
	}{
		{"whole, its head", good, did.Options{}, 4, ""},
		{"whole, an entry before", good, id(2), 2, ""},
		{"whole, the head by time", good, when(9), 4, ""},
		{"entry 4 altered, the head", broken4, did.Options{}, 0, did.InvalidDID},
		{"entry 4 altered, entry 3 by id", broken4, id(3), 3, ""},
		{"entry 4 altered, entry 3 by number", broken4, number(3), 3, ""},
		{"entry 4 altered, entry 4 by id", broken4, id(4), 0, did.InvalidDID},
		{"entry 4 altered, entry 4 by number", broken4, number(4), 0, did.InvalidDID},
		{"entry 4 altered, no such entry", broken4, number(9), 0, did.InvalidDID},
		{"entry 4 altered, a time under entry 2", broken4, when(2), 2, ""},
		{"entry 4 altered, a time under entry 3, whose end nobody knows", broken4, when(3), 0, did.InvalidDID},
		{"entry 4 altered, a time before all", broken4, did.Options{VersionTime: day1.Add(-1)}, 0, did.InvalidDID},
		{"the proof goes with entry 4, entry 3", pruned4, id(3), 0, did.InvalidDID},
		{"the proof goes with entry 4, entry 2, which needs none", pruned4, id(2), 2, ""},
		{"entry 4 not witnessed, the head", unwitnessed, did.Options{}, 0, did.InvalidDID},
		{"entry 4 not witnessed, entry 4", unwitnessed, id(4), 0, did.InvalidDID},
		{"entry 4 not witnessed, entry 3", unwitnessed, id(3), 3, ""},
		{"no witness file, entry 3", did.Material{Log: log}, id(3), 0, did.InvalidDID},
		{"no witness file, entry 2", did.Material{Log: log}, id(2), 2, ""},
		{"the witness file is broken, entry 2", did.Material{Log: log, Witness: []byte("{")}, id(2), 2, ""},
		{"entry 2 altered, entry 1", broken2, id(1), 1, ""},
		{"entry 2 altered, entry 3, which is whole", broken2, id(3), 0, did.InvalidDID},
		{"entry 1 altered, entry 1", broken1, number(1), 0, did.InvalidDID},
		{"entry 1 altered, entry 2", broken1, id(2), 0, did.InvalidDID},
		{"two questions of a broken log", broken4, did.Options{VersionNumber: 1, VersionID: ids[0]}, 0, did.InvalidOptions},
		{"too long to be read", did.Material{Log: make([]byte, 9<<20)}, number(1), 0, did.InvalidDID},
	} {
		c.o.Now = day2.Add(time.Hour)
		got, err := didwebvh.Resolver{}.Resolve(t.Context(), d, c.m, c.o)
		var re *did.ResolutionError
		errors.As(err, &re)
		want := ""
		if c.version > 0 {
			want = ids[c.version-1]
		}
		if got.Version != want || (re == nil) != (c.err == "") || re != nil && re.Name != c.err || (want == "") != got.Document.IsZero() {
			t.Errorf("%s: got %q, %v", c.name, got.Version, err)
		}
		if warned := len(got.Warnings) > 0; want != "" && warned == strings.HasPrefix(c.name, "whole") {
			t.Errorf("%s: warnings %v", c.name, got.Warnings)
		}
	}
}

// TestVerifyPartIsWhatVerifies: the part that is answered verifies by itself, with the same file, and no longer one does.
func TestVerifyPartIsWhatVerifies(t *testing.T) {
	const a, b seed = 0x71, 0x72
	log, ids := chain(t, step{list(1, a)}, step{}, step{list(1, b)}, step{}, step{})
	now := day2.Add(time.Hour)
	for name, v := range map[string]votes{
		"none": nil, "all": {4: {a}, 6: {b}}, "the first": {2: {a}}, "late for the old list": {4: {a}}, "a hole": {3: {a}, 6: {b}},
		"only the new list": {6: {b}}, "the old list proves past where the new one stops": {5: {a}},
		"the new list stops": {4: {a}, 5: {b}}, "both early": {2: {a}, 4: {b}},
	} {
		file := v.file(t, ids)
		want := 0
		lines := bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
		for n := range lines {
			if _, err := didwebvh.Verify(bytes.Join(lines[:n+1], nil), file, now); err == nil {
				want = n + 1
			}
		}
		got, err := didwebvh.VerifyPart(log, file, now)
		if got.Len() != want || (err == nil) != (want == len(lines)) {
			t.Errorf("%s: got %d entries, %v, want %d", name, got.Len(), err, want)
		}
		if want > 0 {
			if _, err := didwebvh.Verify(got.Log(), got.Witness(), now); err != nil {
				t.Errorf("%s: what is kept does not verify: %v", name, err)
			}
		}
	}
}

func TestDeactivatedResolves(t *testing.T) {
	h := deactivated(t, create(t, acme()), u2, day2)
	m := did.Material{Log: h.Log()}
	got, err := didwebvh.Resolver{}.Resolve(t.Context(), h.DID(), m, did.Options{Now: day2})
	if err != nil || got.State != did.Deactivated || !got.Document.IsZero() || got.Raw != nil {
		t.Errorf("the head: got %v, %s, %v", got.State, got.Raw, err)
	}
	got, err = didwebvh.Resolver{}.Resolve(t.Context(), h.DID(), m, did.Options{Now: day2, VersionNumber: 1})
	if err != nil || got.Document.IsZero() || len(got.Warnings) != 1 {
		t.Errorf("the version before: got %s, warnings %v, %v", got.Raw, got.Warnings, err)
	}
	again, err := h.Resolve(h.DID(), did.Options{Now: day2, VersionNumber: 1})
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("from the history: got %+v, %v, want %+v", again, err, got)
	}
	if _, err := (didwebvh.History{}).Resolve(h.DID(), did.Options{Now: day2}); !errors.Is(err, did.ErrAbsent) {
		t.Errorf("from no history: got %v", err)
	}
}

func TestMetadata(t *testing.T) {
	h, _ := golden(t)
	got, ok := h.Metadata(goldenFirst)
	want := didwebvh.Metadata{
		VersionID: goldenFirst, VersionNumber: 1, VersionTime: day1, Created: day1, Updated: day2, SCID: goldenSCID,
		Portable: true, TTL: 3600, Witness: *list(1, w),
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, ok := h.Metadata("3-" + goldenSCID); ok {
		t.Error("metadata of a version that is not there")
	}
	ended := deactivated(t, create(t, acme()), u2, day2)
	if got, _ := ended.Metadata(goldenFirst); !got.Deactivated {
		t.Error("the first version does not tell that the DID ended")
	}
}

// TestSuiteMetadata compares with what other implementations say about the logs of the suite, where they say it.
func TestSuiteMetadata(t *testing.T) {
	seen := 0
	for _, v := range suite(t) {
		h, err := didwebvh.Verify(v.log, v.witness, present)
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("testdata/suite/" + v.name + "/resolutionResult.json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Metadata struct {
				VersionID, SCID               string
				VersionNumber                 int
				Created, Updated, VersionTime time.Time
				Portable, Deactivated         *bool
				Watchers                      []string
			} `json:"didDocumentMetadata"`
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		m := want.Metadata
		got, ok := h.Metadata(m.VersionID)
		seen++
		if !ok || !got.Created.Equal(m.Created) || !got.Updated.Equal(m.Updated) || got.VersionNumber != m.VersionNumber ||
			!m.VersionTime.IsZero() && !got.VersionTime.Equal(m.VersionTime) || m.SCID != "" && got.SCID != m.SCID ||
			m.Portable != nil && got.Portable != *m.Portable || m.Deactivated != nil && got.Deactivated != *m.Deactivated ||
			len(got.Watchers) != len(m.Watchers) {
			t.Errorf("%s: got %+v, want %+v", v.name, got, m)
		}
	}
	if seen != 35 {
		t.Errorf("%d logs, want 35", seen)
	}
}

// TestSuiteDeactivatedHoldsNoDocument: the suite's results for these still hold one; none is right.
func TestSuiteDeactivatedHoldsNoDocument(t *testing.T) {
	for _, name := range []string{"deactivate/ts", "deactivate/python", "deactivate/java"} {
		v := find(t, name)
		h, err := didwebvh.Verify(v.log, v.witness, present)
		if err != nil {
			t.Fatal(err)
		}
		got, err := didwebvh.Resolver{}.Resolve(t.Context(), h.DID(), did.Material{Log: v.log, Witness: v.witness}, did.Options{Now: present})
		if err != nil || got.State != did.Deactivated || !got.Document.IsZero() || got.Raw != nil {
			t.Errorf("%s: got %v, %s, %v", name, got.State, got.Raw, err)
		}
	}
}
