package lender

import (
	"context"
	"errors"
	"io"

	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/memory/importers"
	"trustnode/node/self"
	"trustnode/node/store"
)

// MaxGroups is how many groups of a file one import may map to projects.
const MaxGroups = 256

// ImportInput asks to bring in a file.
type ImportInput struct {
	Agent    string // own agent in whose place it goes, by name or DID
	Project  string // as in AddInput
	Format   string // auto (or empty), or one of importers.Formats
	File     io.Reader
	DryRun   bool              // report only
	Messages bool              // of an agent file, its messages too
	Groups   map[string]string // project of each group that the file divides its entries into
}

// Import streams a file into the memory of an agent's project, and its groups into the
// projects they are mapped to; all wait there in quarantine. What was taken is in the
// report beside an error too.
func (l *Lender) Import(ctx context.Context, in ImportInput) (memory.Report, error) {
	now, _ := l.clock()
	im, file, err := importers.For(in.Format, in.File, importers.Options{Messages: in.Messages, At: now})
	if err != nil {
		return memory.Report{}, refusal(err)
	}
	a, at, err := l.settleImport(ctx, in)
	if err != nil {
		return memory.Report{}, refusal(err)
	}
	w, err := memory.NewWriter(at, a.Agent, memory.ByImport)
	if err != nil {
		return memory.Report{}, refusal(err)
	}
	groups, err := groupWriters(w, in.Groups)
	if err != nil {
		return memory.Report{}, refusal(err)
	}
	also := func(tx store.Tx, in memory.Place, es []memory.Entry) error {
		return errors.Join(l.imported(tx, a, in, im.Name(), len(es)), spanned(tx, in, now, es))
	}
	rep, err := l.n.Entries.Import(ctx, w, im, file, memory.ImportOptions{DryRun: in.DryRun, Groups: groups, Also: also})
	return rep, refusal(err)
}

// settleImport is settle; a dry run leaves no trace of it.
func (l *Lender) settleImport(ctx context.Context, in ImportInput) (a self.AgentRow, at memory.Place, err error) {
	err = l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		if a, at, err = l.settle(tx, in.Agent, in.Project); err == nil && in.DryRun {
			return errDry
		}
		return err
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return a, at, err
}

// errDry ends a transaction without a trace.
var errDry = errors.New("dry run")

// groupWriters says who brings in each group: the agent into its own project, the
// operator, who chose them, into the others. A file never chooses.
func groupWriters(own memory.Writer, projects map[string]string) (map[string]memory.Writer, error) {
	if len(projects) > MaxGroups {
		return nil, fault.New(fault.TooLarge, "map", "%d groups, at most %d", len(projects), MaxGroups).WithHint("import in parts")
	}
	out := map[string]memory.Writer{}
	for group, name := range projects {
		at, err := project(name)
		if err != nil {
			return nil, err
		}
		w := own
		if at != own.Place() {
			if w, err = memory.NewWriter(at, did.DID{}, memory.ByImport); err != nil {
				return nil, err
			}
		}
		out[group] = w
	}
	return out, nil
}

// imported drafts the row of one transaction of an import.
func (l *Lender) imported(tx store.Tx, a self.AgentRow, in memory.Place, format string, n int) error {
	at, _ := l.clock()
	body, _, err := lending.MarshalRow(lending.ImportRow{
		At: envelope.TimeOf(at), By: a.Agent.String(), Count: uint64(n), Format: format, Op: lending.OpImport, Place: in.String(), Salt: lending.NewSalt(),
	})
	if err != nil {
		return err
	}
	_, err = l.n.Rec.Row(tx, audit.Row{Kind: lending.OpImport, Body: body, Keys: []string{a.Agent.String()}})
	return err
}
