package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"trustnode/attestation"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// TestACloneCannotForkALogUnseen: two copies of one data directory run at once and each
// goes on in its own way. The others keep one continuation, and a copy stops signing, or
// what it signed is kept as proof.
func TestACloneCannotForkALogUnseen(t *testing.T) {
	s := newSiege(t)
	s.vendor.stop()
	clone := copyOf(t, s.vendor, "clone")
	clone.cfg.HTTP, clone.cfg.P2P = "127.0.0.1:"+loopbackPort(t), []string{"/ip4/127.0.0.1/tcp/" + loopbackPort(t)}
	s.vendor.start()
	s.vendor.waitFresh()
	clone.start()
	for name, h := range map[string]*fort{"one": s.vendor, "two": clone} {
		if err := h.call(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: name, Can: []string{"borrow"}}, nil); err != nil {
			t.Logf("%s: %v", name, err)
		}
	}
	ctx := context.Background()
	eventually(t, "a copy that stopped, or the proof of a fork", func() bool {
		evidence, err := s.acme.node.events.Evidence(ctx, s.vendor.cfg.Org)
		a, _ := s.vendor.node.self.Rec.State()
		b, _ := clone.node.self.Rec.State()
		return err == nil && len(evidence) > 0 || a != recorder.Open || b != recorder.Open
	})
	eventually(t, "one log at both others", func() bool {
		return names(t, s.acme.node, s.vendor) == names(t, s.arbiter.node, s.vendor)
	})
}

// names lists the agents of a fort's log as another node holds it.
func names(t *testing.T, at *Node, of *fort) (out string) {
	t.Helper()
	for f, err := range at.self.Rec.Facts(context.Background(), attestation.Query{Org: of.cfg.Org, Type: "agent.issued"}) {
		if err != nil {
			t.Fatal(err)
		}
		out += f.Event.ID().String() + " "
	}
	return out
}

// shared is the size up to which the log of a fort is the same at its two partners.
func (s siege) shared(t *testing.T, of *fort) (at uint64) {
	t.Helper()
	for n := min(s.acme.node.logSize(of.cfg.Org), s.arbiter.node.logSize(of.cfg.Org)); at < n; at++ {
		var one, other []byte
		for node, en := range map[*Node]*[]byte{s.acme.node: &one, s.arbiter.node: &other} {
			l, err := node.events.Log(t.Context(), of.cfg.Org)
			if err == nil {
				err = l.Entries(t.Context(), at, at+1, func(_ uint64, e attestation.Entry) error { *en = e; return nil })
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(one, other) {
			return at
		}
	}
	t.Fatal("the partners hold one log")
	return 0
}

// contestedFrom is the size of a fort's log that another node holds valid, and whether all
// above it is contested, of which there is something.
func contestedFrom(t *testing.T, at *Node, of *fort) (valid uint64, above bool) {
	t.Helper()
	for i := range at.logSize(of.cfg.Org) {
		v, err := at.events.Verdict(t.Context(), of.cfg.Org, i)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case v.Counts() && i == valid:
			valid++
		case v.Standing == attestation.Contested:
			above = true
		default:
			return valid, false
		}
	}
	return valid, above
}

// TestAForkedLogIsProven: a copy of a member's directory goes on at one partner while
// the first goes on at the other. When the partners meet, each holds the proof, logs it, and
// lends nothing new to the member; the member says so of itself, and none of it is lost at a
// restart. Partners that hold the proof from an event alone do the same.
func TestAForkedLogIsProven(t *testing.T) {
	for name, more := range map[string]int{"two heads of one size": 1, "a longer branch": 3} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t)
			s.remember(lent)
			s.vendor.stop()
			clone := copyOf(t, s.vendor, "clone")
			goOn := func(h *fort, with *fort, names ...string) {
				t.Helper()
				h.start()
				h.waitFresh()
				for _, n := range names {
					h.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: n, Can: []string{"borrow"}}, nil)
				}
				head, err := h.node.self.Rec.Head(t.Context(), h.cfg.Org)
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, "the branch at its partner", func() bool {
					got, err := with.node.self.Rec.Head(t.Context(), h.cfg.Org)
					return err == nil && got.Size >= head.Size
				})
				h.stop()
			}
			s.arbiter.stop()
			goOn(s.vendor, s.acme, "one")
			s.acme.stop()
			s.arbiter.start()
			goOn(clone, s.arbiter, []string{"two", "three", "four"}[:more]...)
			s.acme.start()
			for _, h := range []*fort{s.acme, s.arbiter} {
				eventually(t, "the proof at "+h.cfg.Name, func() bool { return h.node.self.Rec.Forked(s.vendor.cfg.Org) })
			}
			provenBy := func(at, by *fort) bool {
				for f, err := range at.node.self.Rec.Facts(t.Context(), attestation.Query{Org: by.cfg.Org, Type: "fork.proven"}) {
					p, bad := federation.ParseForkProof(f.Body)
					if err == nil && bad == nil && p.Kind == federation.ForkLog && p.Equivocators[0] == s.vendor.cfg.Org {
						return true
					}
				}
				return false
			}
			eventually(t, "the proof in both logs", func() bool { return provenBy(s.acme, s.arbiter) && provenBy(s.arbiter, s.acme) })
			common := s.shared(t, s.vendor)
			for _, h := range []*fort{s.acme, s.arbiter} {
				eventually(t, "what parted to be contested, and no more, at "+h.cfg.Name, func() bool {
					at, above := contestedFrom(t, h.node, s.vendor)
					return at == common && above
				})
			}
			refused := func() {
				t.Helper()
				err := s.acme.call(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: s.quant.DID, Scope: "tag:client:acme",
					Purpose: "a loan to who forked", Expires: "24h", MaxReads: 3}, nil)
				var d *fault.Denied
				if !errors.As(err, &d) || d.Code != fault.Forked || d.Reason != "log" || d.Hint == "" {
					t.Errorf("a new loan: %v", err)
				}
			}
			refused()
			s.acme.stop()
			s.acme.start()
			s.acme.waitFresh()
			refused()
			s.vendor.start()
			eventually(t, "vendor to know of itself", func() bool {
				var st httpapi.Status
				s.vendor.must(http.MethodGet, "/api/v1/status", nil, &st)
				return slices.ContainsFunc(st.Reasons, func(r string) bool { return strings.Contains(r, "two heads of our log are signed") })
			})
		})
	}
}
