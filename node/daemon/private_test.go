package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
	"trustnode/node/store"
)

// TestPrivateValuesReachNobodyElse (I-17): what is lent, its tag, the purposes of loan and
// read, the words of a revocation and the bytes of every row are marked. A member without a
// part in it, who holds every log whole, has none of them in either database, nor an unsalted
// hash of one; and none stands in any entry, tile or note of the origin, of which all that
// gossip and sync send is made.
func TestPrivateValuesReachNobodyElse(t *testing.T) {
	x := newTrio(t)
	x.acme.must(http.MethodPost, "/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: "marked-statement", Tags: []string{"client:marked-tag"}}, nil)
	var l httpapi.Loan
	x.acme.must(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: x.quant.DID, Scope: "tag:client:marked-tag",
		Purpose: "marked-loan-purpose", Expires: "24h", MaxReads: 5}, &l)
	var a httpapi.LoanAnswer
	x.vendor.must(http.MethodPost, "/api/v1/loans/read", httpapi.LoanRead{As: "quant", Permission: l.ID, Purpose: "marked-read-purpose"}, &a)
	x.acme.must(http.MethodPost, "/api/v1/permissions/"+l.ID+"/revoke", httpapi.LoanRevoke{Reason: "ended", Text: "marked-reason"}, nil)
	if _, err := x.read(l.ID); err == nil {
		t.Fatal("read after the end")
	}
	marks := map[string]string{"statement": "marked-statement", "tag": "marked-tag", "purpose": "marked-loan-purpose", "purpose of the read": "marked-read-purpose", "reason": "marked-reason"}
	soon(t, "the end at the third", func() bool { _, ok := x.eventOf(x.arbiter, "loan.revoked", l.ID); return ok })

	third := dump(t, x.arbiter.node.state, x.arbiter.node.audit)
	served := dump(t, x.acme.node.audit, nil, "en/", "ti/", "no/")
	private := x.private(t)
	if len(private) < 4 {
		t.Fatalf("%d private bodies and rows", len(private))
	}
	for i, b := range private {
		marks["private bytes "+string(rune('a'+i))] = b
	}
	for name, m := range marks {
		if x.acme.finds(m) == nil && name != "reason" {
			t.Errorf("%s is not even at its origin", name)
		}
		for _, form := range forms(m, !strings.HasPrefix(name, "private")) {
			if bytes.Contains(third, []byte(form)) {
				t.Errorf("%s is at a member without a part in it", name)
			}
			if bytes.Contains(served, []byte(form)) {
				t.Errorf("%s is in an entry, tile or note", name)
			}
		}
	}
}

// forms are a value and its unsalted hashes, as they may be written. What has a salt of its
// own may be named by its hash.
func forms(m string, hashes bool) []string {
	out := []string{m, base64.StdEncoding.EncodeToString([]byte(m)), base64.RawURLEncoding.EncodeToString([]byte(m))}
	if !hashes {
		return out[:1]
	}
	sum := sha256.Sum256([]byte(m))
	return append(out, string(sum[:]), hex.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:]), envelope.IDOf([]byte(m)).String())
}

// dump is all of some databases, or what lies under some prefixes of one.
func dump(t *testing.T, a, b store.DB, prefixes ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, db := range []store.DB{a, b} {
		for _, p := range prefixes {
			if db == nil {
				continue
			}
			err := db.View(t.Context(), func(r store.Reader) error {
				return r.Scan([]byte(p), nil, func(k, v []byte) bool {
					out.Write(k)
					out.Write(v)
					return true
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.Bytes()
}

// private lists the bytes of acme's rows and of the private bodies of its events.
func (x trio) private(t *testing.T) (out []string) {
	t.Helper()
	err := x.acme.node.audit.View(t.Context(), func(r store.Reader) error {
		return r.Scan([]byte("row/"), nil, func(_, v []byte) bool {
			row, err := store.DecodeRow(v)
			if err != nil {
				t.Error(err)
			}
			out = append(out, string(row.Body))
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range x.acme.node.self.Rec.Facts(t.Context(), attestation.Query{Org: x.acme.cfg.Org}) {
		if err != nil {
			t.Fatal(err)
		}
		if rule, ok := attestation.RuleOf(f.Event.Body().Type); ok && f.Body != nil && rule.Readers != attestation.ReadersPublic {
			out = append(out, string(f.Body))
		}
	}
	return out
}
