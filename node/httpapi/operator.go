package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/node/member"
	"trustnode/node/recorder"
)

// operator registers every route of the operator.
func (s *server) operator(api huma.API) {
	s.status(api)
	s.federation(api)
	s.agents(api)
	s.identities(api)
	s.doctorRoute(api)
	s.backupRoute(api)
	s.memory(api)
	s.memoryForget(api)
	s.memoryLook(api)
	s.agentMove(api)
	s.loans(api)
	s.loanSign(api)
	s.borrowers(api)
	s.subjects(api)
	s.auditCheck(api)
	s.compare(api)
	s.disputes(api)
	s.eventRoutes(api)
	s.eraseRoute(api)
	s.repairRoute(api)
	s.notices(api)
	s.branchRoute(api)
}

// maxWait caps how long a status request waits for a state.
const maxWait = 10 * time.Minute

func (s *server) status(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/status", "status", "How this node is; may wait for a state", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Wait     string `query:"wait" doc:"answer once the node is in this state, or at the timeout"`
			TimeoutS int    `query:"timeout_s" minimum:"0" maximum:"600"`
		}) (*struct{ Body Status }, error) {
			st, err := s.waitFor(ctx, in.Wait, time.Duration(in.TimeoutS)*time.Second)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Status }{st}, nil
		})
	})
}

// waitFor asks again whenever something changed, and a few times a second, since a state
// also changes with time.
func (s *server) waitFor(ctx context.Context, state string, timeout time.Duration) (Status, error) {
	end := time.Now().Add(min(timeout, maxWait))
	for {
		changed := s.Member.Changed()
		st, err := s.statusNow(ctx)
		if err != nil || state == "" || st.State == state || !time.Now().Before(end) {
			return st, err
		}
		select {
		case <-ctx.Done():
			return st, ctx.Err()
		case <-changed:
		case <-s.Stopping:
			return st, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *server) statusNow(ctx context.Context) (Status, error) {
	m, err := s.Member.Status(ctx, time.Now())
	if err != nil {
		return Status{}, err
	}
	info := s.Info()
	out := Status{State: m.State.String(), Running: len(info.P2P) > 0, Reasons: m.Reasons, Org: s.Node.Org.String(), Name: s.Node.Name, Peers: []Peer{}, P2P: info.P2P, HTTP: info.HTTP, Version: info.Version}
	if log, why := s.Node.Rec.State(); log != recorder.Open && m.State != federation.Recovering {
		out.Reasons = append(out.Reasons, fmt.Sprintf("the own log is %s: %s; decisions wait and nothing is signed", log, why))
	}
	if full := s.Node.Rec.Full(); full != "" {
		out.Reasons = append(out.Reasons, "the disk is nearly full ("+full+"): new work is refused until there is room")
	}
	if out.Reasons == nil {
		out.Reasons = []string{}
	}
	if f := m.Federation; f != nil {
		out.Federation = &FedInfo{ID: f.ID.String(), Name: f.Name, Seq: f.Seq, Charter: f.Charter.String(), Fingerprint: f.Fingerprint, ExpiresAt: f.ExpiresAt.String()}
		if !f.Mediator.IsZero() {
			out.Federation.Mediator = f.Mediator.String()
		}
	}
	for _, p := range m.Peers {
		peer := Peer{Org: p.Org.String(), Name: p.Name, Linked: info.Linked[p.Org], Held: p.Held}
		if v, err := s.Node.Ring.Head(ctx, p.Org); err == nil && v.State != did.Held {
			peer.State = v.State.String()
		}
		if !p.HeardAt.IsZero() {
			peer.Heard = p.HeardAt.String()
		}
		peer.ForkedAt = s.forkedAt(ctx, p.Org)
		out.Peers = append(out.Peers, peer)
	}
	if out.Log, err = s.ownLog(ctx); err != nil {
		return out, err
	}
	out.Notices, err = s.noticesNow(ctx)
	return out, err
}

// forkedAt is where the branches of a log part, nil while it has not forked. Where that
// cannot be read it is 0: that it has forked is known all the same.
func (s *server) forkedAt(ctx context.Context, d did.DID) *uint64 {
	at, forked, err := s.Node.Rec.PartedAt(ctx, d)
	if err != nil {
		s.log.ErrorContext(ctx, "where a log forked cannot be read", "org", d.String(), "error", err)
	}
	if !forked && err == nil {
		return nil
	}
	return &at
}

func (s *server) ownLog(ctx context.Context) (LogInfo, error) {
	waiting, err := s.Node.Rec.Waiting(ctx)
	if err != nil {
		return LogInfo{}, err
	}
	out := LogInfo{Waiting: waiting}
	l, err := s.Events.Log(ctx, s.Node.Org)
	if err != nil {
		return out, nil // nothing is in the log yet
	}
	head, _ := l.Head()
	out.Size = head.Size
	if head.Size > 0 {
		w := s.sight().witnessed(s.Node.Org, head.Size-1)
		out.Witnessed, out.Need = w.Have, w.Need
	}
	return out, nil
}

func (s *server) federation(api huma.API) {
	draft := func(d member.Draft, err error) (*struct{ Body FedDraft }, error) {
		if err != nil {
			return nil, s.refuse(err)
		}
		return &struct{ Body FedDraft }{FedDraft{ID: d.ID.String(), Fingerprint: d.Fingerprint, Data: d.Data, Signed: texts(d.Signed), Missing: texts(d.Missing)}}, nil
	}
	s.route(api, http.MethodPost, "/api/v1/federation/join-request", "fedJoinRequest", "Make this organization's join file", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body JoinRequest }) (*struct{ Body FedDraft }, error) {
			return draft(ceremony(ctx, s, in.Body.Ceremony, func(g envelope.Signer) (member.Draft, error) {
				return s.Member.JoinRequest(ctx, in.Body.Votes, g)
			}))
		})
	})
	s.route(api, http.MethodPost, "/api/v1/federation/drafts", "fedCreate", "Draft the charter of a new federation", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body FedCreate }) (*struct{ Body FedDraft }, error) {
			b := in.Body
			return draft(ceremony(ctx, s, b.Ceremony, func(g envelope.Signer) (member.Draft, error) {
				return s.Member.Create(ctx, member.CreateInput{Name: b.Name, With: b.With, Mediators: b.Mediators, Recovery: b.Recovery, Governance: g})
			}))
		})
	})
	s.route(api, http.MethodPost, "/api/v1/federation/sign", "fedSign", "Sign a draft", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body FedSign }) (*struct{ Body FedDraft }, error) {
			return draft(ceremony(ctx, s, in.Body.Ceremony, func(g envelope.Signer) (member.Draft, error) {
				return s.Member.Sign(ctx, in.Body.Data, g)
			}))
		})
	})
	s.route(api, http.MethodPost, "/api/v1/federation/diff", "fedDiff", "Say in words what a draft binds its signer to", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body File }) (*struct{ Body FedWords }, error) {
			r, err := s.Member.Diff(ctx, in.Body.Data)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body FedWords }{FedWords{ID: r.ID.String(), Fingerprint: r.Fingerprint, Lines: r.Lines, Signed: texts(r.Signed), Missing: texts(r.Missing)}}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/federation/apply", "fedApply", "Verify a charter alone and put it in force here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body FedApply }) (*struct{ Body FedApplied }, error) {
			a, err := s.Member.Apply(ctx, in.Body.Data, in.Body.Fingerprint)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body FedApplied }{FedApplied{ID: a.ID.String(), Seq: a.Seq, Fingerprint: a.Fingerprint, Members: texts(a.Members), Walk: a.Walk}}, nil
		})
	})
}

// ceremony opens the governance key for one act; nil where none is named.
func ceremony(ctx context.Context, s *server, c Ceremony, act func(governance envelope.Signer) (member.Draft, error)) (member.Draft, error) {
	if c.Governance == "" {
		return act(nil)
	}
	g, done, err := s.Custody.GovernanceSigner(ctx, c.Governance, c.GovPass)
	if err != nil {
		return member.Draft{}, err
	}
	defer done()
	return act(g)
}

func texts(ds []did.DID) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.String()
	}
	return out
}
