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
	"sync"

	"trustnode/mediation"
	"trustnode/node/self"
)

// Party is the part of one node in cases. It is safe for concurrent use.
type Party struct {
	n *self.Node

	filing sync.Mutex // held through a filing: what is open is counted once
	wants  wants
}

// New returns the part of n in cases. Where n.Standing also has ChartersFrom, case files
// can be written.
func New(n *self.Node) *Party { return &Party{n: n, wants: newWants()} }

// Roles of a node in a case.
const (
	Claimant   = "claimant"
	Respondent = "respondent"
	Mediator   = "mediator" // it sits, or is offered the seat
	Observer   = "observer"
)

// Pending is the state of a case that is filed and has no time yet: nobody outside both
// parties has cosigned the filing.
const Pending mediation.State = "pending"

// View is a case as this node sees it.
type View struct {
	Case   mediation.Case
	Report mediation.Report // what the evidence shows by itself; without items where the manifests are not for this node
	Role   string

	Answer  string // text the respondent handed in; "" where there is none, or it is not for this node
	Reasons string // of the ruling in force; likewise
	Unsure  string // why there is no Report, or ""
}

// Filing asks to open a case.
type Filing struct {
	Loan   string   // permission, by id or compact form
	Reason string   // code of the claim; R1 in this version
	Relief []string // of what a ruling may order; empty is score
}

// Reply answers a case: every claim that is not admitted is denied, where Deny says so.
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
