package party

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/casefile"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// List gives the cases this node knows, newest first, after one round of asking. What
// the evidence shows is left to Show.
func (p *Party) List(ctx context.Context) ([]View, error) {
	p.sync(ctx)
	ids, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	var out []View
	for _, id := range ids {
		f, err := p.look(ctx, id)
		if err != nil {
			return nil, err
		}
		if f.State != "" {
			out = append(out, View{Case: f.Case, Role: role(f.Case, p.n.Org)})
		}
	}
	slices.SortStableFunc(out, func(a, b View) int {
		return cmp.Compare(b.Case.Filed().Unix(), a.Case.Filed().Unix())
	})
	return out, nil
}

// Show gives one case. What the node lacks of it is asked of the members once;
// then not_found.
func (p *Party) Show(ctx context.Context, id string) (View, error) {
	f, err := p.named(ctx, id)
	if err != nil {
		return View{}, err
	}
	return p.view(ctx, f)
}

// named loads the case a verb names.
func (p *Party) named(ctx context.Context, text string) (folded, error) {
	id, err := ParseID(text)
	if err != nil {
		return folded{}, err
	}
	return p.load(ctx, id)
}

// view is a case with all that this node may see of it. The look of anybody but
// the parties at evidence is a durable row before anything is shown.
func (p *Party) view(ctx context.Context, f folded) (View, error) {
	v := View{Case: f.Case, Role: role(f.Case, p.n.Org)}
	if f.State == Pending {
		return v, nil
	}
	var err error
	if v.Report, err = p.report(ctx, f); err != nil {
		if ctx.Err() != nil {
			return View{}, err
		}
		v.Unsure = err.Error()
	}
	if !f.reads(p.n.Org) {
		return v, nil
	}
	if v.Answer, err = p.answerOf(ctx, f); err != nil {
		return View{}, err
	}
	if f.Decision != nil {
		if v.Reasons, err = p.text(ctx, f.Decision.Reasons); err != nil {
			return View{}, err
		}
	}
	if v.Role != Claimant && v.Role != Respondent && len(v.Report.Items) > 0 {
		return v, p.opened(ctx, f, opAccess)
	}
	return v, nil
}

// report is what the evidence of a case shows: the finding of the very engine that
// verifies case files, over the file this node would write.
func (p *Party) report(ctx context.Context, f folded) (mediation.Report, error) {
	b, err := casefile.Build(ctx, source{p.n}, f.ID)
	if err != nil {
		return mediation.Report{}, err
	}
	_, _, r, err := casefile.Open(ctx, b, casefile.Options{})
	return r, err
}

// answerOf is the text the respondent handed in, or "".
func (p *Party) answerOf(ctx context.Context, f folded) (string, error) {
	for _, h := range slices.Backward(f.Manifests) {
		m, err := mediation.ParseManifest(h.Body)
		if h.By != f.Respondent || err != nil {
			continue
		}
		for _, it := range m.Items {
			if it.Kind != "document" {
				continue
			}
			if text, err := p.text(ctx, it.ID); text != "" || err != nil {
				return text, err
			}
		}
	}
	return "", nil
}

// text reads a document held here, or "".
func (p *Party) text(ctx context.Context, id envelope.ID) (string, error) {
	if id.IsZero() {
		return "", nil
	}
	b, err := p.n.Rec.Body(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	d, err := mediation.ParseDocument(b)
	if err != nil {
		return "", nil // no text, whatever it is
	}
	return d.Text, nil
}

// Ops of the rows that say who opened the evidence of a case.
const (
	opAccess = "access" // a mediator looked at it
	opExport = "export" // it was written into a file
)

// openedRow is the audit row of an opening.
type openedRow struct {
	At        envelope.Time `json:"at"`
	Case      envelope.ID   `json:"case"`
	Manifests []envelope.ID `json:"manifests"` // whose items were opened
	Op        string        `json:"op"`
	Salt      string        `json:"salt"`
}

// opened makes an opening durable.
func (p *Party) opened(ctx context.Context, f folded, op string) error {
	at, err := p.n.Clock.Now()
	if err != nil {
		return fault.Wrap(fault.Unavailable, "clock", err)
	}
	r := openedRow{At: envelope.TimeOf(at), Case: f.ID, Op: op, Salt: random16()}
	for _, h := range f.Manifests {
		r.Manifests = append(r.Manifests, h.ID)
	}
	b, err := envelope.Marshal(r)
	if err != nil {
		return err
	}
	return p.n.DB.Update(ctx, func(tx store.Tx) error {
		_, err := p.n.Rec.Row(tx, audit.Row{Kind: op, Body: b, Keys: []string{f.ID.String()}})
		return err
	})
}

// Export returns the case file, which anyone verifies offline. It is refused if it does
// not verify by itself.
func (p *Party) Export(ctx context.Context, id string) ([]byte, error) {
	f, err := p.named(ctx, id)
	if err != nil {
		return nil, err
	}
	if f.State == Pending {
		return nil, p.may(f, "dispute.evidence")
	}
	b, err := casefile.Build(ctx, source{p.n}, f.ID)
	if err != nil {
		return nil, unfit(err)
	}
	if err := p.opened(ctx, f, opExport); err != nil {
		return nil, err
	}
	return b, nil
}

// unfit refuses a file that would not verify, or that something is missing for.
func unfit(err error) error {
	var broken *casefile.Fault
	switch {
	case errors.As(err, &broken):
		return fault.Wrap(fault.Unavailable, "unproven", err).WithHint("the file would not verify: %v", broken)
	case errors.Is(err, attestation.ErrNotFound):
		return fault.Wrap(fault.Unavailable, "incomplete", err).WithHint("something the case rests on is not here yet; try again when its owner can be reached")
	}
	return err
}
