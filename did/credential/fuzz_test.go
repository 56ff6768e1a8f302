package credential_test

import (
	"testing"

	"trustnode/did/credential"
)

// FuzzVerify knows what was signed under the keys it resolves: whatever is accepted says nothing else.
func FuzzVerify(f *testing.F) {
	org := acme(f)
	agent := exported(f, org)
	foreign := secure(f, document, options, key1)
	for _, raw := range [][]byte{agent, foreign} {
		f.Add(raw)
	}
	f.Add([]byte(twice(f, string(foreign))))
	f.Add([]byte(swap(f, string(foreign), contexts, swap(f, contexts, "]", `,{"x":1}]`))))
	f.Add([]byte("eyJhbGciOiJub25lIn0.e30."))
	for _, name := range []string{
		"eddsa-jcs-2022/signedJCS.json", "Ed25519Signature2020/signedEdSig.json", "eddsa-rdfc-2022/signedDataInt.json",
		"proof-set-chain/signedProofSet2.json", "unsigned.json",
	} {
		f.Add(vector(f, name))
	}
	wantAgent, wantForeign := string(canonical(f, parsed(f, string(agent)).Without("proof"))), string(canonical(f, parsed(f, document)))
	fromLog, w := fromLog(org, now), &world{}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, o := range []credential.Options{fromLog, {Resolve: w.resolve(t), At: now}} {
			r, err := credential.Verify(t.Context(), raw, o)
			if err == nil {
				if got := string(r.Document.Raw()); got != wantAgent && got != wantForeign {
					t.Fatalf("accepted %s\nas %s", raw, got)
				}
				continue
			}
			if r.Kid != "" || len(r.Evidence) > 0 {
				t.Fatalf("a result beside %v: %+v", err, r)
			}
		}
	})
}
