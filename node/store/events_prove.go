package store

import (
	"context"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
)

// RowProver proves rows one after the other. It reads the leaves of an audit.rows once for
// rows under it that follow each other. It is for one goroutine.
type RowProver struct {
	e     *Events
	cover attestation.Cover // of tree
	tree  *attlog.Paths
}

// RowProver returns one that has read nothing yet.
func (e *Events) RowProver() *RowProver { return &RowProver{e: e} }

// ProveRow is Events.ProveRow.
func (p *RowProver) ProveRow(ctx context.Context, row envelope.ID) (audit.RowProof, attestation.Cover, error) {
	n, err := p.e.RowNumber(ctx, row)
	if err != nil {
		return audit.RowProof{}, attestation.Cover{}, err
	}
	c, err := p.e.CoverOf(ctx, n)
	if err != nil {
		return audit.RowProof{}, attestation.Cover{}, err
	}
	var kept keptRow
	err = p.e.db.View(ctx, func(s Reader) error {
		kept, err = readRow(s, n)
		return err
	})
	if err != nil {
		return audit.RowProof{}, attestation.Cover{}, err
	}
	if p.tree == nil || p.cover != c {
		leaves, err := p.e.RowLeaves(ctx, c.First, c.Size)
		if err != nil {
			return audit.RowProof{}, attestation.Cover{}, err
		}
		p.cover, p.tree = c, attlog.NewPaths(leaves)
	}
	path, err := p.tree.Path(n - c.First)
	if err != nil {
		return audit.RowProof{}, attestation.Cover{}, err
	}
	out := audit.RowProof{Row: kept.row.Body, Index: n - c.First, Size: c.Size, Path: path}
	if kept.gone {
		return audit.RowProof{}, c, &audit.Gone{ID: row, Proof: out}
	}
	return out, c, nil
}
