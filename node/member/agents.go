package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/attestation"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AddAgent makes an agent of this organization for 30 days: its key first, then in one
// transaction the object that both sign, its row and agent.issued. It returns when that
// is in the own log, or at once where the log takes nothing now. The name of an agent that
// has ended is given anew with a higher serial, to the same key unless that was revoked.
func (m *Member) AddAgent(ctx context.Context, in AgentInput) (self.AgentRow, error) {
	caps, err := capabilities(in.Can)
	if err != nil {
		return self.AgentRow{}, err
	}
	if in.Project != "" {
		if _, err := memory.NewPlace("main", in.Project); err != nil {
			return self.AgentRow{}, fault.Wrap(fault.Invalid, "project", err).WithHint("a project is named with 1 to 64 of a-z 0-9 . _ -")
		}
	}
	row, event, err := m.addAgent(ctx, in, caps)
	if err != nil {
		return self.AgentRow{}, err
	}
	return row, m.settled(ctx, event)
}

// settled waits for an own event where the own log takes it; elsewhere it waits itself.
func (m *Member) settled(ctx context.Context, event envelope.ID) error {
	err := m.appended(ctx, event)
	var denied *fault.Denied
	if errors.As(err, &denied) && denied.Reason == reasonRecovering {
		return nil
	}
	return err
}

func (m *Member) addAgent(ctx context.Context, in AgentInput, caps []keyring.Capability) (self.AgentRow, envelope.ID, error) {
	m.own.Lock()
	defer m.own.Unlock()
	at, err := m.now()
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	was, err := m.free(self.ViewGetter(ctx, m.n.DB), in.Name, at)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	key, err := m.agentKey(ctx, was)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	return m.issue(ctx, term{name: in.Name, caps: caps, project: in.Project, key: key, after: was.Serial}, at)
}

// capabilities sorts what was asked for and refuses by name what grants nothing.
func capabilities(can []string) ([]keyring.Capability, error) {
	var out []keyring.Capability
	for _, c := range can {
		switch k := keyring.Capability(c); {
		case k == keyring.Approve:
			return nil, fault.New(fault.Invalid, "capability", "only a person may approve").WithHint("an agent can: %s", known)
		case !k.Known():
			return nil, fault.New(fault.Invalid, "capability", "capability %.40q is not known", c).WithHint("an agent can: %s", known)
		default:
			out = append(out, k)
		}
	}
	slices.Sort(out)
	if out = slices.Compact(out); len(out) == 0 {
		return nil, fault.New(fault.Invalid, "capability", "an agent that can do nothing is none").WithHint("name what it may do with --can: %s", known)
	}
	return out, nil
}

const known = "lend, borrow, receipts, propose"

// free returns what is on record of an own agent's name, the zero row for nothing, or
// refuses a name that is in use.
func (m *Member) free(g library.Getter, name string, at time.Time) (was namedState, err error) {
	row, ok, err := get[namedRow](g, namedKey(m.n.Org, name))
	if err != nil || !ok {
		return namedState{}, err
	}
	was = namedState{namedRow: row}
	was.agent, err = self.Agent(g, row.Agent)
	if errors.Is(err, self.ErrNoAgent) {
		return was, nil
	}
	if err != nil {
		return was, err
	}
	if !was.agent.Revoked && at.Before(was.agent.NotAfter.Time()) {
		return was, fault.New(fault.Conflict, "name_taken", "agent %s exists: %s until %s", name, was.agent.Agent, was.agent.NotAfter).
			WithHint("take another name; the node renews this one by itself")
	}
	return was, nil
}

// namedState is a name with the agent that had it last.
type namedState struct {
	namedRow
	agent self.AgentRow
}

// agentKey is the key of an agent that only ran out, else a new one. Whoever had a revoked
// agent's key may still have it.
func (m *Member) agentKey(ctx context.Context, was namedState) (envelope.Signer, error) {
	if !was.agent.Agent.IsZero() && !was.agent.Revoked {
		s, _, err := m.n.Signers.Agent(ctx, was.agent.Agent)
		if !errors.Is(err, self.ErrNoKey) {
			return s, err
		}
	}
	return m.n.Signers.NewAgent(ctx)
}

// term is one life of an agent, before it is signed.
type term struct {
	name    string
	caps    []keyring.Capability
	project string
	key     envelope.Signer
	after   uint64 // the serial before this one
}

// issue signs an agent object and commits it with its row and event. The caller holds own.
func (m *Member) issue(ctx context.Context, t term, at time.Time) (self.AgentRow, envelope.ID, error) {
	org, kid, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	a, err := m.agentBody(ctx, t, kid, at)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	e, err := keyring.SealAgent(ctx, a, org, t.key)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, agentForm(err)
	}
	v, err := keyring.OpenAgent(ctx, e, m.n.Ring.HeadSource())
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	row := self.RowOf(v, 0) // its index is known once it is logged
	row.Project = t.project
	var event envelope.ID
	err = m.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		event, err = m.putIssued(tx, v, row, t.after)
		return err
	})
	return row, event, undrafted(err)
}

func (m *Member) agentBody(ctx context.Context, t term, kid string, at time.Time) (keyring.Agent, error) {
	d, err := didkey.FromKey(t.key.Public())
	if err != nil {
		return keyring.Agent{}, err
	}
	version, err := m.version(ctx)
	if err != nil {
		return keyring.Agent{}, err
	}
	now := envelope.TimeOf(at)
	return keyring.Agent{Agent: d, Capabilities: t.caps, DIDVersion: version, IssuedAt: now, Key: keyring.AgentKey{Kid: t.key.Public().Multikey(), Pub: t.key.Public()},
		Kid: kid, Kind: keyring.KindAgent, Name: t.name, NotAfter: now.Add(agentLife), NotBefore: now, Org: m.n.Org, Serial: t.after + 1}, nil
}

// agentForm says which member of an agent object was wrong.
func agentForm(err error) error {
	var form *envelope.FormError
	if errors.As(err, &form) {
		return fault.Wrap(fault.Invalid, form.Path, err).WithHint("a name is [a-z][a-z0-9-]{0,31}")
	}
	return err
}

// putIssued is the transaction of issue.
func (m *Member) putIssued(tx store.Tx, v envelope.Verified[keyring.Agent], row self.AgentRow, after uint64) (envelope.ID, error) {
	named, _, err := get[namedRow](tx, namedKey(m.n.Org, row.Name))
	if err != nil {
		return envelope.ID{}, err
	}
	if named.Serial != after {
		return envelope.ID{}, fault.New(fault.Conflict, "name_taken", "agent %s was issued meanwhile", row.Name).WithHint("try again")
	}
	if err := m.putObject(tx, v); err != nil {
		return envelope.ID{}, err
	}
	if err := m.n.PutAgent(tx, row); err != nil {
		return envelope.ID{}, err
	}
	named.Agent, named.Object, named.Serial = row.Agent, row.Object, row.Serial
	if err := put(tx, namedKey(m.n.Org, row.Name), named); err != nil {
		return envelope.ID{}, err
	}
	return m.n.Rec.Event(tx, attestation.Draft{Type: "agent.issued", Subject: row.Agent.String(), Refs: []envelope.ID{row.Object},
		Data: attestation.AgentIssued{Agent: row.Agent, ID: row.Object, Name: row.Name, Serial: row.Serial}})
}

// putObject keeps a verified agent object for every member.
func (m *Member) putObject(tx store.Tx, v envelope.Verified[keyring.Agent]) error {
	if err := m.n.Lib.Put(tx, library.Object{ID: v.ID(), What: whatAgent, Bytes: v.Envelope().DSSE()}); err != nil {
		return err
	}
	return m.n.Lib.GrantAll(tx, v.ID())
}

const whatAgent = "agent"

// Agents lists the own agents, each under the name it holds, by name. Ended ones are
// listed until their name is given anew.
func (m *Member) Agents(ctx context.Context) ([]self.AgentRow, error) {
	all, err := m.n.Agents(ctx)
	if err != nil {
		return nil, err
	}
	g := self.ViewGetter(ctx, m.n.DB)
	out := []self.AgentRow{}
	for _, a := range all {
		if a.Org != m.n.Org {
			continue
		}
		named, _, err := get[namedRow](g, namedKey(m.n.Org, a.Name))
		if err != nil {
			return nil, err
		}
		if named.Agent == a.Agent {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b self.AgentRow) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Renew renews own agents and the own binding where a third of their time is left. A
// person's object is never renewed by the node, nor one whose key is not held here.
func (m *Member) Renew(ctx context.Context, at time.Time) error {
	list, err := m.Agents(ctx)
	if err != nil {
		return err
	}
	m.own.Lock()
	defer m.own.Unlock()
	if s, _ := m.n.Rec.State(); s != recorder.Open {
		return nil // the next hour will do
	}
	var errs []error
	for _, a := range list { // one that cannot be renewed holds up no other, nor the binding
		live := !a.Revoked && at.Before(a.NotAfter.Time())
		if !live || a.Kind != string(keyring.KindAgent) || left(a.NotBefore, a.NotAfter, at) {
			continue
		}
		if err := m.renewAgent(ctx, a, at); err != nil {
			errs = append(errs, fmt.Errorf("agent %s: %w", a.Name, err))
		}
	}
	return errors.Join(append(errs, m.renewBinding(ctx, at))...)
}

func (m *Member) renewAgent(ctx context.Context, a self.AgentRow, at time.Time) error {
	key, _, err := m.n.Signers.Agent(ctx, a.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	t := term{name: a.Name, project: a.Project, key: key, after: a.Serial}
	for _, c := range a.Capabilities {
		t.caps = append(t.caps, keyring.Capability(c))
	}
	slices.SortFunc(t.caps, cmp.Compare[keyring.Capability])
	_, _, err = m.issue(ctx, t, at)
	return err
}
