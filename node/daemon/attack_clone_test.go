package daemon

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
)

// TestACloneCannotForkALogUnseen: two copies of one data directory run at once and each
// goes on in its own way. Either both sign, and then both others hold the proof and lend
// nothing new; or one hears of the other's head before it signs, and waits: then no two heads
// exclude each other, and the others hold one log.
func TestACloneCannotForkALogUnseen(t *testing.T) {
	s := newSiege(t)
	s.remember(lent)
	s.vendor.stop()
	clone := copyOf(t, s.vendor, "clone")
	clone.cfg.HTTP, clone.cfg.P2P = "127.0.0.1:"+loopbackPort(t), []string{"/ip4/127.0.0.1/tcp/" + loopbackPort(t)}
	s.vendor.start()
	s.vendor.waitFresh()
	clone.start()
	copies, others := []*fort{s.vendor, clone}, []*fort{s.acme, s.arbiter}
	forked := func() bool {
		return !slices.ContainsFunc(others, func(h *fort) bool { return !h.node.self.Rec.Forked(s.vendor.cfg.Org) })
	}
	waits := time.Time{} // since when one copy waits and no heads exclude each other
	for begin := time.Now(); !forked() && (waits.IsZero() || time.Since(waits) < 5*time.Second); time.Sleep(250 * time.Millisecond) {
		if time.Since(begin) > 3*time.Minute { // a partner may see the other copy only at its next sync
			t.Fatal("both copies go on, and nobody holds the proof")
		}
		for i, h := range copies {
			if _, err := h.drafted(int(time.Now().UnixNano()) + i); err != nil { // a copy that waits still drafts
				t.Fatal(err)
			}
		}
		recovering := func(h *fort) bool { state, _ := h.node.self.Rec.State(); return state == recorder.Recovering }
		switch one := slices.ContainsFunc(copies, recovering) && oneBranch(t, copies); {
		case !one:
			waits = time.Time{}
		case waits.IsZero():
			waits = time.Now()
		}
	}
	if !forked() {
		t.Log("one copy heard of the other and waits")
		eventually(t, "one log at both others", func() bool {
			return held(t, s.acme, s.vendor.cfg.Org) == held(t, s.arbiter, s.vendor.cfg.Org)
		})
		return
	}
	t.Log("both copies signed: the fork is proven")
	err := s.acme.call(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: s.quant.DID, Scope: "tag:client:acme",
		Purpose: "a loan to who forked", Expires: "24h", MaxReads: 3}, nil)
	var d *fault.Denied
	// Where the heads alone are held, the place where the branches part may lie below the
	// issue of the agent, which then is contested too: it is no agent for now.
	if !errors.As(err, &d) || d.Code != fault.Forked && d.Code != fault.Refused {
		t.Errorf("a new loan: %v", err)
	}
}

// oneBranch reports whether the log of one copy goes on from that of the other.
func oneBranch(t *testing.T, copies []*fort) bool {
	t.Helper()
	org := copies[0].cfg.Org
	a, b := held(t, copies[0], org), held(t, copies[1], org)
	longer := copies[1]
	if a.Size > b.Size {
		a, longer = b, copies[0]
	}
	l, err := longer.node.events.Log(context.Background(), org)
	if err != nil {
		t.Fatal(err)
	}
	at, err := attlog.RootAt(a.Size, l)
	return err == nil && at == a
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
			loan := s.lend(3)
			if _, err := s.read(loan.ID); err != nil {
				t.Fatal(err)
			}
			s.vendor.stop()
			clone := copyOf(t, s.vendor, "clone")
			made := map[string]string{} // agents by name
			goOn := func(h *fort, with *fort, names ...string) {
				t.Helper()
				h.start()
				h.waitFresh()
				for _, n := range names {
					var a httpapi.Agent
					h.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: n, Can: []string{"borrow"}}, &a)
					made[n] = a.DID
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
			bothBranches(t, s.acme, s.arbiter, s.vendor, common, "one", "two")
			bothBranches(t, s.arbiter, s.acme, s.vendor, common, "two", "one")
			forkedLog := func(what string, err error) {
				t.Helper()
				var d *fault.Denied
				if !errors.As(err, &d) || d.Code != fault.Forked || d.Reason != "log" || d.Hint == "" {
					t.Errorf("%s: %v", what, err)
				}
			}
			refused := func() {
				t.Helper()
				for what, borrower := range map[string]string{"a new loan": s.quant.DID, "a loan to an agent made after the parting": made["one"]} {
					forkedLog(what, s.acme.call(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: borrower, Scope: "tag:client:acme",
						Purpose: "a loan to who forked", Expires: "24h", MaxReads: 3}, nil))
				}
			}
			refused()
			s.acme.stop()
			s.acme.start()
			s.acme.waitFresh()
			refused()
			toldOfFork(t, s.acme, s.vendor, common, "the log of "+s.vendor.cfg.Name+" has forked")
			s.vendor.start()
			eventually(t, "vendor to know of itself", func() bool {
				var st httpapi.Status
				s.vendor.must(http.MethodGet, "/api/v1/status", nil, &st)
				return slices.ContainsFunc(st.Reasons, func(r string) bool { return strings.Contains(r, "two heads of our log are signed") })
			})
			warnedOf(t, s.vendor, "and it has forked at")
			_, err := s.read(loan.ID)
			forkedLog("a read of a loan from before", err)
			for _, h := range []*fort{s.acme, s.vendor} {
				var l httpapi.Loan
				h.must(http.MethodGet, "/api/v1/permissions/"+loan.ID, nil, &l)
				if l.State != "valid" || !strings.Contains(l.Rests, "two heads of its log") {
					t.Errorf("the loan at %s: %+v", h.cfg.Name, l)
				}
			}
		})
	}
}

// bothBranches: of a log that has forked a node lists the branch that it holds, on which the
// agent one was made, and all of the other one, which it asked of its holder.
func bothBranches(t *testing.T, at, other, of *fort, common uint64, held, kept string) {
	t.Helper()
	org := url.PathEscape(of.cfg.Org.String())
	there, err := other.node.self.Rec.Head(t.Context(), of.cfg.Org)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other branch at "+at.cfg.Name, func() bool {
		b, err := at.node.events.Branch(t.Context(), of.cfg.Org)
		return err == nil && b.From == common && b.To >= there.Size
	})
	var l httpapi.Events
	at.must(http.MethodGet, "/api/v1/events?standing=contested&org="+org, nil, &l)
	if !slices.ContainsFunc(l.Events, func(e httpapi.Event) bool { return strings.Contains(e.Words, strconv.Quote(held)) }) {
		t.Errorf("%s lists as contested %+v", at.cfg.Name, l.Events)
	}
	var b httpapi.LogBranch
	at.must(http.MethodGet, "/api/v1/log/"+org+"/branch", nil, &b)
	if b.Org != of.cfg.Org.String() || b.From != common || b.To-b.From != uint64(len(b.Events)) || b.Next != nil ||
		!slices.ContainsFunc(b.Events, func(e httpapi.BranchEvent) bool { return strings.Contains(e.Words, strconv.Quote(kept)) }) {
		t.Errorf("%s keeps of the other branch %+v", at.cfg.Name, b)
	}
	at.must(http.MethodGet, "/api/v1/log/"+org+"/branch?limit=1", nil, &b)
	if len(b.Events) != 1 || (b.Next == nil) != (b.To-b.From == 1) || b.Next != nil && *b.Next != b.From+1 {
		t.Errorf("a page of one: %+v", b)
	}
	var d *fault.Denied
	if err := at.call(http.MethodGet, "/api/v1/log/self/branch", nil, nil); !errors.As(err, &d) || d.Code != fault.NotFound || d.Hint == "" {
		t.Errorf("the branch of a log that did not fork: %v", err)
	}
}

// toldOfFork: status, the list of events and the doctor of a node say where a member's log forked.
func toldOfFork(t *testing.T, at, of *fort, common uint64, warning string) {
	t.Helper()
	var st httpapi.Status
	at.must(http.MethodGet, "/api/v1/status", nil, &st)
	if !slices.ContainsFunc(st.Peers, func(p httpapi.Peer) bool {
		return p.Org == of.cfg.Org.String() && p.ForkedAt != nil && *p.ForkedAt == common
	}) {
		t.Errorf("status of %s: %+v", at.cfg.Name, st.Peers)
	}
	var list httpapi.Events
	at.must(http.MethodGet, "/api/v1/events", nil, &list)
	for _, o := range list.Origins {
		if forked := o.Org == of.cfg.Org.String(); forked != (o.ForkedAt != nil) || forked && *o.ForkedAt != common {
			t.Errorf("origins at %s: %+v", at.cfg.Name, list.Origins)
		}
	}
	warnedOf(t, at, warning)
}

// warnedOf: the doctor of a node warns of something, with what to do.
func warnedOf(t *testing.T, at *fort, warning string) {
	t.Helper()
	var d httpapi.Doctor
	at.must(http.MethodGet, "/api/v1/doctor", nil, &d)
	if !slices.ContainsFunc(d.Checks, func(c httpapi.Check) bool {
		return c.Level == httpapi.LevelWarn && c.Hint != "" && strings.Contains(c.What, warning)
	}) {
		t.Errorf("%s does not warn %q: %+v", at.cfg.Name, warning, d.Checks)
	}
}
