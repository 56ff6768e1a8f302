package client

import (
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/notice"
)

// seen lists the own loan.end_seen of a loan: whether each was verified.
func (k *kit) seen(t testing.TB, perm envelope.ID) (out []bool) {
	t.Helper()
	if err := k.vendor.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for f, err := range k.vendor.Rec.Facts(t.Context(), attestation.Query{Org: k.vendor.Org, Type: "loan.end_seen", Subject: perm.String()}) {
		var d attestation.LoanEndSeen
		if err != nil || f.Event.Body().Decode(&d) != nil {
			t.Fatal(err)
		}
		out = append(out, d.Verified)
	}
	return out
}

func (k *kit) mustHear(t testing.TB) {
	t.Helper()
	for range 2 { // a second look changes nothing
		if err := k.hear(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// An end is heard without a read, once; the next read asks the lender, and what that signs
// is said as well.
func TestEndsAreHeard(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(t *testing.T, k *kit, l envelope.ID)
		state lending.PermState
		code  fault.Code
	}{
		{"the loan is revoked", func(t *testing.T, k *kit, l envelope.ID) {
			if _, err := k.lender.Revoke(t.Context(), l.String(), "ended", ""); err != nil {
				t.Fatal(err)
			}
		}, lending.Revoked, fault.Revoked},
		{"the agent is revoked", func(t *testing.T, k *kit, _ envelope.ID) {
			if _, err := k.lender.RevokeBorrower(t.Context(), k.quant.String(), "ended", ""); err != nil {
				t.Fatal(err)
			}
		}, lending.Revoked, fault.Revoked},
		{"the organization is revoked", func(t *testing.T, k *kit, _ envelope.ID) {
			if _, err := k.lender.RevokeBorrower(t.Context(), k.vendor.Org.String(), "ended", ""); err != nil {
				t.Fatal(err)
			}
		}, lending.Revoked, fault.Revoked},
		{"its time is up", func(_ *testing.T, k *kit, _ envelope.ID) { k.w.Clock.Add(time.Hour) }, lending.Expired, fault.Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKit(t)
			loan, err := k.lender.Issue(t.Context(), lender.IssueInput{Lender: "research", Borrower: k.quant.String(), Scope: "tag:client:acme", Purpose: "S7", Expires: "1h", MaxReads: 5})
			if err != nil {
				t.Fatal(err)
			}
			k.mustRead(t, loan.Compact)
			k.pull()
			k.mustHear(t)
			if len(k.ended) != 0 {
				t.Fatalf("told of %+v before the end", k.ended)
			}
			c.end(t, k, loan.ID)
			if err := k.acme.Rec.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.pull()
			k.mustHear(t)
			if len(k.ended) != 1 || k.ended[0].Perm != loan.ID || k.ended[0].State != c.state || !k.ended[0].Receipt.IsZero() {
				t.Fatalf("told of %+v", k.ended)
			}
			if l, err := k.Loan(t.Context(), loan.ID.String()); err != nil || l.State != c.state {
				t.Errorf("listed as %s, %v", l.State, err)
			}
			if got := k.seen(t, loan.ID); !slices.Equal(got, []bool{false}) {
				t.Errorf("said %v, want one that is not verified", got)
			}
			k.noticed(t, loan.ID, c.state, 1)
			asked := len(k.wire.frames)
			k.refused(t, loan.Compact, c.code, true)
			if len(k.wire.frames) != asked+1 {
				t.Error("the lender was not asked")
			}
			if got := k.seen(t, loan.ID); !slices.Equal(got, []bool{false, true}) {
				t.Errorf("said %v, want a verified one too", got)
			}
			k.mustHear(t)
			if len(k.ended) != 2 || k.ended[1].Receipt.IsZero() {
				t.Errorf("told of %+v", k.ended)
			}
			k.noticed(t, loan.ID, c.state, 0) // acknowledged, and nothing new since
		})
	}
}

// An end that only an answer told is one notice, too.
func TestSignedEndIsNoticed(t *testing.T) {
	k := newKit(t)
	l := k.issue(t, 5)
	k.mustRead(t, l.Compact)
	k.revoke(t, l)
	for range 2 {
		k.refused(t, l.Compact, fault.Revoked, true)
	}
	k.noticed(t, l.ID, lending.Revoked, 1)
}

// noticed wants so many notices that a loan has ended, and acknowledges them.
func (k *kit) noticed(t testing.TB, perm envelope.ID, state lending.PermState, want int) {
	t.Helper()
	ns, err := notice.List(t.Context(), k.vendor.DB)
	if err != nil || len(ns) != want {
		t.Fatalf("got notices %+v, %v, want %d", ns, err, want)
	}
	for _, n := range ns {
		level := notice.Info
		if state == lending.Revoked {
			level = notice.Warn
		}
		if n.What != "loan_ended" || n.Ref != perm.String() || n.Level != level || n.Hint == "" || !strings.Contains(n.Detail, "loan ended") || !strings.Contains(n.Detail, string(state)) {
			t.Errorf("got %+v", n)
		}
		if _, err := notice.Acknowledge(t.Context(), k.vendor.DB, n.Ref); err != nil {
			t.Error(err)
		}
	}
}

// What others say ends nothing: an event of another log, or of another agent of the lender.
func TestOthersEndNothing(t *testing.T) {
	k := newKit(t)
	row := loanRow{Borrower: k.quant, Lender: k.research, LenderOrg: k.acme.Org}
	e := attestation.Event{Type: "loan.revoked", Actor: k.vendor.AddAgent(t, "other", keyring.Lend)}
	if s := ends(e, row); s != "" {
		t.Errorf("a revocation by another agent: %s", s)
	}
	if s := ends(attestation.Event{Type: "loan.violation", Actor: k.research}, row); s != "" {
		t.Errorf("another event: %s", s)
	}
	// A heard end wipes what is cached.
	c := newCachingKit(t, 60)
	c.asked(t)
	if err := c.heard(t.Context(), c.perm.ID(), loanRow{LenderOrg: c.acme.Org}, lending.Revoked, c.w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	if !c.asked(t) {
		t.Error("what was kept is handed out after the end was heard")
	}
}

// All loans are looked at, however many more there are than one piece.
func TestEveryEndIsHeard(t *testing.T) {
	k := newKit(t)
	k.testingOnlyPiece = 2
	for range 5 {
		k.mustRead(t, k.issue(t, 5).Compact)
	}
	k.w.Clock.Add(721 * time.Hour)
	k.mustHear(t)
	if len(k.ended) != 5 {
		t.Errorf("told of %d ends, want 5", len(k.ended))
	}
}
