package memory

import "slices"

// Kind says what sort of statement an entry is. No kind carries authority: a
// remembered "approved" is a DecisionNote and grants nothing. Values are
// stored by name.
type Kind uint8

// The kinds. The first five are information, the last three intention.
const (
	Observation Kind = iota + 1
	Belief
	Preference
	Result
	DecisionNote
	Goal
	Task
	Instruction
)

var kinds = []string{"", "observation", "belief", "preference", "result", "decision_note", "goal", "task", "instruction"}

// Category is "information" or "intention", and "" for the zero Kind.
func (k Kind) Category() string {
	switch {
	case k == 0 || int(k) >= len(kinds):
		return ""
	case k >= Goal:
		return "intention"
	}
	return "information"
}

func (k Kind) String() string { return name(kinds, k) }

// ParseKind reads the name of a kind.
func ParseKind(text string) (Kind, error) { return parseName[Kind]("kind", kinds, text) }

// Trust says how far the organization stands behind an entry. It is set at
// ingestion and never rises. A lower value is a higher trust.
type Trust uint8

// The trusts, high to low.
const (
	TrustOperator Trust = iota + 1
	TrustDirect
	TrustDerived
	TrustImported
	TrustLent
)

var trusts = []string{"", "operator", "direct", "derived", "imported", "lent"}

func (t Trust) String() string { return name(trusts, t) }

// State says whether an entry can match.
type State uint8

// The states. Only an active entry matches a scope.
const (
	Active State = iota + 1
	Quarantined
	Superseded // a later entry corrects it
)

var states = []string{"", "active", "quarantined", "superseded"}

func (s State) String() string { return name(states, s) }

// ParseState reads the name of a state.
func ParseState(text string) (State, error) { return parseName[State]("state", states, text) }

// SourceType says what an entry was taken from.
type SourceType uint8

// The types of source.
const (
	ConversationEvent SourceType = iota + 1
	SourceDocument
	ToolResult
	SourceOperator
	SourceImport
	SourceLoan
)

var sources = []string{"", "conversation_event", "document", "tool_result", "operator", "import", "loan"}

func (s SourceType) String() string { return name(sources, s) }

// ParseSourceType reads the name of a type of source.
func ParseSourceType(text string) (SourceType, error) {
	return parseName[SourceType]("source", sources, text)
}

// Surface is the way by which a draft came in; it decides over trust.
type Surface uint8

// The surfaces.
const (
	ByOperator Surface = iota + 1 // command line, console or operator API
	ByAgent                       // an agent's own memory_add
	ByImport                      // an importer
	ByPeer                        // a borrower's write to the lender's inbox
)

func name[T ~uint8](names []string, v T) string {
	if int(v) >= len(names) {
		return ""
	}
	return names[v]
}

func parseName[T ~uint8](field string, names []string, text string) (T, error) {
	if i := slices.Index(names, text); i > 0 {
		return T(i), nil
	}
	return 0, invalid(field, "%q is not one of %q", text, names[1:])
}
