package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

var (
	ines  = did.MustParse("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")
	quant = did.MustParse("did:key:z6MktbWdAb2yRQrjbmtWAbgLbKVpLwPGcxo5vRjBxKJcJuDz")
	other = did.MustParse("did:key:z6MkfGUUkpxgsb2h532snVUpEcGzgEAGTC9qPvUQuRuJiACi")
)

// typed is what a person says, and drafted what an honest node makes of it.
func typed() httpapi.LoanIssue {
	return httpapi.LoanIssue{Lender: ines.String(), Borrower: quant.String(), Scope: "tag:open", Purpose: "a check", Expires: "720h", MaxReads: 100}
}

func drafted(now time.Time) lending.Permission {
	return lending.Permission{Lender: ines, Kid: "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", Borrower: quant, Scope: lending.MustParse("tag:open"), Purpose: "a check", IssuedAt: envelope.TimeOf(now),
		ExpiresAt: envelope.TimeOf(now).Add(720 * time.Hour), MaxReads: 100, Patterns: []string{"read"}, Revocation: "did:web:acme.example#lending", Nonce: lending.NewNonce()}
}

// lies are drafts that say something else than was typed, by the member that is to be named.
var lies = map[string]func(*lending.Permission){
	"lender":     func(p *lending.Permission) { p.Lender = other },
	"borrower":   func(p *lending.Permission) { p.Borrower = other },
	"scope":      func(p *lending.Permission) { p.Scope = lending.MustParse("any(open,secret)") },
	"purpose":    func(p *lending.Permission) { p.Purpose = "anything" },
	"max_reads":  func(p *lending.Permission) { p.MaxReads = 1_000_000 },
	"expires":    func(p *lending.Permission) { p.ExpiresAt = p.ExpiresAt.Add(time.Hour) },
	"not_before": func(p *lending.Permission) { p.NotBefore = p.IssuedAt.Add(time.Hour) },
	"patterns":   func(p *lending.Permission) { p.Patterns = []string{"discover", "read"} },
	"write_to":   func(p *lending.Permission) { p.WriteTo = []string{"https://evil.example"} },
	"cache_s":    func(p *lending.Permission) { p.CacheS = 86400 },
	"provenance": func(p *lending.Permission) { p.Provenance = "allow" },
	"sublend":    func(p *lending.Permission) { p.Sublend = "ask" },
	"draft":      func(p *lending.Permission) { p.Parent = envelope.IDOf([]byte("another")) },
	"issued_at": func(p *lending.Permission) {
		p.IssuedAt, p.ExpiresAt = p.IssuedAt.Add(1000*time.Hour), p.ExpiresAt.Add(1000*time.Hour)
	},
}

func TestADraftIsHeldToWhatWasTyped(t *testing.T) {
	now := time.Now()
	if err := checkTerms(typed(), drafted(now), now); err != nil {
		t.Fatal(err)
	}
	for what, lie := range lies {
		p := drafted(now)
		lie(&p)
		d := fault.From(checkTerms(typed(), p, now))
		if d.Code != fault.Conflict || d.Reason != what {
			t.Errorf("%s: got %+v", what, d)
		}
	}
	seconds := uint64(60)
	for name, c := range map[string]struct {
		in   func(*httpapi.LoanIssue)
		body func(*lending.Permission)
		want string
	}{
		"all that was asked for": {func(in *httpapi.LoanIssue) {
			in.Patterns, in.NotBefore, in.CacheS, in.Sublend, in.Provenance = []string{"read", "discover", "read"}, "24h", &seconds, "ask", "none"
			in.Expires = now.Add(48 * time.Hour).UTC().Format(time.RFC3339)
		}, func(p *lending.Permission) {
			p.Patterns, p.NotBefore, p.CacheS, p.Sublend = []string{"discover", "read"}, p.IssuedAt.Add(24*time.Hour), 60, "ask"
			p.ExpiresAt = envelope.TimeOf(now.Add(48 * time.Hour))
		}, ""},
		"a request fills in the rest": {func(in *httpapi.LoanIssue) { *in = httpapi.LoanIssue{Request: "r"} }, func(*lending.Permission) {}, ""},
		"a request, and another scope than was typed": {func(in *httpapi.LoanIssue) {
			*in = httpapi.LoanIssue{Request: "r", Scope: "tag:open tag:small"}
		}, func(*lending.Permission) {}, "scope"},
		"a part of a loan, narrower than was typed": {func(in *httpapi.LoanIssue) { in.Request = "r" }, func(p *lending.Permission) {
			p.Parent, p.Scope = envelope.IDOf([]byte("up")), lending.MustParse("tag:open tag:small")
		}, ""},
		"a part of a loan, wider than was typed": {func(in *httpapi.LoanIssue) { in.Request, in.Scope = "r", "tag:open tag:small" }, func(p *lending.Permission) {
			p.Parent = envelope.IDOf([]byte("up"))
		}, "scope"},
	} {
		in, p := typed(), drafted(now)
		c.in(&in)
		c.body(&p)
		err := checkTerms(in, p, now)
		if (err == nil) != (c.want == "") || err != nil && fault.From(err).Reason != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// lyingNode answers what it is told to and counts what else it is asked for.
func lyingNode(t *testing.T, answers map[string]any) (k *caller, beside *int) {
	t.Helper()
	beside = new(int)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := answers[r.URL.Path]
		if !ok {
			*beside++
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
	}))
	t.Cleanup(srv.Close)
	return &caller{api: &httpapi.Client{Base: srv.URL, HTTP: srv.Client()}}, beside
}

// A node that drafts something else than was typed, or names another agent, gets nothing signed.
func TestALyingNodeGetsNothingSigned(t *testing.T) {
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "ines-alone-knows-this")
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.String("data", t.TempDir(), "")
	c := cli.NewContext(nil, flags, nil)
	body := func(change func(*lending.Permission)) httpapi.Loan {
		p := drafted(time.Now())
		change(&p)
		b, err := envelope.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		in := typed() // what it says beside the draft is as it was typed
		return httpapi.Loan{Lender: in.Lender, Borrower: in.Borrower, Scope: in.Scope, Purpose: in.Purpose, MaxReads: in.MaxReads, Body: string(b)}
	}
	for what, lie := range lies {
		k, beside := lyingNode(t, map[string]any{"/api/v1/permissions/preview": body(lie)})
		var errs bytes.Buffer
		_, err := issuePerson(t.Context(), c, &streams{err: &errs}, k, typed())
		if d := fault.From(err); d.Reason != what || *beside != 0 || errs.Len() > 0 {
			t.Errorf("%s: got %v, and it was asked %d more times", what, err, *beside)
		}
	}
	in := typed()
	in.Borrower = "quant"
	k, beside := lyingNode(t, map[string]any{"/api/v1/permissions/preview": body(func(p *lending.Permission) { p.Borrower = other }),
		"/api/v1/agents/quant": httpapi.AgentInfo{Name: "quant", DID: quant.String()}})
	if _, err := issuePerson(t.Context(), c, &streams{err: &bytes.Buffer{}}, k, in); fault.From(err).Reason != "borrower" || *beside != 0 {
		t.Errorf("by name: got %v, and it was asked %d more times", err, *beside)
	}
	// An honest draft is shown as it is to be signed, and then only the key is missing.
	k, _ = lyingNode(t, map[string]any{"/api/v1/permissions/preview": body(func(*lending.Permission) {})})
	var errs bytes.Buffer
	if _, err := issuePerson(t.Context(), c, &streams{err: &errs}, k, typed()); err == nil {
		t.Error("signed without a key")
	}
	for _, want := range []string{ines.String(), quant.String(), "tag:open", "a check", "after 100 reads"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("the terms lack %q:\n%s", want, errs.String())
		}
	}
}
