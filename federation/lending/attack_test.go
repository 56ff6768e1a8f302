package lending

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

// full returns one valid body of each type with every optional member set.
func full(t testing.TB) (Permission, ReadRequest, LoanRequest, Receipt, Revocation) {
	t.Helper()
	id := mustID(goldenRow)
	p := body[Permission](t, "permission")
	p.CacheS, p.CostCap, p.Terms, p.NotBefore = 60, &Money{"100", "USDC", "eip155:8453"}, id, p.IssuedAt
	p.Pact, p.Parent, p.Provenance, p.Sublend = id, id, ProvenanceAllow, SublendAsk
	p.Patterns, p.WriteTo = []string{"discover", "downstream_write", "read"}, []string{"lender:inbox"}
	rq := body[ReadRequest](t, "readrequest")
	rq.Filter, rq.Cursor = MustParse("tag:berth:7"), "abc"
	lr := LoanRequest{
		At: rq.At, Aud: lender, Borrower: borrower, CostCap: p.CostCap, ExpiresAt: p.ExpiresAt, For: stranger, InReplyTo: id, Kid: "key-1",
		MaxReads: 5, Nonce: salt(1), Parent: id, Patterns: []string{"read"}, Purpose: "plan", Scope: MustParse("tag:a"),
	}
	rc := body[Receipt](t, "receipt")
	rc.Cost, rc.CacheUntil = "12", rc.At.Add(1e9)
	return p, rq, lr, rc, body[Revocation](t, "revocation")
}

func TestAttackPermission(t *testing.T)  { p, _, _, _, _ := full(t); attack(t, p, lenderKey) }
func TestAttackReadRequest(t *testing.T) { _, r, _, _, _ := full(t); attack(t, r, borrowerKey) }
func TestAttackLoanRequest(t *testing.T) { _, _, r, _, _ := full(t); attack(t, r, borrowerKey) }
func TestAttackReceipt(t *testing.T)     { _, _, _, r, _ := full(t); attack(t, r, lenderKey) }
func TestAttackRevocation(t *testing.T)  { _, _, _, _, r := full(t); attack(t, r, lenderKey) }

// attack changes each member of a body in every way that two readers could
// take differently. Under the old signature nothing opens; signed anew by its
// own signer, what has no valid form is refused by name.
func attack[T envelope.Body](t *testing.T, b T, by envelope.Signer) {
	t.Helper()
	e, err := envelope.Seal(context.Background(), b, by)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envelope.Open[T](context.Background(), e, keys); err != nil {
		t.Fatalf("unchanged: %v", err)
	}
	for _, m := range parts(t, e.Body) {
		val := string(m.val)
		cases := []struct{ name, to string }{
			{"twice", m.text(m.key, val) + "," + m.text(m.key, val)},
			{"upper case", m.text(strings.ToUpper(m.key), val)},
			{"first letter upper case", m.text(strings.ToUpper(m.key[:1])+m.key[1:], val)},
			{"an unknown neighbour", m.text(m.key, val) + "," + m.text(m.key+"_x", val)},
			{"null", m.text(m.key, "null")},
			{"a number with a fraction", m.text(m.key, "1.5")},
			{"an object", m.text(m.key, `{"x":1}`)},
			{"an empty text", m.text(m.key, `""`)},
			{"a text with a control character", m.text(m.key, `"\u0000"`)},
		}
		for _, c := range cases {
			bad := bytes.Replace(e.Body, []byte(m.text(m.key, val)), []byte(c.to), 1)
			refusedForm[T](t, m.key+" as "+c.name, envelope.Envelope{Type: e.Type, Body: bad}, m.key, by)
		}
		for i := range m.val { // each byte of the value, under the old signature
			bad := bytes.Clone(e.Body)
			bad[m.at+i] ^= 1
			if v, err := envelope.Open[T](context.Background(), envelope.Envelope{Type: e.Type, Body: bad, Signatures: e.Signatures}, keys); err == nil {
				t.Errorf("%s: byte %d flipped: opened as %v", m.key, i, v.Body())
			}
		}
	}
	for _, tail := range []string{" ", "\n", "{}", "\x00"} {
		refusedForm[T](t, "bytes after it", envelope.Envelope{Type: e.Type, Body: append(bytes.Clone(e.Body), tail...)}, "", by)
	}
	refusedForm[T](t, "a byte order mark", envelope.Envelope{Type: e.Type, Body: append([]byte("\ufeff"), e.Body...)}, "", by)
	other := strangerKey
	if sig, err := other.Sign(context.Background(), e.Preimage()); err != nil {
		t.Fatal(err)
	} else if _, err := envelope.Open[T](context.Background(), envelope.Envelope{Type: e.Type, Body: e.Body, Signatures: []envelope.Signature{{KeyID: "key-1", Sig: sig}}}, keys); !errors.Is(err, envelope.ErrSignature) {
		t.Errorf("signed by somebody else: got %v", err)
	}
}

// refusedForm signs a body that its signer should not have signed, and wants a
// *envelope.FormError that names the member.
func refusedForm[T envelope.Body](t *testing.T, name string, e envelope.Envelope, member string, by envelope.Signer) {
	t.Helper()
	sig, err := by.Sign(context.Background(), e.Preimage())
	if err != nil {
		t.Fatal(err)
	}
	v, err := envelope.Open[T](context.Background(), e.With(envelope.Signature{KeyID: "key-1", Sig: sig}), keys)
	var f *envelope.FormError
	if err == nil {
		t.Errorf("%s: opened as %+v", name, v.Body())
	} else if !errors.As(err, &f) || !strings.HasPrefix(strings.ToLower(f.Path), member) {
		t.Errorf("%s: got %v, want a refusal that names %s", name, err, member)
	}
}

// part is one top-level member of a canonical body.
type part struct {
	key string
	val []byte
	at  int // where the value begins in the body
}

func (m part) text(key, val string) string { return fmt.Sprintf("%q:%s", key, val) }

func parts(t *testing.T, b []byte) []part {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	var out []part
	for k, v := range raw {
		m := part{key: k, val: v}
		if m.at = bytes.Index(b, []byte(m.text(k, string(v)))) + len(k) + 3; m.at < len(k)+3 {
			t.Fatalf("member %s not found", k)
		}
		out = append(out, m)
	}
	return out
}

// One object is never taken for another: their types differ, and are signed.
func TestAttackTypes(t *testing.T) {
	p, rq, _, rc, rv := full(t)
	ctx := context.Background()
	pe, _ := envelope.Seal(ctx, p, lenderKey)
	rqe, _ := envelope.Seal(ctx, rq, borrowerKey)
	rce, _ := envelope.Seal(ctx, rc, lenderKey)
	rve, _ := envelope.Seal(ctx, rv, lenderKey)
	for name, err := range map[string]error{
		"a receipt as permission":      openAs[Permission](rce),
		"a permission as receipt":      openAs[Receipt](pe),
		"a request as receipt":         openAs[Receipt](rqe),
		"a revocation as permission":   openAs[Permission](rve),
		"a permission as revocation":   openAs[Revocation](pe),
		"a receipt as request":         openAs[ReadRequest](rce),
		"a read request as a loan one": openAs[LoanRequest](rqe),
	} {
		var typ *envelope.TypeError
		if !errors.As(err, &typ) {
			t.Errorf("%s: got %v, want a type error", name, err)
		}
	}
	rqe.Type = ReceiptType
	if err := openAs[Receipt](rqe); err == nil {
		t.Error("a request relabelled as receipt opens")
	}
}

func openAs[T envelope.Body](e envelope.Envelope) error {
	_, err := envelope.Open[T](context.Background(), e, keys)
	return err
}

// Every rule of form that a decoder cannot know.
func TestCheckRefuses(t *testing.T) {
	long := strings.Repeat("x", 201)
	p, rq, lr, rc, rv := full(t)

	for _, c := range []struct {
		name, path string
		body       func() envelope.Body
	}{
		{"a kid of no bytes", "kid", func() envelope.Body { b := p; b.Kid = ""; return b }},
		{"a purpose of 201 bytes", "purpose", func() envelope.Body { b := p; b.Purpose = long; return b }},
		{"no purpose", "purpose", func() envelope.Body { b := p; b.Purpose = ""; return b }},
		{"no reads", "max_reads", func() envelope.Body { b := p; b.MaxReads = 0; return b }},
		{"no patterns", "patterns", func() envelope.Body { b := p; b.Patterns = nil; return b }},
		{"patterns out of order", "patterns", func() envelope.Body { b := p; b.Patterns = []string{"read", "discover"}; return b }},
		{"a pattern twice", "patterns", func() envelope.Body { b := p; b.Patterns = []string{"read", "read"}; return b }},
		{"a pattern that is not known", "patterns", func() envelope.Body { b := p; b.Patterns = []string{"write"}; return b }},
		{"an end at issue", "expires_at", func() envelope.Body { b := p; b.ExpiresAt = b.IssuedAt; return b }},
		{"a beginning at the end", "not_before", func() envelope.Body { b := p; b.NotBefore = b.ExpiresAt; return b }},
		{"caching over a day", "cache_s", func() envelope.Body { b := p; b.CacheS = MaxCacheS + 1; return b }},
		{"a cost cap without terms", "cost_cap", func() envelope.Body { b := p; b.Terms = envelope.ID{}; return b }},
		{"a cost cap with a fraction", "cost_cap.amount", func() envelope.Body { b := p; b.CostCap = &Money{"1.5", "USDC", ""}; return b }},
		{"a cost cap with a leading zero", "cost_cap.amount", func() envelope.Body { b := p; b.CostCap = &Money{"01", "USDC", ""}; return b }},
		{"a cost cap of no asset", "cost_cap.asset", func() envelope.Body { b := p; b.CostCap = &Money{"1", "", ""}; return b }},
		{"an unknown provenance", "provenance", func() envelope.Body { b := p; b.Provenance = "deny"; return b }},
		{"an unknown sublend", "sublend", func() envelope.Body { b := p; b.Sublend = "allow"; return b }},
		{"five destinations", "write_to", func() envelope.Body { b := p; b.WriteTo = []string{"a", "b", "c", "d", "e"}; return b }},
		{"destinations out of order", "write_to", func() envelope.Body { b := p; b.WriteTo = []string{"b", "a"}; return b }},
		{"destinations without the pattern", "write_to", func() envelope.Body { b := p; b.Patterns = []string{"read"}; return b }},
		{"revocation over http", "revocation", func() envelope.Body { b := p; b.Revocation = "http://harbor.example/x"; return b }},
		{"revocation with a query", "revocation", func() envelope.Body { b := p; b.Revocation = "https://harbor.example/x?y"; return b }},
		{"revocation with a user", "revocation", func() envelope.Body { b := p; b.Revocation = "https://u@harbor.example/x"; return b }},
		{"revocation with a slash at its end", "revocation", func() envelope.Body { b := p; b.Revocation = "https://harbor.example/"; return b }},
		{"revocation with another spelling", "revocation", func() envelope.Body { b := p; b.Revocation = "HTTPS://harbor.example/x"; return b }},
		{"revocation at a DID", "revocation", func() envelope.Body { b := p; b.Revocation = "did:web:harbor.example"; return b }},
		{"revocation at another service", "revocation", func() envelope.Body { b := p; b.Revocation = "did:web:harbor.example#witness"; return b }},
		{"revocation at a path of a DID", "revocation", func() envelope.Body { b := p; b.Revocation = "did:web:harbor.example/x#lending"; return b }},
		{"an unknown op", "op", func() envelope.Body { b := rq; b.Op = "Read"; return b }},
		{"a limit of 101", "limit", func() envelope.Body { b := rq; b.Limit = 101; return b }},
		{"a query of 257 bytes", "query", func() envelope.Body { b := rq; b.Cursor, b.Query = "", strings.Repeat("q", 257); return b }},
		{"a cursor into a ranked answer", "cursor", func() envelope.Body { b := rq; b.Query = "q"; return b }},
		{"a filter on a status", "filter", func() envelope.Body { b := rq; b.Op, b.Limit, b.Cursor = OpStatus, 0, ""; return b }},
		{"a limit on a status", "limit", func() envelope.Body { b := rq; b.Op = OpStatus; return b }},
		{"a wish of no reads", "max_reads", func() envelope.Body { b := lr; b.MaxReads = 0; return b }},
		{"a wish without purpose", "purpose", func() envelope.Body { b := lr; b.Purpose = ""; return b }},
		{"a wish that ended", "expires_at", func() envelope.Body { b := lr; b.ExpiresAt = b.At; return b }},
		{"a third agent without parent", "for", func() envelope.Body { b := lr; b.Parent = envelope.ID{}; return b }},
		{"a parent without third agent", "for", func() envelope.Body { b := lr; b.For = did.DID{}; return b }},
		{"a receipt of an unknown state", "state", func() envelope.Body { b := rc; b.State = "ok"; return b }},
		{"a granted receipt of two", "count", func() envelope.Body { b := rc; b.Count = 2; return b }},
		{"a granted receipt of an ended permission", "state", func() envelope.Body { b := rc; b.State = Revoked; return b }},
		{"a granted receipt without hash", "hash", func() envelope.Body { b := rc; b.Hash = envelope.ID{}; return b }},
		{"a granted receipt without row", "row", func() envelope.Body { b := rc; b.Row = envelope.ID{}; return b }},
		{"a granted receipt of number zero", "seq", func() envelope.Body { b := rc; b.Seq = 0; return b }},
		{"a granted status", "count", func() envelope.Body { b := rc; b.Op = OpStatus; return b }},
		{"a valid read that granted nothing", "count", func() envelope.Body {
			b := rc
			b.Count, b.Hash, b.Cost, b.CacheUntil = 0, envelope.ID{}, "", envelope.Time{}
			return b
		}},
		{"a denied receipt with a hash", "hash", func() envelope.Body { b := rc; b.Count, b.State = 0, Revoked; return b }},
		{"a denied receipt without row", "row", func() envelope.Body {
			b := rc
			b.Count, b.State, b.Hash, b.Cost, b.CacheUntil, b.Row = 0, Revoked, envelope.ID{}, "", envelope.Time{}, envelope.ID{}
			return b
		}},
		{"a status with a row", "row", func() envelope.Body {
			b := rc
			b.Op, b.Count, b.Hash, b.Cost, b.CacheUntil = OpStatus, 0, envelope.ID{}, "", envelope.Time{}
			return b
		}},
		{"a cost with a sign", "cost", func() envelope.Body { b := rc; b.Cost = "-1"; return b }},
		{"a revocation for an unknown reason", "reason", func() envelope.Body { b := rv; b.Reason = "because"; return b }},
		{"a revocation of an unknown kind", "target_kind", func() envelope.Body { b := rv; b.TargetKind = "pact"; return b }},
		{"a revocation of no id", "target", func() envelope.Body { b := rv; b.Target = "did:web:line.example"; return b }},
		{"a revocation of no DID", "target", func() envelope.Body { b := rv; b.TargetKind = TargetBorrower; return b }},
	} {
		var f *envelope.FormError
		if err := c.body().Check(); !errors.As(err, &f) || f.Path != c.path {
			t.Errorf("%s: got %v, want a refusal of %s", c.name, err, c.path)
		}
	}
}

// object writes members in the order of their keys, as they are.
func object(members map[string]json.RawMessage) []byte {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(members)) {
		out = append(out, fmt.Sprintf("%q:%s", k, members[k]))
	}
	return []byte("{" + strings.Join(out, ",") + "}")
}

// A default is never written: absent has one spelling.
func TestAbsentHasOneSpelling(t *testing.T) {
	for _, c := range []struct{ name, file, add string }{
		{"caching of zero seconds", "permission", `"cache_s":0`},
		{"no cost cap", "permission", `"cost_cap":null`},
		{"no destinations", "permission", `"write_to":[]`},
		{"no provenance", "permission", `"provenance":""`},
		{"no pact", "permission", `"pact":""`},
		{"no cursor", "readrequest", `"cursor":""`},
		{"no filter", "readrequest", `"filter":""`},
		{"no cost", "receipt", `"cost":""`},
	} {
		var kept map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+c.add+","+string(read(t, c.file)[1:])), &kept); err != nil {
			t.Fatal(err)
		}
		b := object(kept)
		var f *envelope.FormError
		name := strings.Trim(c.add[:strings.Index(c.add, ":")], `"`)
		for file, err := range map[string]error{"permission": envelope.Unmarshal(b, new(Permission)), "readrequest": envelope.Unmarshal(b, new(ReadRequest)), "receipt": envelope.Unmarshal(b, new(Receipt))} {
			if file == c.file && (!errors.As(err, &f) || f.Path != name) {
				t.Errorf("%s: got %v, want a refusal of %s", c.name, err, name)
			}
		}
	}
	loose := bytes.Replace(read(t, "permission"), []byte("tag:terminal:north -tag:customs:hold"), []byte("-tag:customs:hold tag:terminal:north"), 1)
	if err := envelope.Unmarshal(loose, new(Permission)); err == nil || !strings.Contains(err.Error(), "canonical") {
		t.Errorf("a scope in another order: got %v", err)
	}
}
