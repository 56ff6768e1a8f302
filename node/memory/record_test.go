package memory

import (
	"bytes"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/envelope"
)

func at(s string) time.Time {
	t, err := time.Parse(timeLayout, s)
	if err != nil {
		panic(err)
	}
	return t
}

// berth is the entry of 04 section 1.
func berth() Entry {
	return Entry{
		ID: "eQtocYooukJ5AQqCkZsHcHY", Rev: 2, Place: Place{"harbor", "north"}, Kind: Observation,
		Statement: "Berth 7 is closed for dredging until 9 December.", ContentType: "text/plain",
		Source:    Source{ToolResult, "tos-90211", at("2026-11-28T06:31:00Z")},
		DerivedBy: "digest-job:77", DerivedFrom: []string{"eNNwwULWXND4p4p8n1Ew1Ew"}, Depth: 1,
		Origins: []string{"direct"}, Trust: TrustDerived, Subjects: []string{},
		Tags:    []string{"berth:7", "class:internal", "terminal:north"},
		Created: at("2026-11-28T06:40:12Z"), Updated: at("2026-11-28T07:02:41Z"),
		ReviewAfter: at("2026-12-05T00:00:00Z"), ExpiresAt: at("2027-05-28T00:00:00Z"), State: Active,
	}
}

func TestViewIsTheFrozenOne(t *testing.T) {
	body := append([]byte(`{"entries":[`), berth().View()...)
	body = append(body, `],"salt":"Y0ea1poJCyWCd-yPum-ZQQ"}`...)
	got, want := envelope.IDOf(body).String(), "zQmUM3GjZdgANpN9SztEpSaWHPRpwRkQkJcnzS5sFMRJZ2h"
	if got != want {
		t.Errorf("hash %s, want %s of\n%s", got, want, body)
	}
}

func full() Entry {
	e := berth()
	e.ContentType, e.Data = "application/pdf", []byte{0, 0xff, 1, 2}
	e.Statement = "a \"caption\"\n\twith \\ and \u2028 and 😀"
	e.Subjects = []string{"s1111111111111111"}
	e.Authorization = "zQmUM3GjZdgANpN9SztEpSaWHPRpwRkQkJcnzS5sFMRJZ2h"
	e.Writer = did.MustParse("did:web:harbor.example")
	e.State, e.Trust, e.Kind = Superseded, TrustLent, Goal
	e.Supersedes, e.SupersededBy, e.Loan = "eNNwwULWXND4p4p8n1Ew1Ez", "eNNwwULWXND4p4p8n1Ew1Ex", "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"
	return e
}

func TestRecordsAreCanonicalAndRoundTrip(t *testing.T) {
	plain := berth()
	plain.ReviewAfter, plain.ExpiresAt, plain.DerivedBy, plain.Source = time.Time{}, time.Time{}, "", Source{Type: SourceOperator}
	for name, e := range map[string]Entry{"of the design": berth(), "with every member": full(), "with few members": plain} {
		for what, b := range map[string][]byte{"record": e.record(), "view": e.View()} {
			canonical, err := jcs.Transform(b)
			if err != nil || !bytes.Equal(b, canonical) {
				t.Errorf("%s %s is not canonical: %v\n got %s\nwant %s", what, name, err, b, canonical)
			}
		}
		got, err := parseRecord(e.record())
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("record %s: %v\n got %+v\nwant %+v", name, err, got, e)
		}
	}
}

func TestViewHoldsNothingThatIsNotLent(t *testing.T) {
	e := full()
	v := e.View()
	for _, secret := range []string{"harbor", `"north"`, e.Subjects[0], e.DerivedBy, e.DerivedFrom[0], "tos-90211", "origins",
		"2027-05-28", `"state"`, e.SupersededBy, e.Loan, e.Authorization, "class:", "writer"} {
		if bytes.Contains(v, []byte(secret)) {
			t.Errorf("view shows %q: %s", secret, v)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\"\\\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip()
		}
		got := appendText(nil, s)
		want, err := jcs.Transform([]byte("[" + string(got) + "]"))
		if err != nil || string(want) != "["+string(got)+"]" {
			t.Errorf("%q: got %s, want %s, %v", s, got, want, err)
		}
	})
}
