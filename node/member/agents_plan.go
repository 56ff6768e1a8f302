package member

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// term is one life of an agent, before it is signed.
type term struct {
	name, project, display string
	kind                   keyring.Kind
	caps                   []keyring.Capability
	life                   time.Duration
	was                    namedRow      // of the name
	last                   self.AgentRow // the agent that had the name last; zero without one

	key envelope.Signer // the agent's, where it is held here

	// Where it is held elsewhere:
	holder  did.PublicKey
	request envelope.Envelope // what its holder signed
	asked   time.Time         // when that was drafted
}

// plan is what the organization would issue for what was asked. What is left out is as it
// was with the agent of that name that ran out.
func (m *Member) plan(ctx context.Context, in AgentInput, at time.Time) (term, error) {
	t := term{name: in.Name}
	err := m.alive(ctx)
	if err != nil {
		return t, err
	}
	if t.was, t.last, err = m.free(self.ViewGetter(ctx, m.n.DB), in.Name, at); err != nil {
		return t, err
	}
	if err := m.roomFor(ctx, t); err != nil {
		return t, err
	}
	if !t.last.Agent.IsZero() && !t.last.Revoked {
		if t, err = m.again(ctx, t.last); err != nil {
			return t, err
		}
	}
	if in.For != "" {
		if t.holder, err = holder(in.For); err != nil {
			return t, err
		}
	}
	return t, in.over(&t)
}

// free returns what is on record of an own agent's name, and the agent that had it last,
// zeroes for nothing, or refuses a name that is in use.
func (m *Member) free(g library.Getter, name string, at time.Time) (was namedRow, last self.AgentRow, err error) {
	was, ok, err := get[namedRow](g, namedKey(m.n.Org, name))
	if err != nil || !ok || was.Agent.IsZero() {
		return was, self.AgentRow{}, err
	}
	last, err = self.Agent(g, was.Agent)
	if errors.Is(err, self.ErrNoAgent) {
		return was, self.AgentRow{}, nil
	}
	if err != nil {
		return was, last, err
	}
	if s := last.State(at); s == self.AgentLive || s == self.AgentNotYet {
		return was, last, fault.New(fault.Conflict, "name_taken", "agent %s exists: %s until %s", name, last.Agent, last.NotAfter).
			WithHint("take another name; trustnode agent show %s says more of this one", name)
	}
	return was, last, nil
}

// roomFor refuses a new name beyond the most an organization may have.
func (m *Member) roomFor(ctx context.Context, t term) error {
	if !t.last.Agent.IsZero() {
		return nil
	}
	list, err := m.Agents(ctx)
	if err == nil && len(list) >= maxAgents {
		return fault.New(fault.TooLarge, "agents", "the organization has %d agents, as many as it may", len(list)).WithHint("take a name that has ended: trustnode agent list")
	}
	return err
}

// again is a term like that of an agent's newest object. Its row has what decides; role and
// length are read from the object it was made of.
func (m *Member) again(ctx context.Context, a self.AgentRow) (term, error) {
	g := self.ViewGetter(ctx, m.n.DB)
	was, _, err := get[namedRow](g, namedKey(m.n.Org, a.Name))
	if err != nil {
		return term{}, err
	}
	t := term{name: a.Name, project: a.Project, kind: keyring.Kind(a.Kind), life: a.NotAfter.Sub(a.NotBefore), was: was, last: a}
	for _, c := range a.Capabilities {
		t.caps = append(t.caps, keyring.Capability(c))
	}
	slices.Sort(t.caps)
	body, err := m.bodyOf(ctx, a)
	if errors.Is(err, library.ErrAbsent) {
		err = nil // put back from a copy that lacked it: the row has what decides
	}
	t.display = body.Display
	return t, err
}

// bodyOf is the agent object a row was made of; it was verified when it was taken.
func (m *Member) bodyOf(ctx context.Context, a self.AgentRow) (keyring.Agent, error) {
	o, err := m.n.Lib.Get(ctx, a.Object)
	if err != nil {
		return keyring.Agent{}, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxStored)
	if err != nil {
		return keyring.Agent{}, err
	}
	return envelope.Decode[keyring.Agent](e)
}

// over lays what was asked for over a term.
func (in AgentInput) over(t *term) error {
	if err := in.kindOver(t); err != nil {
		return err
	}
	if len(in.Can) > 0 || len(t.caps) == 0 {
		var err error
		if t.caps, err = capabilities(in.Can, t.kind); err != nil {
			return err
		}
	}
	if in.Project != "" {
		if _, err := memory.NewPlace("main", in.Project); err != nil {
			return fault.Wrap(fault.Invalid, "project", err).WithHint("a project is named with 1 to 64 of a-z 0-9 . _ -")
		}
		t.project = in.Project
	}
	if in.Days < 0 || in.Days > maxAgentDays {
		return fault.New(fault.Invalid, "days", "%d days, an agent object holds 1 to %d", in.Days, maxAgentDays).WithHint("the node renews it in time where it holds the key")
	}
	if in.Days > 0 || t.life == 0 {
		days := in.Days
		if days == 0 {
			days = maxAgentDays
		}
		t.life = time.Duration(days) * 24 * time.Hour
	}
	if in.Display != "" {
		t.display = in.Display
	}
	return nil
}

func (in AgentInput) kindOver(t *term) error {
	kind := keyring.Kind(in.Kind)
	switch {
	case kind == "" && t.kind == "":
		t.kind = keyring.KindAgent
	case kind == "":
	case kind != keyring.KindAgent && kind != keyring.KindHuman:
		return fault.New(fault.Invalid, "kind", "kind %.40q is neither agent nor human", in.Kind).WithHint("--kind human is a person, whose own key signs")
	case t.kind != "" && t.kind != kind:
		return fault.New(fault.Conflict, "kind", "%s was of kind %s", t.name, t.kind).WithHint("take another name")
	default:
		t.kind = kind
	}
	return nil
}

// capabilities sorts what was asked for and refuses by name what grants nothing.
func capabilities(can []string, kind keyring.Kind) ([]keyring.Capability, error) {
	words := known
	if kind == keyring.KindHuman {
		words += ", approve"
	}
	var out []keyring.Capability
	for _, c := range can {
		switch k := keyring.Capability(c); {
		case k == keyring.Approve && kind != keyring.KindHuman:
			return nil, fault.New(fault.Invalid, "capability", "only a person may approve").WithHint("an agent can: %s", words)
		case !k.Known():
			return nil, fault.New(fault.Invalid, "capability", "capability %.40q is not known", c).WithHint("an agent can: %s", words)
		default:
			out = append(out, k)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		return nil, fault.New(fault.Invalid, "capability", "an agent that can do nothing is none").WithHint("name what it may do with --can: %s", words)
	}
	return out, nil
}

const known = "lend, borrow, receipts, propose"
