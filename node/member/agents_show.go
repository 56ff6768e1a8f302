package member

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AgentView is all this node knows of one agent, own or of another member.
type AgentView struct {
	Row       self.AgentRow
	State     self.AgentState
	Display   string
	RenewsAt  envelope.Time // when this node will renew it; zero where it does not
	Tokens    []AgentToken  // of an own agent
	RevokedAt *uint64       // index of agent.revoked in its organization's log, once it is there
	Reason    string        // of the revocation
	Message   string        // what a person must know, of one that is not live; else empty
	Hint      string        // what to do about it, or empty
}

// ShowAgent shows an own agent by name or DID, or one of another member by DID.
func (m *Member) ShowAgent(ctx context.Context, nameOrDID string) (AgentView, error) {
	at, err := m.now()
	if err != nil {
		return AgentView{}, err
	}
	row, tokens, err := m.look(ctx, nameOrDID)
	if err != nil {
		return AgentView{}, err
	}
	v := AgentView{Row: row, State: row.State(at), Tokens: tokens}
	body, err := m.bodyOf(ctx, row)
	if err != nil && !errors.Is(err, library.ErrAbsent) {
		return AgentView{}, err
	}
	v.Display = body.Display
	if err := m.addHistory(ctx, &v); err != nil {
		return AgentView{}, err
	}
	mine := row.Org == m.n.Org
	if mine && v.State == self.AgentLive {
		if here, err := m.renewable(ctx, row); err != nil {
			return AgentView{}, err
		} else if here {
			v.RenewsAt = row.NotAfter.Add(-row.NotAfter.Sub(row.NotBefore) / renewShare)
		}
	}
	v.say(mine)
	if v.State == self.AgentRevoked && mine && m.kept(self.ViewGetter(ctx, m.n.DB), row.Agent) {
		v.Message += "; it ended with the key of this organization that had issued it, its own key is not known to be in doubt"
		v.Hint = fmt.Sprintf("if you know its holder, that one may sign a new draft: trustnode agent add %s --can … --for %s --draft FILE; if not: trustnode agent revoke %[1]s --reason key_compromise", row.Name, row.Agent)
	}
	return v, nil
}

// look reads an agent and its tokens from one snapshot.
func (m *Member) look(ctx context.Context, nameOrDID string) (row self.AgentRow, tokens []AgentToken, err error) {
	err = m.n.DB.View(ctx, func(r store.Reader) (err error) {
		if d, bad := did.Parse(nameOrDID); bad == nil {
			row, err = self.Agent(r, d)
		} else {
			row, err = m.n.OwnAgent(r, nameOrDID)
		}
		if err == nil {
			tokens, err = tokensOf(r, row.Agent)
		}
		return err
	})
	if errors.Is(err, self.ErrNoAgent) {
		err = fault.New(fault.NotFound, "agent", "no agent %.200q is known here", nameOrDID).WithHint("own agents have names, trustnode agent list shows them; those of other members are shown by DID, once their log came")
	}
	return row, tokens, err
}

// addHistory says where the log of its organization issued an agent, and where and why it
// ended it.
func (m *Member) addHistory(ctx context.Context, v *AgentView) error {
	k, err := m.n.Rec.Keys(ctx, v.Row.Org)
	if err != nil {
		return err
	}
	if t, ok := k.Term(v.Row.Object); ok && v.Row.Index == 0 {
		v.Row.Index = t.From
	}
	if !v.Row.Revoked {
		return nil
	}
	for _, t := range k.Terms(v.Row.Agent) {
		if t.Revoked != nil {
			v.RevokedAt, v.Reason = t.Revoked, t.Reason
		}
	}
	if v.Reason != "" || v.Row.Org != m.n.Org {
		return nil
	}
	first, _, err := get[endedRow](self.ViewGetter(ctx, m.n.DB), endedKey(v.Row.Agent)) // its event is not in the log yet
	v.Reason = first.Reason
	return err
}

// say puts into words why an agent may not act.
func (v *AgentView) say(mine bool) {
	d := fault.From(notLive(v.Row, v.State))
	if d == nil {
		return
	}
	v.Message, v.Hint = d.Detail, d.Hint
	if v.State == self.AgentRevoked && v.RevokedAt != nil {
		v.Message = fmt.Sprintf("%s at index %d of its log (%s)", v.Message, *v.RevokedAt, v.Reason)
	}
	if !mine {
		v.Hint = fmt.Sprintf("%s has to issue it anew", place(v.Row.Org))
	}
}

// notLive is the refusal of an agent that may not act in a state; nil while it is live.
func notLive(a self.AgentRow, s self.AgentState) error {
	const reason = "agent_ended"
	who := fmt.Sprintf("agent %s of %s", a.Name, place(a.Org))
	switch s {
	case self.AgentLive:
		return nil
	case self.AgentRevoked:
		return fault.New(fault.Revoked, reason, "%s was revoked", who).WithHint("trustnode agent add --name %s --can … makes one anew, with another key", a.Name)
	case self.AgentNotYet:
		return fault.New(fault.Refused, reason, "%s begins at %s", who, a.NotBefore).WithHint("wait until then, or set this host's clock")
	}
	return fault.New(fault.Expired, reason, "%s ended at %s", who, a.NotAfter).WithHint("trustnode agent add --name %s renews it", a.Name)
}

// waits reports whether the own log takes nothing now.
func (m *Member) waits() (why string, waits bool) {
	s, why := m.n.Rec.State()
	return why, s != recorder.Open
}

// AgentCredential is what anyone may fetch of an own agent.
type AgentCredential struct {
	ID    envelope.ID // of the agent object
	State self.AgentState
	DSSE  []byte
	VC    []byte // nil where none was made
}

// Credential returns the newest agent object of an own agent's name, with its Verifiable
// Credential as it was signed when the object was issued. Error: self.ErrNoAgent.
func (m *Member) Credential(ctx context.Context, name string) (AgentCredential, error) {
	at, err := m.now()
	if err != nil {
		return AgentCredential{}, err
	}
	var c AgentCredential
	err = m.n.DB.View(ctx, func(r store.Reader) error {
		named, ok, err := get[namedRow](r, namedKey(m.n.Org, name))
		if err != nil {
			return err
		}
		if !ok || named.Agent.IsZero() {
			return self.ErrNoAgent
		}
		row, err := self.Agent(r, named.Agent)
		if err != nil {
			return err
		}
		o, err := m.n.Lib.Read(r, row.Object)
		if err != nil {
			return err
		}
		c = AgentCredential{ID: row.Object, State: row.State(at), DSSE: o.Bytes}
		vc, err := r.Get([]byte(vcKey(row.Object)))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		c.VC = vc
		return err
	})
	return c, err
}
