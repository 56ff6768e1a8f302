package integrity_test

import (
	"bytes"
	"testing"
	"time"

	"trustnode/did/integrity"
	"trustnode/did/strictjson"
)

// FuzzParse reads documents with proofs: no panic, and what is said to be signed is its own RFC 8785 form without a proof.
func FuzzParse(f *testing.F) {
	for _, name := range []string{
		"eddsa-jcs-2022/signedJCS.json", "eddsa-rdfc-2022/signedDataInt.json", "Ed25519Signature2020/signedEdSig.json",
		"proof-set-chain/signedProofSet1.json",
	} {
		f.Add(readFile(f, name))
	}
	f.Add([]byte(`{"@context":"a","proof":` + good + `}`))
	f.Add([]byte(`{"@context":[{"a":1e2}],"n":1152921504606846976,"proof":{"@context":[{"a":100}],` + good[1:] + `}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := strictjson.Parse(b, 32)
		if err != nil {
			return
		}
		raw, _ := v.Get("proof")
		p, err := integrity.Parse(raw)
		if err != nil {
			return
		}
		signed, err := p.Signed(v)
		if err != nil {
			return
		}
		again, err := strictjson.Canonicalize(signed, 32)
		if err != nil || !bytes.Equal(again, signed) {
			t.Fatalf("signed %s, canonical %s, %v", signed, again, err)
		}
		doc, err := strictjson.Parse(signed, 32)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := doc.Get("proof"); ok {
			t.Fatalf("a proof is signed: %s", signed)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2026-12-01T10:00:00Z", "0001-01-01T00:00:00.000000001Z", "9999-12-31T23:59:59.999999999-23:59", "2026-12-01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := integrity.ParseTime(s)
		if err != nil {
			return
		}
		if at.IsZero() {
			t.Fatalf("%q is the zero time", s)
		}
		if at.Year() > 9999 {
			return // an offset carried it over
		}
		if again, err := integrity.ParseTime(at.Format(time.RFC3339Nano)); err != nil || !again.Equal(at) {
			t.Fatalf("%q is %s, read again %s, %v", s, at, again, err)
		}
	})
}
