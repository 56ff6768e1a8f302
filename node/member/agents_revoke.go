package member

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AgentRevokeInput ends an own agent.
type AgentRevokeInput struct {
	Agent  string // name or DID
	Reason string // ended, which is the default, key_compromise, misuse, policy, mistake or other
	// TaintFrom is the last index of the own log at which the agent's acts are surely its
	// own; key_compromise only.
	TaintFrom *uint64
	kept      bool // endedRow.Kept
}

// AgentRevoked says what a revocation did.
type AgentRevoked struct {
	Agent  self.AgentRow
	Reason string
	Event  envelope.ID
	Index  uint64 // of agent.revoked in the own log
	Logged bool   // false: agent.revoked waits in the outbox
	Loans  int    // loans it had lent that ended with it
}

var agentReasons = []string{"ended", "key_compromise", "misuse", "policy", "mistake", "other"}

func (in AgentRevokeInput) check(size uint64) error {
	switch {
	case !slices.Contains(agentReasons, in.Reason):
		return fault.New(fault.Invalid, "reason", "reason %.40q is none", in.Reason).WithHint("ended, key_compromise, misuse, policy, mistake or other")
	case in.TaintFrom != nil && in.Reason != "key_compromise":
		return fault.New(fault.Invalid, "taint", "a taint goes with a compromise alone").WithHint("add --reason key_compromise, or leave --taint-from out")
	case in.TaintFrom != nil && *in.TaintFrom >= size:
		return fault.New(fault.Invalid, "taint", "the log ends at index %d", int64(size)-1).WithHint("name the last index at which the agent's acts are surely its own: trustnode event list shows them")
	}
	return nil
}

// RevokeAgent ends an own agent for good. One transaction makes its row revoked, raises
// the serial that its name needs, drops its tokens and drafts agent.revoked; then what was
// begun in its name before is waited for or cut. After it returned this node decides, signs
// and releases nothing in the agent's name, and no object of it at a later position of the
// log counts where the event is known. A second revocation changes nothing and returns the
// first.
func (m *Member) RevokeAgent(ctx context.Context, in AgentRevokeInput) (AgentRevoked, error) {
	if in.Reason == "" {
		in.Reason = "ended"
	}
	if err := in.check(m.cfg.Size(m.n.Org)); err != nil {
		return AgentRevoked{}, err
	}
	out, err := m.revokeAgent(store.Urgent(ctx), in)
	if err != nil {
		return AgentRevoked{}, err
	}
	// Whoever asked may have left by now; what is under way ends all the same.
	out.Loans = m.cfg.AgentEnded(context.WithoutCancel(ctx), out.Agent.Agent)
	if err := m.settled(ctx, out.Event); err != nil {
		return AgentRevoked{}, err
	}
	return out, m.indexed(ctx, &out)
}

func (m *Member) revokeAgent(ctx context.Context, in AgentRevokeInput) (out AgentRevoked, err error) {
	m.own.Lock()
	defer m.own.Unlock()
	err = m.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		out, err = m.putRevoked(tx, in)
		return err
	})
	return out, undrafted(err)
}

// putRevoked is the transaction of RevokeAgent.
func (m *Member) putRevoked(tx store.Tx, in AgentRevokeInput) (AgentRevoked, error) {
	row, err := m.ownAgent(tx, in.Agent)
	if err != nil {
		return AgentRevoked{}, err
	}
	out := AgentRevoked{Agent: row, Reason: in.Reason}
	first, was, err := get[endedRow](tx, endedKey(row.Agent))
	if err != nil {
		return out, err
	}
	if was && row.Revoked {
		out.Event, out.Reason = first.Event, first.Reason
		if !first.Kept || in.kept {
			return out, nil
		}
		first.Kept = false // whoever revokes it by hand does not want its key back
		return out, put(tx, endedKey(row.Agent), first)
	}
	named, _, err := get[namedRow](tx, namedKey(m.n.Org, row.Name))
	if err != nil {
		return out, err
	}
	named.Through = max(named.Through, row.Serial)
	row.Revoked = true
	out.Agent = row
	err = errors.Join(m.n.PutAgent(tx, row), put(tx, namedKey(m.n.Org, row.Name), named), m.dropTokens(tx, row.Agent))
	if err != nil {
		return out, err
	}
	out.Event, err = m.n.Rec.Event(tx, attestation.Draft{Type: "agent.revoked", Subject: row.Agent.String(), Refs: []envelope.ID{row.Object},
		Data: attestation.AgentRevoked{Agent: row.Agent, Name: row.Name, Reason: in.Reason, TaintFrom: in.TaintFrom, ThroughSerial: row.Serial}})
	if err != nil {
		return out, err
	}
	return out, put(tx, endedKey(row.Agent), endedRow{Event: out.Event, Kept: in.kept, Reason: in.Reason})
}

// ownAgent finds an own agent by name or DID.
func (m *Member) ownAgent(g library.Getter, nameOrDID string) (self.AgentRow, error) {
	row, err := m.n.OwnAgent(g, nameOrDID)
	if errors.Is(err, self.ErrNoAgent) {
		return row, fault.New(fault.NotFound, "agent", "no agent %.80q of this organization", nameOrDID).WithHint("trustnode agent list shows the agents")
	}
	return row, err
}

// indexed says where agent.revoked stands, if it is in the log by now.
func (m *Member) indexed(ctx context.Context, out *AgentRevoked) error {
	if _, waits := m.waits(); waits {
		return nil
	}
	i, err := m.n.Rec.WaitAppended(ctx, out.Event)
	if err != nil {
		return err
	}
	out.Index, out.Logged = i, true
	return nil
}
