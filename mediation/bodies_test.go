package mediation

import (
	"errors"
	"strings"
	"testing"

	"trustnode/did/envelope"
)

// Golden bodies of the design, with the ids it prints.
const (
	goldenDispute  = `{"against":"did:web:line.example","amount":"0","asset":"USDC","charter":{"id":"zQmet7AfK9xFRsLqLDHQdn1hy33mn7fR6gHXU94juvcQ8kZ","seq":6},"claims":[{"acts":6,"code":"R1","first_at":"2026-12-05T08:00:20Z","last_at":"2026-12-05T09:12:00Z","n":1,"perm":"zQmaha1s9McxU3J7dS67oPLFM4DTstweHwSk5iTvCYHhGnS","subject":"did:web:line.example:agents:planner"}],"evidence":"zQmbsoDkJCoS5Mvn7iXUVqBwbm7wBWTZJgqHLeQtt5Q5Fpj","nonce":"AAECAwQFBgcICQoLDA0ODw","pact":"zQmQXKDtrdLf4BzHvVMT6mJuUw69RBFx6DHE5AnjxVGqoXg","relief":["score"],"track":"normal"}`
	goldenAnswer   = `{"case":"zQmX7xV4BtCUGFV2evnSZoPjBYancGnRHisWGXLovfUqGQS","claims":[{"n":1,"reply":"deny"}],"nonce":"ICEiIyQlJicoKSorLC0uLw"}`
	goldenManifest = `{"items":[{"bytes":618,"claims":[1],"id":"zQmaha1s9McxU3J7dS67oPLFM4DTstweHwSk5iTvCYHhGnS","kind":"permission","n":1},{"bytes":254,"claims":[1],"id":"zQmRBXECu6PSwRFyoPsPE15JF1VxwFoxsYYBqconySZpaCc","kind":"revocation","n":2,"where":{"index":4102,"org":"did:web:harbor.example"}},{"bytes":531,"claims":[1],"id":"zQmV2CE6bpe4XVzF48v8U3z74Wag6aL5EEpri8r7NcFWviF","kind":"row","n":3,"where":{"index":911,"org":"did:web:harbor.example","row":3}},{"bytes":302,"claims":[1],"id":"zQmQT1pEcvCwZguia3bRKQ361y2sdwVWhUpbXYEWE1bA5Zp","kind":"readrequest","n":4}],"salt":"EBESExQVFhcYGRobHB0eHw"}`
	goldenSeat     = `{"case":"zQmX7xV4BtCUGFV2evnSZoPjBYancGnRHisWGXLovfUqGQS","draw":{"root":"zQmVkqaunyKCw4NKmWXbsGhkr5CotM8vCBKWyxsh8FGZyfr","witness":{"index":9120,"org":"did:web:rail.example"}},"free_of":["dealings","interest","ties"],"place":0,"rung":"rotating"}`
	goldenRuling   = `{"case":"zQmX7xV4BtCUGFV2evnSZoPjBYancGnRHisWGXLovfUqGQS","claims":[{"acts":6,"items":[1,2,3,4],"n":1,"result":"proven","severity":43333}],"considered":{"count":9,"root":"zQmZaD8ctSZGDdKHcDDyeAuTfXi8nGx5aY44wY5BKwv1DLH"},"outcome":"claimant","place":0,"reasons":"zQmd9Kxpkizz1y2KexvpBnM8vdZBrwT1XUms1gEfMiWtB7p","remedies":[{"claim":1,"do":"score","n":1}],"rung":"rotating","summary":"Six signed requests lie after the revocation; the first refusal named it.","verdict":"zQmQRsibXpVJfv3jsDyDP4mGa53D9CX74vn2SgCeUHVZUhj"}`
)

func TestGoldenBodies(t *testing.T) {
	for _, tt := range []struct {
		name, text, id string
		parse          func([]byte) (any, error)
	}{
		{"dispute", goldenDispute, "zQmX7xV4BtCUGFV2evnSZoPjBYancGnRHisWGXLovfUqGQS", func(b []byte) (any, error) { return ParseDispute(b) }},
		{"answer", goldenAnswer, "", func(b []byte) (any, error) { return ParseAnswer(b) }},
		{"evidence", goldenManifest, "zQmbsoDkJCoS5Mvn7iXUVqBwbm7wBWTZJgqHLeQtt5Q5Fpj", func(b []byte) (any, error) { return ParseManifest(b) }},
		{"assignment", goldenSeat, "", func(b []byte) (any, error) { return ParseAssignment(b) }},
		{"ruling", goldenRuling, "zQmX6zcrqCMAjanz1usyxw2mg7fHyVgqcCwmR7s2A53U4sM", func(b []byte) (any, error) { return ParseRuling(b) }},
	} {
		v, err := tt.parse([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if back, err := envelope.Marshal(v); err != nil || string(back) != tt.text {
			t.Errorf("%s: written again it is %s (%v)", tt.name, back, err)
		}
		if got := envelope.IDOf([]byte(tt.text)).String(); tt.id != "" && got != tt.id {
			t.Errorf("%s: id %s, want %s", tt.name, got, tt.id)
		}
	}
}

func TestBodiesRefuse(t *testing.T) {
	dispute := func(b []byte) error { _, err := ParseDispute(b); return err }
	ruling := func(b []byte) error { _, err := ParseRuling(b); return err }
	manifest := func(b []byte) error { _, err := ParseManifest(b); return err }
	answer := func(b []byte) error { _, err := ParseAnswer(b); return err }
	for _, tt := range []struct {
		name, text, old, new string
		parse                func([]byte) error
	}{
		{"a case variant of a key", goldenDispute, `"against"`, `"Against"`, dispute},
		{"a key nobody knows", goldenDispute, `"track":"normal"`, `"track":"normal","zeal":1`, dispute},
		{"a track nobody knows", goldenDispute, `"normal"`, `"fast"`, dispute},
		{"an amount with a leading zero", goldenDispute, `"amount":"0"`, `"amount":"00"`, dispute},
		{"a claim without acts", goldenDispute, `"acts":6`, `"acts":0`, dispute},
		{"a code nobody knows", goldenDispute, `"R1"`, `"R9"`, dispute},
		{"a claim that is numbered 2 first", goldenDispute, `"n":1,"perm"`, `"n":2,"perm"`, dispute},
		{"a nonce of 15 bytes", goldenDispute, `AAECAwQFBgcICQoLDA0ODw`, `AAECAwQFBgcICQoLDA0O`, dispute},
		{"an outcome nobody knows", goldenRuling, `"outcome":"claimant"`, `"outcome":"both"`, ruling},
		{"a result nobody knows", goldenRuling, `"proven"`, `"maybe"`, ruling},
		{"an empty summary", goldenRuling, `Six signed requests lie after the revocation; the first refusal named it.`, ``, ruling},
		{"a kind nobody knows", goldenManifest, `"kind":"row"`, `"kind":"raw"`, manifest},
		{"a row without its leaf", goldenManifest, `,"row":3`, ``, manifest},
		{"a reply nobody knows", goldenAnswer, `"deny"`, `"shrug"`, answer},
		{"a trailing byte", goldenAnswer, `"nonce":"ICEiIyQlJicoKSorLC0uLw"}`, `"nonce":"ICEiIyQlJicoKSorLC0uLw"} `, answer},
	} {
		changed := strings.Replace(tt.text, tt.old, tt.new, 1)
		if changed == tt.text {
			t.Fatalf("%s: nothing was changed", tt.name)
		}
		if err := tt.parse([]byte(changed)); !errors.Is(err, ErrForm) {
			t.Errorf("%s: got %v, want ErrForm", tt.name, err)
		}
	}
}

func FuzzBodies(f *testing.F) {
	for _, s := range []string{goldenDispute, goldenAnswer, goldenManifest, goldenSeat, goldenRuling} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte) (any, error){
			func(b []byte) (any, error) { return ParseDispute(b) }, func(b []byte) (any, error) { return ParseAnswer(b) },
			func(b []byte) (any, error) { return ParseManifest(b) }, func(b []byte) (any, error) { return ParseAssignment(b) },
			func(b []byte) (any, error) { return ParseRuling(b) }, func(b []byte) (any, error) { return ParseDocument(b) },
		} {
			v, err := parse(b)
			if err != nil {
				continue
			}
			if back, err := envelope.Marshal(v); err != nil || string(back) != string(b) {
				t.Fatalf("accepted %s, written again %s (%v)", b, back, err)
			}
		}
	})
}
