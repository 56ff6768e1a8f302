package lender

import (
	"context"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// MoveAgent gives an own agent another project, from now on. Nobody but the operator does
// that, and it leaves a row. Entries stay where they are, and running loans lend the place
// they were issued for.
func (l *Lender) MoveAgent(ctx context.Context, nameOrDID, projectName string) (self.AgentRow, error) {
	to, err := project(projectName)
	if err != nil {
		return self.AgentRow{}, refusal(err)
	}
	var out self.AgentRow
	err = l.n.DB.Update(ctx, func(tx store.Tx) error {
		a, err := l.agent(tx, nameOrDID)
		if err != nil {
			return err
		}
		from := ""
		if a.Project != "" {
			was, err := memory.NewPlace(tenant, a.Project)
			if err != nil {
				return err
			}
			from = was.String()
		}
		if from == to.String() {
			return fault.New(fault.Conflict, "project", "agent %s works there already", a.Name)
		}
		a.Project = to.Project()
		out = a
		at, _ := l.clock()
		body, _, err := lending.MarshalRow(lending.MoveRow{
			Agent: a.Agent, At: envelope.TimeOf(at), By: l.n.Org.String(), From: from, Op: lending.OpMove, Salt: lending.NewSalt(), To: to.String(),
		})
		if err != nil {
			return err
		}
		if _, err := l.n.Rec.Row(tx, audit.Row{Kind: lending.OpMove, Body: body, Keys: []string{a.Agent.String()}}); err != nil {
			return err
		}
		return l.n.PutAgent(tx, a)
	})
	if err != nil {
		return self.AgentRow{}, refusal(err)
	}
	return out, nil
}
