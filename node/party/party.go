// Package party answers: what if two organizations disagree, seen from one of them?
//
// It is the use case of whoever has a part in a case: the claimant files it and the
// node attaches what proves it, the respondent answers, the mediator takes its seat and
// rules, and everybody looks at it and writes the case file. A case is never stored: it
// is the fold of package mediation over the events of all logs held here, so every verb
// ends with the case as it then stands.
//
// What a verb names and this node lacks or holds as pending is asked of all members
// once. What a verb commits is one transaction: events, bodies, grants and audit rows
// together. The package opens no socket; it draws nothing and judges no opinion.
package party

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/mediation"
	"trustnode/node/self"
)

// Party is the part of one node in cases. It is safe for concurrent use.
type Party struct {
	n *self.Node
}

// New returns the part of n in cases.
func New(n *self.Node) *Party { return &Party{n} }

// Roles of a node in a case.
const (
	Claimant   = "claimant"
	Respondent = "respondent"
	Mediator   = "mediator" // it sits, or is offered the seat
	Observer   = "observer"
)

// View is a case as this node sees it.
type View struct {
	Case   mediation.Case
	Report mediation.Report // what the evidence shows by itself; without items where the manifests are not for this node
	Role   string

	Answer  string // text the respondent handed in; "" where there is none, or it is not for this node
	Reasons string // of the ruling in force; likewise
}

// Filing asks to open a case.
type Filing struct {
	Loan   string   // permission, by id or compact form
	Reason string   // code of the claim; R1 in this version
	Relief []string // of what a ruling may order; empty is score
}

// Reply answers a case: every claim that is not admitted is denied.
type Reply struct {
	Deny  bool
	Admit []int  // numbers of claims
	Text  string // for the other party and the mediators; "" for none
}

// Verdict is what a mediator decides.
type Verdict struct {
	Outcome  string // claimant, respondent, partial, undecided, abusive
	Severity int    // points, 0..100, of every claim found proven
	Reasons  string // private: for the parties
	Summary  string // public; "" makes one of the finding
}

// File opens a case over a loan of this organization, with the evidence that this node
// holds attached, and returns it. Refusals are *fault.Denied: invalid/item where nothing
// provable is held, conflict/open_cases, conflict/joined with the case in the hint,
// refused/no_mediator, refused/one_house, refused/not_a_party.
func (p *Party) File(ctx context.Context, in Filing) (View, error) { return View{}, nil }

// List gives the cases this node knows, newest first, after one round of asking.
func (p *Party) List(ctx context.Context) ([]View, error) { return nil, nil }

// Show gives one case. What the node lacks of it is asked of the members once;
// then not_found.
func (p *Party) Show(ctx context.Context, id string) (View, error) { return View{}, nil }

// Answer answers a case as its respondent.
func (p *Party) Answer(ctx context.Context, id string, in Reply) (View, error) { return View{}, nil }

// Rule rules on a case as its mediator; an offered seat is taken first.
func (p *Party) Rule(ctx context.Context, id string, in Verdict) (View, error) { return View{}, nil }

// Export returns the case file, which anyone verifies offline. It is refused if it does
// not verify by itself.
func (p *Party) Export(ctx context.Context, id string) ([]byte, error) { return nil, nil }

// Cases folds every case known here as of a moment, by id. It asks nobody.
func (p *Party) Cases(ctx context.Context, asOf time.Time) ([]mediation.Case, error) { return nil, nil }

// ParseID reads a case's id, or gives the refusal for one that is none.
func ParseID(text string) (envelope.ID, error) { return envelope.ParseID(text) }
