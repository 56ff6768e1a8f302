package self

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/library"
	"trustnode/node/store"
)

const (
	keyAgent = "agent/" // agent/<did>: AgentRow
	keyName  = "an/"    // an/<name>: DID of the own agent of that name
)

// AgentRow is what decisions need of one agent, own or of another member: the newest
// object that verified. It is kept in the state database, so that a decision reads it
// in its own transaction.
type AgentRow struct {
	Agent        did.DID       `json:"agent"`
	Capabilities []string      `json:"capabilities"`
	Index        uint64        `json:"index"` // of agent.issued in the organization's log
	KID          string        `json:"kid"`
	Kind         string        `json:"kind"`
	Name         string        `json:"name"`
	NotAfter     envelope.Time `json:"not_after"`
	NotBefore    envelope.Time `json:"not_before"`
	Object       envelope.ID   `json:"object"`
	Org          did.DID       `json:"org"`
	Project      string        `json:"project,omitempty"` // of an own agent
	Pub          did.PublicKey `json:"pub"`
	Revoked      bool          `json:"revoked,omitempty"`
	Serial       uint64        `json:"serial"`
}

// Errors of an agent that may not act now.
var (
	ErrNoAgent      = errors.New("agent is not known here")
	ErrAgentEnded   = errors.New("agent has ended")
	ErrNoCapability = errors.New("agent lacks the capability")
)

// clockLead is how far before not_before an agent may already act.
const clockLead = 300 * time.Second

// RowOf makes the row of a verified agent object.
func RowOf(v envelope.Verified[keyring.Agent], index uint64) AgentRow {
	a := v.Body()
	caps := make([]string, len(a.Capabilities))
	for i, c := range a.Capabilities {
		caps[i] = string(c)
	}
	return AgentRow{Agent: a.Agent, Capabilities: caps, Index: index, KID: a.Key.Kid, Kind: string(a.Kind), Name: a.Name,
		NotAfter: a.NotAfter, NotBefore: a.NotBefore, Object: v.ID(), Org: a.Org, Pub: a.Key.Pub, Serial: a.Serial}
}

// May says whether the agent may use a capability at a moment: nil, ErrAgentEnded or
// ErrNoCapability. The end has no grace: at not_after it is over.
func (a AgentRow) May(capability string, at time.Time) error {
	switch {
	case a.Revoked:
		return fmt.Errorf("%s: %w", a.Name, ErrAgentEnded)
	case at.Before(a.NotBefore.Time().Add(-clockLead)), !at.Before(a.NotAfter.Time()):
		return fmt.Errorf("%s is valid from %s to %s: %w", a.Name, a.NotBefore, a.NotAfter, ErrAgentEnded)
	case !keyring.Capability(capability).Known(), !slices.Contains(a.Capabilities, capability):
		return fmt.Errorf("%s cannot %s: %w", a.Name, capability, ErrNoCapability)
	}
	return nil
}

// AgentState is how an agent stands at a moment, as people and programs read it.
type AgentState string

// The states.
const (
	AgentNotYet  AgentState = "not_yet" // before not_before, by more than 300 s
	AgentLive    AgentState = "live"
	AgentEnded   AgentState = "ended" // its time ran out
	AgentRevoked AgentState = "revoked"
)

// State says how the agent stands at a moment.
func (a AgentRow) State(at time.Time) AgentState {
	switch {
	case a.Revoked:
		return AgentRevoked
	case !at.Before(a.NotAfter.Time()):
		return AgentEnded
	case at.Before(a.NotBefore.Time().Add(-clockLead)):
		return AgentNotYet
	}
	return AgentLive
}

// Grants splits what the organization listed into what it grants here and what is not
// known and grants nothing. Neither is nil.
func (a AgentRow) Grants() (can, inert []string) {
	can, inert = []string{}, []string{}
	for _, c := range a.Capabilities {
		if keyring.Capability(c).Known() {
			can = append(can, c)
		} else {
			inert = append(inert, c)
		}
	}
	return can, inert
}

// Agent reads an agent's row in a transaction or snapshot, or ErrNoAgent.
func Agent(g library.Getter, d did.DID) (AgentRow, error) {
	b, err := g.Get([]byte(keyAgent + d.String()))
	if errors.Is(err, store.ErrNotFound) {
		return AgentRow{}, fmt.Errorf("%s: %w", d, ErrNoAgent)
	}
	if err != nil {
		return AgentRow{}, err
	}
	return parseAgent(d, b)
}

// PutAgent writes an agent's row, and for an own agent its name; a revoked one takes no
// name that another agent has.
func (n *Node) PutAgent(tx store.Tx, a AgentRow) error {
	b, err := envelope.Marshal(a)
	if err != nil {
		return err
	}
	if a.Org == n.Org {
		if err := putName(tx, a); err != nil {
			return err
		}
	}
	return tx.Set([]byte(keyAgent+a.Agent.String()), b)
}

func putName(tx store.Tx, a AgentRow) error {
	key := []byte(keyName + a.Name)
	if a.Revoked {
		if _, err := tx.Get(key); !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return tx.Set(key, []byte(a.Agent.String()))
}

// OwnAgent finds an own agent by name or DID, or ErrNoAgent.
func (n *Node) OwnAgent(g library.Getter, nameOrDID string) (AgentRow, error) {
	d, err := did.Parse(nameOrDID)
	if err != nil {
		b, err := g.Get([]byte(keyName + nameOrDID))
		if errors.Is(err, store.ErrNotFound) {
			return AgentRow{}, fmt.Errorf("%s: %w", nameOrDID, ErrNoAgent)
		}
		if err != nil {
			return AgentRow{}, err
		}
		if d, err = did.Parse(string(b)); err != nil {
			return AgentRow{}, err
		}
	}
	a, err := Agent(g, d)
	if err == nil && a.Org != n.Org {
		return AgentRow{}, fmt.Errorf("%s belongs to %s: %w", nameOrDID, a.Org, ErrNoAgent)
	}
	return a, err
}

// Agents lists the agents known here, by DID.
func (n *Node) Agents(ctx context.Context) ([]AgentRow, error) {
	var out []AgentRow
	var bad error
	err := n.DB.View(ctx, func(r store.Reader) error {
		return r.Scan([]byte(keyAgent), nil, func(_, v []byte) bool {
			var a AgentRow
			if bad = envelope.Unmarshal(v, &a); bad == nil {
				out = append(out, a)
			}
			return bad == nil
		})
	})
	return out, errors.Join(err, bad)
}

// SignerSource is the key source of any agent known here, read from a transaction or
// snapshot, whatever the agent's state: it says who signed, and whoever uses the object
// decides what that one may do now. The version of a key is the id of the agent object.
func SignerSource(g library.Getter) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		a, err := Agent(g, signer)
		if errors.Is(err, ErrNoAgent) {
			return did.Key{}, errors.Join(envelope.ErrUnknownKey, err)
		}
		if err != nil {
			return did.Key{}, err
		}
		if a.KID != kid {
			return did.Key{}, fmt.Errorf("%s has no key %.80q: %w", signer, kid, envelope.ErrUnknownKey)
		}
		return did.Key{Public: a.Pub, Version: a.Object.String()}, nil
	})
}

// ViewGetter reads single keys of a database from a fresh snapshot each time; for what
// is looked up outside a transaction and decides nothing.
func ViewGetter(ctx context.Context, db store.DB) library.Getter { return viewGetter{ctx, db} }

type viewGetter struct {
	ctx context.Context
	db  store.DB
}

func (v viewGetter) Get(key []byte) (out []byte, err error) {
	err = v.db.View(v.ctx, func(r store.Reader) error {
		out, err = r.Get(key)
		return err
	})
	return out, err
}

// AwaitAgent returns an agent's row as soon as it is there, at most after wait: what a
// sync brought is known here a moment after it ended. Errors: ErrNoAgent.
func AwaitAgent(ctx context.Context, db store.DB, d did.DID, wait time.Duration) (AgentRow, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		a, err := Agent(ViewGetter(context.WithoutCancel(ctx), db), d)
		if !errors.Is(err, ErrNoAgent) {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
