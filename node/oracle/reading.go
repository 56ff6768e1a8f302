package oracle

import (
	"context"
	"maps"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
)

// reading is what the logs say of everybody as of a moment. It is never changed once made.
type reading struct {
	found
	at      time.Time
	signals []trust.Signal // of loans and of cases
}

// found is what the logs say whatever the moment, but for the rulings that are final.
type found struct {
	version uint64      // of the logs
	charter envelope.ID // head of the chain
	broken  map[envelope.ID]bool
	issued  map[claim]bool // organizations that issued an agent, by their own logs
	world   trust.World
	loans   []trust.Signal
}

// claim is an organization that says an agent is its own.
type claim struct{ org, agent did.DID }

// read reads the logs. They hold every loan there ever was, and anybody may ask, so the
// last reading is kept for as long as it says what another one would.
func (o *Oracle) read(ctx context.Context, head charter.Head, at time.Time) (reading, error) {
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return reading{}, ctx.Err()
	}
	defer func() { <-o.turn }()
	version := o.n.Rec.Version() // before anything is read
	was := o.last
	same := was.version == version && was.charter == head.ID
	if same && was.at.Equal(at) {
		return was, nil
	}
	cases, err := o.cases.Cases(ctx, at)
	if err != nil {
		return reading{}, err
	}
	f, broken := was.found, ruled(cases)
	if !same || !maps.Equal(was.broken, broken) {
		if f, err = o.find(ctx, head, broken); err != nil {
			return reading{}, err
		}
		f.version = version
	}
	o.last = reading{found: f, at: at, signals: f.withCases(cases)}
	return o.last, nil
}

// find folds agents and loans; broken names the permissions that a final ruling found to
// be broken.
func (o *Oracle) find(ctx context.Context, head charter.Head, broken map[envelope.ID]bool) (found, error) {
	f := found{charter: head.ID, broken: broken, issued: map[claim]bool{}}
	var facts []attestation.Fact
	for _, q := range []attestation.Query{{Type: "agent.issued"}, {Type: "loan."}} {
		for x, err := range o.n.Rec.Facts(ctx, q) {
			if err != nil {
				return found{}, err
			}
			facts = append(facts, x)
			var d attestation.AgentIssued
			if e := x.Event.Body(); e.Type == "agent.issued" && e.Decode(&d) == nil {
				f.issued[claim{e.Org, d.Agent}] = true
			}
		}
	}
	f.loans = trust.Signals(facts, broken)
	f.world = trust.World{Orgs: trust.Orgs(facts), Groups: charter.Groups(head.Body)}
	for _, m := range head.Members {
		f.world.Orgs[m.DID] = m.DID
	}
	return f, nil
}
