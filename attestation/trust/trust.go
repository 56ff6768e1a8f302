// Package trust answers: how has this party kept its word so far?
//
// A score is a pure fold over signed events: equal events, policy and time give
// equal bytes on every node. Only integers occur, so no platform rounds
// differently, and nothing here reads a clock, a store or a socket. Facts become
// Signals; Signals fold into an Answer. The numbers stand in policy-v1.json, whose
// id the charter may name.
package trust

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// Code names what a signal says. Codes travel in policies: append only.
type Code string

// Codes with points stand in the policy. These are only counted.
const (
	Issued    Code = "issued"     // a permission was issued, for its lender
	Ended     Code = "ended"      // a loan ended, for its borrower
	EndedLent Code = "ended_lent" // a loan ended, for its lender
	Revoked   Code = "revoked"    // a loan was revoked, for its lender
	Opened    Code = "opened"     // a case was filed, for both sides
	Won       Code = "won"        // a case became final in this side's favour
	Lost      Code = "lost"       // a case became final against this side
	Undecided Code = "undecided"  // a case ended without a finding
	Defaulted Code = "defaulted"  // a case was decided on this side's silence
)

// Signal is one thing an event says about one party.
type Signal struct {
	ID       envelope.ID // of the event
	At       int64       // when the event was first cosigned, seconds since 1970 UTC
	Subject  did.DID     // whom it is about: an agent or an organization
	Org      did.DID     // the subject's organization
	Other    did.DID     // the organization on the other side; zero: none
	Code     Code
	Severity int64 // thousandths of a point, 0..100000, where the code is graded
	Acts     int64 // acts found, where a ruling counts them
	Part     int64 // which of several things of one code the event says of the subject, such as the number of a claim; else 0
}

// World says who belongs together. It is data, made by the node from the charter
// and the agent objects it holds.
type World struct {
	Orgs   map[did.DID]did.DID // agent to organization; an organization to itself
	Groups map[did.DID]int     // organization to affiliate group; absent: alone
}

// sameHouse reports whether a and b are one organization, or of one affiliate group.
func (w World) sameHouse(a, b did.DID) bool {
	if a == b {
		return true
	}
	ga, oka := w.Groups[a]
	gb, okb := w.Groups[b]
	return oka && okb && ga == gb
}

// View is whose partners count full. The zero value is the federation: all members equal.
type View struct{ Org did.DID }

// Dimension is one of the twelve questions of the score.
type Dimension string

// Dimensions in the order of their weights.
const (
	Safety            Dimension = "safety"
	Trustworthiness   Dimension = "trustworthiness"
	Reliability       Dimension = "reliability"
	ScopeHonesty      Dimension = "scope_honesty"
	Security          Dimension = "security"
	SelfAudit         Dimension = "self_audit"
	Accuracy          Dimension = "accuracy"
	Bond              Dimension = "bond"
	Transparency      Dimension = "transparency"
	Latency           Dimension = "latency"
	CostEfficiency    Dimension = "cost_efficiency"
	RuntimeCompliance Dimension = "runtime_compliance"
)

// dimensions is how many there are.
const dimensions = 12

// Dimensions lists all twelve.
var Dimensions = []Dimension{Safety, Trustworthiness, Reliability, ScopeHonesty, Security, SelfAudit, Accuracy, Bond, Transparency, Latency, CostEfficiency, RuntimeCompliance}
