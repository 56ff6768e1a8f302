package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// thief is the entry that whoever has a seat's next update key writes.
func (s *seat) thief() []byte {
	s.t.Helper()
	ctx := s.t.Context()
	h, err := s.node.self.Ring.History(ctx, s.cfg.Org)
	if err != nil {
		s.t.Fatal(err)
	}
	store, err := keys.Open(filepath.Join(s.cfg.Dir, updateDir), []byte(seatPass))
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Close()
	list, err := store.List(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, k := range list {
		if didwebvh.KeyHash(k) != h.Head().Parameters.NextKeyHashes[0] {
			continue
		}
		signer, err := store.Signer(ctx, k)
		if err != nil {
			s.t.Fatal(err)
		}
		line, err := didwebvh.Rotate(ctx, h, didwebvh.RotateRequest{Update: signer, Next: envelopetest.Repeat(0x71).Public(), Issuer: envelopetest.Repeat(0x72).Public(), At: time.Now()})
		if err != nil {
			s.t.Fatal(err)
		}
		return append(line, '\n')
	}
	s.t.Fatal("no next update key")
	return nil
}

// offlineOffer gives a seat that does not run lines of a DID log.
func (s *seat) offlineOffer(d did.DID, lines []byte) {
	s.t.Helper()
	o, err := OpenOffline(s.t.Context(), s.cfg, []byte(seatPass), slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = o.n.self.Ring.Offer(s.t.Context(), d, lines, nil)
	if err := errors.Join(err, o.Close()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) state(d did.DID) keyring.Version {
	v, err := s.node.self.Ring.Head(context.Background(), d)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// proofsOf are the fork proofs in one log, as a seat holds it, whose bodies came.
func (s *seat) proofsOf(d did.DID) (out []federation.ForkProof) {
	for f, err := range s.node.self.Rec.Facts(context.Background(), attestation.Query{Org: d, Type: "fork.proven"}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if p, err := federation.ParseForkProof(f.Body); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// decide carries out an operator's decision for a version.
func (s *seat) decide(d did.DID, version string) {
	s.t.Helper()
	ctx := s.t.Context()
	if _, err := s.node.self.Ring.AcceptHead(ctx, d, version, "operator"); err != nil {
		s.t.Fatal(err)
	}
	if err := s.node.self.Rec.Recheck(ctx, d); err != nil {
		s.t.Fatal(err)
	}
}

func isForked(err error) bool {
	var d *fault.Denied
	return errors.As(err, &d) && d.Code == fault.Forked
}

// TestAStolenUpdateKeyForksTheDID: acme rotates, and whoever has its next update key
// shows the arbiter another entry 2. Both verify. When the nodes meet, all freeze acme
// with both entries kept, the finders log the proof, and nothing is lent to or by acme
// until each operator has decided.
func TestAStolenUpdateKeyForksTheDID(t *testing.T) {
	x := newTrio(t)
	acme := x.acme.cfg.Org
	x.remember("the client prefers mail")
	loan := x.lend(20)
	if _, err := x.read(loan.ID); err != nil {
		t.Fatal(err)
	}
	x.vendor.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "archive", Can: []string{"lend"}, Project: "shelf"}, nil)
	var buyer httpapi.Agent
	x.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "buyer", Can: []string{"borrow"}}, &buyer)
	lendToAcme := func() error {
		return x.vendor.call(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "archive", Borrower: buyer.DID, Scope: "tag:client:acme",
			Purpose: "what the loan is for", Expires: "24h", MaxReads: 3}, nil)
	}
	if err := lendToAcme(); err != nil {
		t.Fatal(err)
	}
	x.arbiter.stop()
	stolen := x.acme.thief()
	time.Sleep(1100 * time.Millisecond) // times of entries are whole seconds
	x.acme.must(http.MethodPost, "/api/v1/identities/rotate", httpapi.Rotation{Authority: httpapi.Authority{Passphrase: seatPass}, Reason: "scheduled"}, nil)
	ours := x.acme.state(acme).ID
	soon(t, "the rotation at the vendor", func() bool { return x.vendor.state(acme).ID == ours })
	x.arbiter.offlineOffer(acme, stolen)
	x.arbiter.start()
	all := []*seat{x.acme, x.vendor, x.arbiter}
	theirs := x.arbiter.state(acme).ID
	for _, s := range all {
		soon(t, "the freeze at "+s.cfg.Name, func() bool {
			return s.state(acme).State == did.Frozen && s.node.self.Ring.Knows(acme, ours) && s.node.self.Ring.Knows(acme, theirs)
		})
	}
	for _, s := range all[1:] {
		for _, by := range all[1:] {
			soon(t, "the proof of "+by.cfg.Name+" at "+s.cfg.Name, func() bool { return len(s.proofsOf(by.cfg.Org)) == 1 })
		}
	}
	if a, b := x.vendor.proofsOf(x.vendor.cfg.Org)[0], x.vendor.proofsOf(x.arbiter.cfg.Org)[0]; a.A.ID != b.A.ID || a.B.ID != b.B.ID || a.Equivocators[0] != acme {
		t.Errorf("two proofs: %+v, %+v", a, b)
	}

	t.Run("nothing is lent to acme or by it", func(t *testing.T) {
		if _, err := x.read(loan.ID); !isForked(err) {
			t.Errorf("the vendor reads of acme: %v", err)
		}
		if err := lendToAcme(); !isForked(err) {
			t.Errorf("the vendor lends to acme: %v", err)
		}
		err := x.acme.call(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: x.quant.DID, Scope: "tag:client:acme",
			Purpose: "what the loan is for", Expires: "24h", MaxReads: 3}, nil)
		if !isForked(err) {
			t.Errorf("acme lends: %v", err)
		}
	})
	t.Run("both branches are shown", func(t *testing.T) {
		for _, s := range all {
			var d httpapi.Identity
			s.must(http.MethodGet, "/api/v1/identities/"+url.PathEscape(acme.String()), nil, &d)
			if d.State != "frozen" || d.Fork == nil || d.Fork.Number != 2 || !slices.Contains([]string{d.Fork.Held, d.Fork.Offered}, ours) || !slices.Contains([]string{d.Fork.Held, d.Fork.Offered}, theirs) {
				t.Errorf("%s shows %+v", s.cfg.Name, d)
			}
		}
	})
	t.Run("acme says so, signs nothing, and starts again", func(t *testing.T) {
		suspended := func() {
			t.Helper()
			var st httpapi.Status
			soon(t, "the state suspended", func() bool {
				x.acme.must(http.MethodGet, "/api/v1/status", nil, &st)
				return st.State == "suspended"
			})
			if !slices.ContainsFunc(st.Reasons, func(r string) bool { return strings.Contains(r, "two entries 2 of our DID log") }) {
				t.Errorf("status %s: %v", st.State, st.Reasons)
			}
			if _, _, err := x.acme.node.sign.Issuer(t.Context()); !isForked(err) {
				t.Errorf("the issuer key signs: %v", err)
			}
			err := x.acme.call(http.MethodPost, "/api/v1/identities/rotate", httpapi.Rotation{Authority: httpapi.Authority{Passphrase: seatPass}, Reason: "scheduled"}, nil)
			if !isForked(err) {
				t.Errorf("it rotates: %v", err)
			}
		}
		suspended()
		x.acme.stop()
		x.acme.start()
		suspended()
	})
	t.Run("a restart logs nothing twice", func(t *testing.T) {
		x.vendor.stop()
		x.vendor.start()
		if got := len(x.vendor.proofsOf(x.vendor.cfg.Org)); got != 1 {
			t.Errorf("%d proofs", got)
		}
	})
	t.Run("decisions end it", func(t *testing.T) {
		x.vendor.decide(acme, ours)
		x.acme.decide(acme, ours)
		soon(t, "a read", func() bool { _, err := x.read(loan.ID); return err == nil })
		soon(t, "a loan to acme", func() bool { return lendToAcme() == nil })
		x.lend(2)
		if v := x.arbiter.state(acme); v.State != did.Frozen {
			t.Errorf("who has not decided: %+v", v)
		}
		if v := x.vendor.state(acme); v.State != did.Held || v.ID != ours {
			t.Errorf("who has: %+v", v)
		}
		soon(t, "what acme logged of it", func() bool { return len(x.acme.proofsOf(acme)) == 1 })
	})
}
