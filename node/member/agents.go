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
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AgentInput asks for a new agent, or for the draft of one whose key is held elsewhere.
type AgentInput struct {
	Name    string
	Can     []string // capabilities; none: those of the agent of that name that ran out
	Project string   // optional: the project whose memory it works in
	Kind    string   // agent, which is the default, or human
	Days    int      // how long it holds, 1 to 30; 0 is 30
	Display string   // optional: a role, up to 64 bytes; public
	// For is who holds the key, where that is not this node: its did:key.
	For string
	// Request is the file that the holder signed: a draft with its signature.
	Request []byte
}

// AddAgent makes an agent of this organization: its key first, unless that is held
// elsewhere and comes with a request, then in one transaction the object that both sign,
// its row and agent.issued. It returns when that is in the own log, or at once where the
// log takes nothing now. The name of an agent that has ended is given anew with a higher
// serial, to the same key unless that was revoked: a revoked key comes back only where the agent ended with the compromised
// key of the organization.
func (m *Member) AddAgent(ctx context.Context, in AgentInput) (self.AgentRow, error) {
	if len(in.Request) > 0 {
		if err := in.meant(); err != nil {
			return self.AgentRow{}, err
		}
	}
	row, event, err := m.addAgent(ctx, in)
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

func (m *Member) addAgent(ctx context.Context, in AgentInput) (self.AgentRow, envelope.ID, error) {
	m.own.Lock()
	defer m.own.Unlock()
	at, err := m.now()
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	t, err := m.plan(ctx, in, at)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	switch {
	case len(in.Request) > 0:
		err = m.requested(&t, in.Request, at)
	case in.For != "":
		err = fault.New(fault.Invalid, "request", "a key that is held elsewhere signs first").WithHint("make a draft for its holder with --draft FILE, and give what comes back with --request FILE")
	default:
		t.key, err = m.agentKey(ctx, t)
	}
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	return m.issue(ctx, t, at)
}

// agentKey is the key of an agent that only ran out, else a new one. Whoever had a revoked
// agent's key may still have it.
func (m *Member) agentKey(ctx context.Context, t term) (envelope.Signer, error) {
	if t.kind != keyring.KindAgent {
		return nil, fault.New(fault.Invalid, "person", "a person's key is the person's own, this node makes and holds none").
			WithHint("the person signs a draft: --for DID --draft FILE, then --request FILE")
	}
	if t.last.Agent.IsZero() || t.last.Revoked {
		return m.n.Signers.NewAgent(ctx)
	}
	s, _, err := m.n.Signers.Agent(ctx, t.last.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return nil, fault.New(fault.Conflict, "no_key", "the key of agent %s, %s, is not held here", t.name, t.last.Agent).
			WithHint("its holder signs a draft: --for %s --draft FILE; or revoke it, and the name is free for a new key", t.last.Agent)
	}
	return s, err
}

// issue signs an agent object and commits it with its row and event. The caller holds own.
func (m *Member) issue(ctx context.Context, t term, at time.Time) (self.AgentRow, envelope.ID, error) {
	org, kid, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	e, err := m.sealed(ctx, t, org, kid, at)
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, err
	}
	v, err := keyring.OpenAgent(ctx, e, m.n.Ring.HeadSource())
	if err != nil {
		return self.AgentRow{}, envelope.ID{}, agentForm(err)
	}
	i := issuing{v: v, was: t.was, at: at, row: self.RowOf(v, 0)} // its index is known once it is logged
	i.row.Project = t.project
	if m.cfg.Credential != nil {
		if i.vc, err = m.cfg.Credential(ctx, v, org); err != nil {
			return self.AgentRow{}, envelope.ID{}, err
		}
	}
	row, event := i.row, envelope.ID{}
	err = m.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		row, event, err = m.putIssued(tx, i)
		return err
	})
	return row, event, undrafted(err)
}

// sealed is the agent object of a term under both signatures.
func (m *Member) sealed(ctx context.Context, t term, org envelope.Signer, kid string, at time.Time) (envelope.Envelope, error) {
	pub := t.holder
	if t.request.Body == nil {
		pub = t.key.Public()
	} else {
		at = t.asked
	}
	a, err := m.agentBody(ctx, t, pub, kid, at)
	if err != nil {
		return envelope.Envelope{}, err
	}
	if t.request.Body == nil {
		e, err := keyring.SealAgent(ctx, a, org, t.key)
		return e, agentForm(err)
	}
	e, err := keyring.CountersignAgent(ctx, t.request, a, org)
	if errors.Is(err, keyring.ErrRequest) {
		return e, differs(a, t.request)
	}
	return e, agentForm(err)
}

func (m *Member) agentBody(ctx context.Context, t term, pub did.PublicKey, kid string, at time.Time) (keyring.Agent, error) {
	d, err := didkey.FromKey(pub)
	if err != nil {
		return keyring.Agent{}, err
	}
	version, err := m.version(ctx)
	if err != nil {
		return keyring.Agent{}, err
	}
	from := envelope.TimeOf(at)
	return keyring.Agent{Agent: d, Capabilities: t.caps, DIDVersion: version, Display: t.display, IssuedAt: from, Key: keyring.AgentKey{Kid: pub.Multikey(), Pub: pub},
		Kid: kid, Kind: t.kind, Name: t.name, NotAfter: from.Add(t.life), NotBefore: from, Org: m.n.Org, Serial: t.was.Serial + 1}, nil
}

// agentForm says which member of an agent object was wrong.
func agentForm(err error) error {
	var form *envelope.FormError
	if errors.As(err, &form) {
		return fault.Wrap(fault.Invalid, form.Path, err).WithHint("a name is [a-z][a-z0-9-]{0,31}, --display a text of at most 64 bytes")
	}
	return err
}

// issuing is one agent object about to be committed.
type issuing struct {
	v   envelope.Verified[keyring.Agent]
	was namedRow // of its name, when it was decided
	at  time.Time
	row self.AgentRow
	vc  []byte // nil without one
}

// putIssued is the transaction of issue.
func (m *Member) putIssued(tx store.Tx, i issuing) (self.AgentRow, envelope.ID, error) {
	row := i.row
	named, _, err := get[namedRow](tx, namedKey(m.n.Org, row.Name))
	if err != nil {
		return row, envelope.ID{}, err
	}
	if named != i.was {
		return row, envelope.ID{}, fault.New(fault.Conflict, "name_taken", "agent %s changed meanwhile", row.Name).WithHint("try again")
	}
	cur, err := m.mayBear(tx, row, i.at)
	if err != nil {
		return row, envelope.ID{}, err
	}
	row.Project = cmp.Or(row.Project, cur.Project)
	if cur.State(i.at) != self.AgentLive { // a token ends with the object it was made under
		if err := errors.Join(m.dropTokens(tx, row.Agent), m.dropTokens(tx, named.Agent)); err != nil {
			return row, envelope.ID{}, err
		}
	}
	named.Agent, named.Object, named.Serial = row.Agent, row.Object, row.Serial
	err = errors.Join(m.putObject(tx, i.v), m.n.PutAgent(tx, row), put(tx, namedKey(m.n.Org, row.Name), named))
	if err == nil && i.vc != nil {
		err = tx.Set([]byte(vcKey(row.Object)), i.vc)
	}
	if err != nil {
		return row, envelope.ID{}, err
	}
	event, err := m.n.Rec.Event(tx, attestation.Draft{Type: "agent.issued", Subject: row.Agent.String(), Refs: []envelope.ID{row.Object},
		Data: attestation.AgentIssued{Agent: row.Agent, ID: row.Object, Name: row.Name, Serial: row.Serial}})
	return row, event, err
}

// mayBear refuses to make an agent of a DID that cannot be one under this name, and returns
// the row it has here; the zero row without one.
func (m *Member) mayBear(g library.Getter, next self.AgentRow, at time.Time) (self.AgentRow, error) {
	cur, err := self.Agent(g, next.Agent)
	switch {
	case errors.Is(err, self.ErrNoAgent):
		return self.AgentRow{}, nil
	case err != nil:
		return cur, err
	case cur.Org != m.n.Org && (cur.Revoked || cur.State(at) != self.AgentEnded):
		return cur, fault.New(fault.Conflict, "agent_claimed", "%s is agent %s of %s, %s", cur.Agent, cur.Name, place(cur.Org), cur.State(at)).
			WithHint("an agent acts for one organization: make another key, or wait until that one has ended")
	case cur.Org != m.n.Org:
		return self.AgentRow{}, nil
	case cur.Revoked && !m.kept(g, cur.Agent):
		return cur, fault.New(fault.Refused, "revoked_key", "%s was revoked as agent %s, and whoever had that key may still have it", cur.Agent, cur.Name).
			WithHint("make another key; the name may stay")
	case cur.Name != next.Name:
		return cur, fault.New(fault.Conflict, "agent_claimed", "%s is agent %s already", cur.Agent, cur.Name).WithHint("one key has one name: make another key")
	}
	return cur, nil
}

// kept reports whether a revoked agent's own key may come back. What cannot be read may not.
func (m *Member) kept(g library.Getter, d did.DID) bool {
	ended, ok, err := get[endedRow](g, endedKey(d))
	return err == nil && ok && ended.Kept
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

// Renew renews own agents and the own binding where a third of their time is left, and own
// agents whose object is by a key that has left the own document since. A
// person's object is never renewed by the node, nor one whose key is not held here.
func (m *Member) Renew(ctx context.Context, at time.Time) error {
	m.own.Lock()
	defer m.own.Unlock()
	if s, _ := m.n.Rec.State(); s != recorder.Open || m.ownDID() == did.Frozen {
		return nil // the next hour will do
	}
	list, err := m.Agents(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range list { // one that cannot be renewed holds up no other, nor the binding
		if a.Kind != string(keyring.KindAgent) {
			continue
		}
		old := due(a, at)
		if !old {
			if old, err = m.outdated(ctx, a, at); err != nil {
				errs = append(errs, fmt.Errorf("agent %s: %w", a.Name, err))
			}
		}
		if !old {
			continue
		}
		if err := m.renewAgent(ctx, a, at); err != nil {
			errs = append(errs, fmt.Errorf("agent %s: %w", a.Name, err))
		}
	}
	return errors.Join(append(errs, m.renewBinding(ctx, at))...)
}

// due reports whether a live agent has a third of its time left, or less.
func due(a self.AgentRow, at time.Time) bool {
	return a.State(at) == self.AgentLive && !left(a.NotBefore, a.NotAfter, at)
}

// outdated reports whether a live agent's object is by a key that the newest version of the own DID lists no more. Nodes take
// it for as long as it lasts; nobody can verify its credential, which is in no log.
func (m *Member) outdated(ctx context.Context, a self.AgentRow, at time.Time) (bool, error) {
	if a.State(at) != self.AgentLive {
		return false, nil
	}
	body, err := m.bodyOf(ctx, a)
	if errors.Is(err, library.ErrAbsent) {
		return false, nil // put back from a copy that lacked it
	}
	if err != nil {
		return false, err
	}
	_, err = m.n.Ring.HeadSource().Key(ctx, m.n.Org, body.Kid)
	return errors.Is(err, envelope.ErrRetired), nil
}

// renewAgent issues an agent's object anew, as it was. The caller holds own.
func (m *Member) renewAgent(ctx context.Context, a self.AgentRow, at time.Time) error {
	key, _, err := m.n.Signers.Agent(ctx, a.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := m.again(ctx, a)
	if err != nil {
		return err
	}
	t.key = key
	_, _, err = m.issue(ctx, t, at)
	return err
}

// Expiring lists the live own agents that have a third of their time left, or less, and
// that this node cannot renew: persons, and those whose key is held elsewhere. Errors are
// of the store.
func (m *Member) Expiring(ctx context.Context, at time.Time) ([]self.AgentRow, error) {
	list, err := m.Agents(ctx)
	if err != nil {
		return nil, err
	}
	var out []self.AgentRow
	for _, a := range list {
		if !due(a, at) {
			continue
		}
		here, err := m.renewable(ctx, a)
		if err != nil {
			return nil, err
		}
		if !here {
			out = append(out, a)
		}
	}
	return out, nil
}

// renewable reports whether this node renews an own agent by itself.
func (m *Member) renewable(ctx context.Context, a self.AgentRow) (bool, error) {
	if a.Kind != string(keyring.KindAgent) {
		return false, nil
	}
	_, _, err := m.n.Signers.Agent(ctx, a.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return false, nil
	}
	return err == nil, err
}
