package mediation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// State is where a case stands. The zero value is a case nobody filed.
type State string

// The states of section 5 that this version reaches.
const (
	Filed        State = "filed"
	Evidence     State = "evidence"
	Drawing      State = "drawing"
	Deliberation State = "deliberation"
	Ruled        State = "ruled"
	Final        State = "final"
	Enforced     State = "enforced"
	Withdrawn    State = "withdrawn"
	Unresolved   State = "unresolved"
)

// order ranks states for readied, which covers every state up to the one named.
var order = map[State]int{Filed: 1, Evidence: 2, Drawing: 3, Deliberation: 4, Ruled: 5, Final: 6}

// Terminal says whether nothing moves a case any more.
func (s State) Terminal() bool {
	return s == Enforced || s == Withdrawn || s == Unresolved
}

// Taken is an event that had an effect, with the time that counts.
type Taken struct {
	ID    envelope.ID
	Type  attestation.Type
	Org   did.DID
	Index uint64
	At    time.Time
}

// Ignored is an event that changed nothing, and why.
type Ignored struct {
	ID   envelope.ID
	Type attestation.Type
	Org  did.DID
	Why  string
}

// Decision is a ruling in force.
type Decision struct {
	Ruling
	ID       envelope.ID // of the body
	Event    envelope.ID
	By       did.DID
	At       time.Time
	Omitted  bool // it does not rest on exactly the events taken before it: ground for an appeal
	Admitted bool // no mediator ruled: everything was admitted
}

// Case is a dispute at a moment. It is made by Fold alone.
type Case struct {
	ID                   envelope.ID
	Dispute              Dispute
	Claimant, Respondent did.DID
	State                State
	Since                time.Time // when the state opened
	Deadline             time.Time // when silence has its effect, grace not counted; zero: none
	Rung                 string    // the rung in use; "" before the first
	Candidate            did.DID   // whose turn it is to take the seat
	Mediator             did.DID   // who sits
	Place                uint64
	Replies              map[uint64]string
	Defaulted            bool // the respondent said nothing in time
	Manifests            []Handed
	Facts                map[uint64]attestation.Facts // by claim, as the claimant's newest manifest states
	Decision             *Decision
	Void                 []envelope.ID // rulings of one seat that contradict each other
	Unwitnessed          bool          // a step has no possible witness outside both houses: its at counts
	Events               []Taken
	Ignored              []Ignored
	// Beyond names what this version does not know how to decide, or "".
	Beyond string

	terms  Terms
	ready  map[did.DID]int
	skips  int
	spent  map[did.DID]bool // candidates that had their turn
	filed  time.Time
	passed map[State]time.Time // deadlines that silence has passed, by state
}

// Handed is a manifest a party handed in; the body may not be held here.
type Handed struct {
	By    did.DID
	ID    envelope.ID
	Event envelope.ID
	Body  []byte
}

// Filed is when the case was opened.
func (c Case) Filed() time.Time { return c.filed }

// Party says whether o is one of the two sides.
func (c Case) Party(o did.DID) bool { return o == c.Claimant || o == c.Respondent }

// NotYours refuses a move to whoever has no part in it.
type NotYours struct{ Kind attestation.Type }

func (e *NotYours) Error() string { return fmt.Sprintf("%s is for another organization", e.Kind) }

// NotNow refuses a move that the state does not allow yet or any more.
type NotNow struct {
	Kind  attestation.Type
	State State
}

func (e *NotNow) Error() string {
	return fmt.Sprintf("the case is %s, %s has no place in it", e.State, e.Kind)
}

// TooLate refuses a move after its deadline and grace.
type TooLate struct {
	Kind     attestation.Type
	Deadline time.Time
}

func (e *TooLate) Error() string {
	return fmt.Sprintf("%s was due at %s", e.Kind, e.Deadline.UTC().Format(time.RFC3339))
}

// May says whether who may make a move of this kind now: nil, or *NotYours, *NotNow,
// *TooLate. Fold ignores what May refuses.
func (c Case) May(who did.DID, kind attestation.Type) error {
	mine, states := c.rule(kind)
	if mine == nil {
		return &NotNow{kind, c.State}
	}
	if !mine(who) {
		return &NotYours{kind}
	}
	if slices.Contains(states, c.State) {
		return nil
	}
	for _, s := range states {
		if at, late := c.passed[s]; late {
			return &TooLate{kind, at}
		}
	}
	return &NotNow{kind, c.State}
}

// rule says whose a kind is and in which states it stands.
func (c Case) rule(kind attestation.Type) (func(did.DID) bool, []State) {
	is := func(o did.DID) func(did.DID) bool { return func(w did.DID) bool { return w == o && !o.IsZero() } }
	switch kind {
	case "dispute.evidence":
		return c.Party, []State{Filed, Evidence}
	case "dispute.readied":
		return c.Party, []State{Filed, Evidence, Drawing}
	case "dispute.answered":
		return is(c.Respondent), []State{Filed}
	case "dispute.withdrawn":
		return is(c.Claimant), []State{Filed}
	case "ruling.seated":
		return is(c.Candidate), []State{Drawing}
	case "ruling.recused":
		if c.State == Deliberation {
			return is(c.Mediator), []State{Deliberation}
		}
		return is(c.Candidate), []State{Drawing}
	case "ruling.issued":
		return is(c.Mediator), []State{Deliberation, Ruled}
	}
	return nil, nil
}

// Next says to which state silence leads, and when: right after that time, grace
// included. Zero time: nowhere.
func (c Case) Next() (State, time.Time) {
	if c.Deadline.IsZero() {
		return "", time.Time{}
	}
	at := c.Deadline.Add(Grace)
	n := c
	n.spent = maps.Clone(c.spent)
	n.silent(at)
	return n.State, at
}
