package party_test

import (
	"context"
	"testing"
	"time"

	"trustnode/did/keyring"
	"trustnode/mediation"
	"trustnode/node/casefile"
	"trustnode/node/party"
	"trustnode/node/party/partytest"
)

// world is a federation of three with a loan that was read after its end, n times.
type world struct {
	*partytest.World
	acme, vendor, arbiter *partytest.Org
	party                 map[*partytest.Org]*party.Party
	research, quant       partytest.Agent
	loan                  partytest.Loan
}

func newWorld(t *testing.T, n int) *world {
	t.Helper()
	return dress(partytest.New(t), n)
}

func dress(w *partytest.World, n int) *world {
	x := &world{World: w, acme: w.Org("acme"), vendor: w.Org("vendor"), arbiter: w.Org("arbiter"), party: map[*partytest.Org]*party.Party{}}
	for _, o := range w.Orgs {
		x.party[o] = party.New(o.Node)
		o.Keep = x.party[o].Keep
	}
	x.research = x.acme.Agent("research", keyring.Lend)
	x.quant = x.vendor.Agent("quant", keyring.Borrow)
	x.loan = w.ReadAfterEnd(x.research, x.quant, n)
	return x
}

func (w *world) file(t *testing.T) party.View {
	t.Helper()
	v, err := w.party[w.acme].File(t.Context(), party.Filing{Loan: w.loan.ID.String(), Reason: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// story is filed, answered and ruled.
func (w *world) story(t *testing.T) party.View {
	t.Helper()
	v := w.file(t)
	id := v.Case.ID.String()
	if _, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true, Text: "retry loop, fixed"}); err != nil {
		t.Fatal(err)
	}
	v, err := w.party[w.arbiter].Rule(t.Context(), id, party.Verdict{Outcome: "claimant", Severity: 30, Reasons: "read attempted after revocation"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheWholeStory(t *testing.T) {
	w := newWorld(t, 1)
	ctx := t.Context()
	filed := w.file(t)
	if filed.Case.State != mediation.Filed || filed.Role != party.Claimant || filed.Unsure != "" {
		t.Fatalf("filed: state %s, role %s, unsure %q", filed.Case.State, filed.Role, filed.Unsure)
	}
	if r := filed.Report.Claims[0]; r.Finding != "proven" || r.Acts != 1 || len(filed.Report.Items) != 4 {
		t.Fatalf("the evidence shows %+v; items %+v", r, filed.Report.Items)
	}
	id := filed.Case.ID.String()
	list, err := w.party[w.arbiter].List(ctx)
	if err != nil || len(list) != 1 || list[0].Case.ID != filed.Case.ID {
		t.Fatalf("the arbiter lists %+v, %v", list, err)
	}
	shown, err := w.party[w.arbiter].Show(ctx, id)
	if err != nil || shown.Role != party.Observer || shown.Report.Claims[0].Finding != "proven" {
		t.Fatalf("the arbiter is shown role %s, %+v, unsure %q, %v", shown.Role, shown.Report, shown.Unsure, err)
	}
	answered, err := w.party[w.vendor].Answer(ctx, id, party.Reply{Deny: true, Text: "retry loop, fixed"})
	if err != nil || answered.Case.State != mediation.Drawing || answered.Case.Candidate != w.arbiter.Node.Org {
		t.Fatalf("answered: %s, seat of %s, %v", answered.Case.State, answered.Case.Candidate, err)
	}
	ruled, err := w.party[w.arbiter].Rule(ctx, id, party.Verdict{Outcome: "claimant", Severity: 30, Reasons: "read attempted after revocation"})
	if err != nil {
		t.Fatal(err)
	}
	d := ruled.Case.Decision
	if ruled.Case.State != mediation.Ruled || d.Omitted || d.Claims[0].Severity != 30_000 || d.Claims[0].Acts != 1 || len(d.Remedies) != 1 {
		t.Fatalf("ruled: %s, %+v", ruled.Case.State, d)
	}
	if ruled.Answer != "retry loop, fixed" || ruled.Reasons != "read attempted after revocation" {
		t.Fatalf("the arbiter reads answer %q, reasons %q", ruled.Answer, ruled.Reasons)
	}
	for _, o := range []*partytest.Org{w.acme, w.vendor} {
		v, err := w.party[o].Show(ctx, id)
		if err != nil || v.Case.State != mediation.Ruled || v.Answer != "retry loop, fixed" || v.Reasons != "read attempted after revocation" {
			t.Errorf("%s sees %s, answer %q, reasons %q, %v", o.Name, v.Case.State, v.Answer, v.Reasons, err)
		}
	}
	b, err := w.party[w.arbiter].Export(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	_, c, rep, err := casefile.Open(context.Background(), b, casefile.Options{})
	if err != nil || c.State != mediation.Ruled || rep.Claims[0].Finding != "proven" {
		t.Fatalf("the file says %s, %+v, %v", c.State, rep.Claims, err)
	}
	w.Advance(9 * 24 * time.Hour)
	if v, err := w.party[w.vendor].Show(ctx, id); err != nil || v.Case.State != mediation.Final {
		t.Errorf("after the time to appeal: %s, %v", v.Case.State, err)
	}
}

// settle waits until everybody holds everything that anybody said, seen by all.
func (w *world) settle(t *testing.T) {
	t.Helper()
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}
