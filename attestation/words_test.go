package attestation

import (
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

// TestEveryTypeSaysItself: a type of the registry that has data has words for them, and one
// that has none names its subject.
func TestEveryTypeSaysItself(t *testing.T) {
	for _, r := range rules {
		_, says := r.Data().(spoken)
		_, empty := r.Data().(*Empty)
		if _, ok := plain[r.Type]; ok != empty || says == empty {
			t.Errorf("%s has no words of its own, or two: see words.go", r.Type)
		}
		e := Event{Type: r.Type, Subject: "zQmSubjectOfIt", Data: sample(t, r.Data())}
		got := Words(e)
		if got == "" || strings.Contains(got, "%!") || strings.Contains(got, "\n") || len([]rune(got)) > 200 {
			t.Errorf("%s: %q", r.Type, got)
		}
		if e.Data = envelope.Raw(`{"no":1}`); !empty && Words(e) != "its data are not those of its type" {
			t.Errorf("%s of other data: %q", r.Type, Words(e))
		}
	}
	for p := range plain {
		if _, ok := byType[p]; !ok {
			t.Errorf("%s is no type", p)
		}
	}
}

// sample fills the members of a data struct that must have a value.
func sample(t *testing.T, d any) envelope.Raw {
	t.Helper()
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i).Addr().Interface().(type) {
		case *string:
			*f = strings.Repeat("x", 500)
		case *did.DID:
			*f = did.MustParse("did:web:" + strings.Repeat("long.", 40) + "example")
		case *envelope.ID:
			*f = envelope.IDOf([]byte("x"))
		case *envelope.Time:
			*f, _ = envelope.ParseTime("2026-12-01T10:00:00Z")
		case *[]string:
			*f = []string{}
		case *[]Facts:
			*f = []Facts{}
		}
	}
	b, err := envelope.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ typ, subject, data, want string }{
		{"key.rotated", "", `{"added":["k2"],"did":"did:web:a.example","did_version":"2-x","previous":"1-x","reason":"scheduled","retired":["k1"]}`, "scheduled: 1 key in, 1 out"},
		{"key.rotated", "", `{"added":["a","b"],"did":"did:web:a.example","did_version":"2-x","previous":"1-x","reason":"compromise","retired":["k1"],"taint_from":12}`, "compromise: 2 keys in, 1 out, in doubt above 12"},
		{"agent.issued", "", `{"agent":"did:key:z6MkjJaaaaaaaaaaaaaaaaaa","id":"zQmNnpBmTPoj2CCNdCwtuVkgDihpKbCE5h8hBnRwXfWEm4Y","name":"billing","serial":1}`, `agent "billing", z6MkjJaa…, serial 1`},
		{"loan.issued", "", `{"borrower":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example:agents:a","expires_at":"2026-12-31T00:00:00Z","hygiene":[],"lender":"did:web:h.example","max_reads":5000,"patterns":[],"permission":"zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"}`,
			"loan zQmdUqbk… to acme.example:agents:a: 5000 reads until 2026-12-31T00:00:00Z"},
		{"loan.issued", "", `{"expires_at":"2026-12-31T00:00:00Z","hygiene":[],"lender":"did:web:h.example","max_reads":1,"patterns":[],"permission":"zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"}`,
			"loan zQmdUqbk… to a borrower it does not name: 1 read until 2026-12-31T00:00:00Z"},
		{"loan.revoked", "", `{"cause":"operator","target":"did:web:b.example:agents:a","target_kind":"borrower"}`, "all loans of b.example:agents:a revoked: operator"},
		{"loan.ended", "", `{"cause":"expired","target":"zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn","target_kind":"permission"}`, "loan zQmdUqbk… over: expired"},
		{"dispute.filed", "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn", `{}`, "case zQmdUqbk… filed"},
		{"log.erased", "", `{"cause":"row","index":7}`, "a private row of event 7 is erased, its proofs stay"},
		{"log.gap", "", `{"cause":"outbox","from":5,"to":9}`, "outbox 5 to 9 lost for good"},
		{"weather.changed", "", `{}`, "of a type not known here"},
	} {
		if got := Words(Event{Type: Type(c.typ), Subject: c.subject, Data: envelope.Raw(c.data)}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.typ, got, c.want)
		}
	}
}
