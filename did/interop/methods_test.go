package interop

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
)

// TestWebVHResolvesAsTheMethodDoes: material, options and typed errors of a method that has them pass the frame whole.
func TestWebVHResolvesAsTheMethodDoes(t *testing.T) {
	log, err := os.ReadFile("testdata/basic-update.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)
	h, err := didwebvh.Verify(log, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := h.At(1)
	r := New(didwebvh.Resolver{}, didkey.Resolver{})
	for _, c := range []struct {
		name string
		m    did.Material
		o    did.Options
		err  error // in the chain of the refusal
	}{
		{"the head", did.Material{Log: log}, did.Options{Now: now}, nil},
		{"an earlier version", did.Material{Log: log}, did.Options{Now: now, VersionID: one.ID}, nil},
		{"no log", did.Material{}, did.Options{Now: now}, did.ErrAbsent},
		{"half a log", did.Material{Log: log[:len(log)/2]}, did.Options{Now: now}, did.ErrUnverified},
	} {
		got, err := r.Resolve(t.Context(), h.DID().String(), c.m, c.o)
		want, wantErr := didwebvh.Resolver{}.Resolve(t.Context(), h.DID(), c.m, c.o)
		if !reflect.DeepEqual(got, want) || !errors.Is(err, c.err) || (err == nil) != (wantErr == nil) || c.err == nil && err != nil {
			t.Errorf("%s: got %+v, %v\nwant %+v, %v", c.name, got, err, want, wantErr)
		}
		if c.err == nil && !reflect.DeepEqual(View(got).ID, h.DID().String()) {
			t.Errorf("%s: view of %s", c.name, View(got).ID)
		}
	}
}
