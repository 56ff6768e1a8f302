package lender

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// The story of a loan as its lender sees it, from the file to the denied read.
func TestStory(t *testing.T) {
	k := memoryKit(t)
	file := `{"type":"entity","name":"Northwind","entityType":"client","observations":["Churn is 4 %.","Renewal in May."]}` + "\nnot json\n"
	rep, err := k.Import(t.Context(), ImportInput{Agent: "research", Project: folio, Format: "mcp", File: strings.NewReader(file)})
	if err != nil || rep.Imported != 2 || len(rep.Rejected) != 1 || rep.Rejected[0].Line != 2 {
		t.Fatalf("import: got %+v, %v", rep, err)
	}
	tagged, err := k.Tag(t.Context(), TagInput{Project: folio, All: true, Add: []string{"client:acme"}, Release: true})
	if err != nil || tagged != (Tagged{Changed: 2, Released: 2}) {
		t.Fatalf("tag: got %+v, %v", tagged, err)
	}
	loan := k.issue(t, 5)
	if loan.Permission.Scope.String() != "tag:client:acme -tag:confidential age<90d" || loan.Matches != 2 || loan.State != lending.Valid || loan.Left != 5 {
		t.Errorf("issue: got %+v", loan)
	}
	wantTexts(t, "hygiene", loan.Hygiene, "H10", "H3")
	a, r := k.mustRead(t, k.request(t, loan))
	if r.Seq != 1 || r.Left != 4 || r.Hash != a.Hash() || r.State != lending.Valid {
		t.Errorf("receipt: got %+v", r)
	}
	if got := statements(t, a); len(got) != 2 {
		t.Errorf("entries: got %v", got)
	}
	k.add(t, "Churn is 9 %.", "client:acme", "confidential")
	k.add(t, "Churn is 5 %.", "client:acme")
	a, _ = k.mustRead(t, k.request(t, loan))
	if got := statements(t, a); len(got) != 3 || strings.Contains(strings.Join(got, " "), "9 %") {
		t.Errorf("entries after two more: got %v", got)
	}
	end, err := k.Revoke(t.Context(), loan.Compact, "ended", "thank you")
	if err != nil || end.Loan != loan.ID || end.Reads != 2 {
		t.Fatalf("revoke: got %+v, %v", end, err)
	}
	_, _, err = k.read(t.Context(), k.request(t, loan))
	d := refusedWith(t, err, fault.Revoked, "ended")
	if d.Hint == "" || !d.Verified || d.Perm != loan.ID {
		t.Errorf("refusal: got %+v", d)
	}
	if r, err := k.receipt(t.Context(), d.Receipt); err != nil || r.State != lending.Revoked || r.Seq != 2 || r.Left != 3 {
		t.Errorf("receipt of the refusal: got %+v, %v", r, err)
	}
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "read granted 2", "revoke ended", "read denied revoked ended")
	checkAudit(t, k, loan, end)
}

func checkAudit(t *testing.T, k *kit, loan Loan, end Revoked) {
	t.Helper()
	a, err := k.Audit(t.Context(), loan.ID.String())
	if err != nil || a.Granted != 2 || !a.GapFree {
		t.Fatalf("audit: got %+v, %v", a, err)
	}
	if l, err := k.Loan(t.Context(), loan.ID.String()); err != nil || l.State != lending.Revoked || l.Revocation != end.ID {
		t.Fatalf("the loan: got %+v, %v", l, err)
	}
	for _, r := range a.Rows {
		if !r.Bound || r.N == 0 {
			t.Errorf("row %s is not in the log: %+v", r.ID, r)
		}
	}
	wantTexts(t, "events", k.acme.Events(t, loan.ID.String()), "loan.issued", "loan.revoked", "loan.ended", "loan.violation")
	for f, err := range k.acme.Rec.Facts(t.Context(), attestation.Query{Subject: loan.ID.String()}) {
		if err != nil || len(f.Body) == 0 {
			t.Fatalf("%v, body %q", err, f.Body)
		}
		id := f.Event.Body().Body
		if err := k.acme.Lib.MayRead(t.Context(), k.vendor.Org, id); err != nil {
			t.Errorf("%s: the borrower's organization may not read its body: %v", f.Event.Body().Type, err)
		}
		if err := k.acme.Lib.MayRead(t.Context(), k.w.Nodes[2].Org, id); err == nil {
			t.Errorf("%s: a third organization may read its body", f.Event.Body().Type)
		}
		if f.Event.Body().Type == "loan.revoked" && !strings.Contains(string(f.Body), `"reason_text":"thank you"`) {
			t.Errorf("loan.revoked says %s", f.Body)
		}
	}
}

func TestRevokeAgain(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 5)
	first, err := k.Revoke(t.Context(), loan.ID.String(), "misuse", "")
	if err != nil {
		t.Fatal(err)
	}
	k.w.Clock.Add(time.Hour)
	again, err := k.Revoke(t.Context(), loan.ID.String(), "mistake", "no")
	if err != nil || again != first {
		t.Errorf("got %+v, %v, want the first, %+v", again, err, first)
	}
	if _, err := k.Revoke(t.Context(), loan.ID.String(), "boredom", ""); err == nil {
		t.Error("an unknown reason was taken")
	}
	other := k.wish(5)
	if _, err := k.Revoke(t.Context(), other.Borrower, "ended", ""); fault.Of(err) != fault.Invalid {
		t.Errorf("a DID for a loan: got %v", err)
	}
	wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "revoke misuse")
	wantTexts(t, "events", k.acme.Events(t, loan.ID.String()), "loan.issued", "loan.revoked", "loan.ended")
}

func TestPlaces(t *testing.T) {
	k := memoryKit(t)
	ctx := t.Context()
	add := func(agent, project string) error {
		_, err := k.AddEntry(ctx, AddInput{Agent: agent, Project: project, Statement: "x"})
		return err
	}
	refusedWith(t, add("research", ""), fault.Invalid, "no_place")
	if _, err := k.Issue(ctx, k.wish(1)); fault.From(err).Reason != "no_place" {
		t.Errorf("a loan without a place: got %v", err)
	}
	if err := add("research", "north"); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, add("research", "south"), fault.Refused, "other_project")
	if err := add("research", ""); err != nil {
		t.Error(err)
	}
	refusedWith(t, add("nobody", "north"), fault.NotFound, "agent")
	refusedWith(t, add(k.quant.String(), "north"), fault.NotFound, "agent")
	_, err := k.Import(ctx, ImportInput{Agent: "research", Project: "South", Format: "mcp", File: strings.NewReader("")})
	refusedWith(t, err, fault.Refused, "other_project")
	_, err = k.Entries(ctx, ListInput{})
	refusedWith(t, err, fault.Invalid, "no_place")
	l, err := k.Entries(ctx, ListInput{Project: "north", Limit: 1})
	if err != nil || l.Total != 2 || len(l.Entries) != 1 || l.Entries[0].State != memory.Active {
		t.Errorf("list: got %+v, %v", l, err)
	}
	if l, err = k.Entries(ctx, ListInput{Project: "south"}); err != nil || l.Total != 0 {
		t.Errorf("list of another project: got %+v, %v", l, err)
	}
}
