package attestation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// SubjectRule says what the subject of a type is. The zero value is invalid.
type SubjectRule uint8

// The subject rules.
const (
	NoSubject SubjectRule = iota + 1
	SubjectDID
	SubjectID
	SubjectAny // a DID or an id, as the data says
)

// BodyRule says whether a type has an attached body. The zero value is invalid.
type BodyRule uint8

// The body rules.
const (
	NoBody BodyRule = iota + 1
	MayBody
	MustBody
)

// Readers says who may read the body of a type. The zero value is invalid.
type Readers uint8

// The readers.
const (
	ReadersNone     Readers = iota + 1 // the type has no body
	ReadersPublic                      // every member; fetched with the entry
	ReadersMediator                    // the mediator of a case that names it
	ReadersBorrower                    // the loan's borrower, and the mediator
	ReadersJury                        // the loan's borrower, the mediator and the jury
	ReadersParties                     // both parties of the case, and its mediators
)

// Flags mark what the node does with a type.
type Flags uint8

// The flags.
const (
	// Barrier: every row committed before it lies under an audit.rows before it.
	Barrier Flags = 1 << iota
	// Sequencer: made where the log is written, never drafted.
	Sequencer
	// Prompt: it is gossiped at once and its head offered for cosigning.
	Prompt
	// Always: drafted even while the log does not drain.
	Always
)

// Rule is what is known about one event type.
type Rule struct {
	Type    Type
	Subject SubjectRule
	Refs    []string   // what each ref is, in order
	Data    func() any // a new, empty data struct
	Body    BodyRule
	Schema  string // name of the body's form; "" without one
	Readers Readers
	Flags   Flags
	Says    string // one sentence for people
}

// Has reports whether the type has flag f.
func (r Rule) Has(f Flags) bool { return r.Flags&f != 0 }

// MaxBody is the largest attached body in bytes.
func (r Rule) MaxBody() int {
	if r.Schema == "evidence" {
		return MaxEvidence
	}
	return MaxBody
}

func data[T any]() func() any { return func() any { return new(T) } }

var rules = []Rule{
	{"key.rotated", SubjectDID, nil, data[KeyRotated](), NoBody, "", ReadersNone, Barrier | Prompt | Always, "a new version of the organization's keys is in force from here"},
	{"agent.issued", SubjectDID, []string{"agent object"}, data[AgentIssued](), NoBody, "", ReadersNone, Prompt, "an agent acts for the organization"},
	{"agent.revoked", SubjectDID, []string{"agent object"}, data[AgentRevoked](), NoBody, "", ReadersNone, Barrier | Prompt | Always, "an agent no longer acts for the organization"},
	{"charter.signed", SubjectID, []string{"charter body"}, data[CharterSigned](), NoBody, "", ReadersNone, 0, "the organization signed a charter"},
	{"log.opened", NoSubject, nil, data[LogOpened](), NoBody, "", ReadersNone, Sequencer, "the log begins"},
	{"log.gap", NoSubject, nil, data[LogGap](), NoBody, "", ReadersNone, Sequencer, "outbox items or rows are lost for good"},
	{"log.erased", NoSubject, nil, data[LogErased](), NoBody, "", ReadersNone, Sequencer, "a private body or row is erased; its event and its proof stay"},
	{"fork.proven", NoSubject, nil, data[ForkProven](), MustBody, "forkproof", ReadersPublic, 0, "two signed things exclude each other"},
	{"audit.rows", NoSubject, nil, data[AuditRows](), MustBody, "rows", ReadersMediator, Sequencer, "rows of the organization's own acts are in the log"},
	{"loan.issued", SubjectID, []string{"permission"}, data[LoanIssued](), MustBody, "loan", ReadersBorrower, 0, "a permission was issued"},
	{"loan.revoked", SubjectAny, []string{"revocation"}, data[LoanEnded](), MayBody, "ending", ReadersBorrower, Barrier | Prompt | Always, "a permission or a borrower was revoked"},
	{"loan.ended", SubjectAny, []string{"loan.issued"}, data[LoanEnded](), MayBody, "ending", ReadersBorrower, Barrier | Prompt, "a loan is over"},
	{"loan.violation", SubjectID, []string{"loan.issued"}, data[LoanViolation](), MayBody, "requests", ReadersJury, 0, "a borrower's signed requests broke the loan"},
	{"loan.taken", SubjectID, []string{"loan.issued"}, data[LoanTaken](), NoBody, "", ReadersNone, 0, "the borrower used the loan for the first time"},
	{"loan.end_seen", SubjectID, []string{"loan.issued"}, data[LoanEndSeen](), NoBody, "", ReadersNone, 0, "the borrower knows that the loan is over"},
	{"loan.deleted", SubjectID, []string{"loan.issued"}, data[LoanDeleted](), NoBody, "", ReadersNone, 0, "the borrower deleted what it got under the loan"},
	{"dispute.filed", SubjectID, nil, data[Empty](), MustBody, "dispute", ReadersPublic, Barrier | Prompt, "a claim against another organization"},
	{"dispute.evidence", SubjectID, nil, data[DisputeEvidence](), MustBody, "evidence", ReadersParties, Barrier | Prompt, "a party hands in evidence"},
	{"dispute.answered", SubjectID, nil, data[Empty](), MustBody, "answer", ReadersPublic, Prompt, "the respondent answers"},
	{"dispute.readied", SubjectID, nil, data[DisputeReadied](), NoBody, "", ReadersNone, Prompt, "a party has nothing to add up to a state"},
	{"dispute.withdrawn", SubjectID, nil, data[Empty](), NoBody, "", ReadersNone, Prompt, "the claimant withdraws"},
	{"ruling.seated", SubjectID, nil, data[Empty](), MustBody, "assignment", ReadersPublic, Prompt, "a mediator takes the case"},
	{"ruling.recused", SubjectID, nil, data[Empty](), MayBody, "why", ReadersParties, Prompt, "a mediator declines the case"},
	{"ruling.issued", SubjectID, nil, data[Empty](), MustBody, "ruling", ReadersPublic, Prompt, "a mediator rules"},
}

var byType = func() map[Type]*Rule {
	m := make(map[Type]*Rule, len(rules))
	for i := range rules {
		m[rules[i].Type] = &rules[i]
	}
	return m
}()

// RuleOf returns the rule of a type, and false for a type not known here.
func RuleOf(t Type) (Rule, bool) {
	r, ok := byType[t]
	if !ok {
		return Rule{}, false
	}
	return *r, true
}

// Covers reports whether t is a type that is known here, or a prefix of one that ends in a dot.
func Covers(t Type) bool {
	_, ok := RuleOf(t)
	return ok || strings.HasSuffix(string(t), ".") && slices.ContainsFunc(rules, func(r Rule) bool { return strings.HasPrefix(string(r.Type), string(t)) })
}

// IsPrompt reports whether an event of type t is to be offered to peers and
// witnesses at once, known here or not.
func IsPrompt(t Type) bool {
	r, ok := byType[t]
	return ok && r.Has(Prompt|Barrier) || strings.HasPrefix(string(t), "dispute.") || strings.HasPrefix(string(t), "ruling.")
}

// IsAuthoredFirst reports whether an event of type t is authored before anybody is told of
// it: barriers, loans, all of a dispute, and what bears on keys and agents. All else may
// be logged first and judged in the background (03, section 8).
func IsAuthoredFirst(t Type) bool {
	if r, ok := byType[t]; ok && r.Has(Barrier) {
		return true
	}
	family, _, _ := strings.Cut(string(t), ".")
	return slices.Contains([]Type{"loan.issued", "log.opened"}, t) || slices.Contains([]string{"agent", "dispute", "ruling", "jury"}, family)
}

// coherent is what a data struct checks against the rest of its event.
type coherent interface{ check(e Event) error }

// CheckKnown reports whether e keeps the rule of its type. A type not known
// here has none to keep, and is never interpreted.
func CheckKnown(e Event) error {
	r, ok := byType[e.Type]
	if !ok {
		return nil
	}
	if err := r.checkFrame(e); err != nil {
		return fmt.Errorf("%s: %w", e.Type, err)
	}
	d := r.Data()
	if err := envelope.Unmarshal(e.Data, d); err != nil {
		return fmt.Errorf("%s data: %w", e.Type, err)
	}
	if c, ok := d.(coherent); ok {
		if err := c.check(e); err != nil {
			return fmt.Errorf("%s: %w", e.Type, err)
		}
	}
	return nil
}

func (r Rule) checkFrame(e Event) error {
	if err := r.Subject.check(e.Subject); err != nil {
		return err
	}
	if len(e.Refs) != len(r.Refs) {
		return fmt.Errorf("%d refs, wanted %d", len(e.Refs), len(r.Refs))
	}
	switch {
	case r.Body == NoBody && !e.Body.IsZero():
		return errors.New("has no body, one is named")
	case r.Body == MustBody && e.Body.IsZero():
		return errors.New("names no body")
	}
	return nil
}

func (s SubjectRule) check(subject string) error {
	_, idErr := envelope.ParseID(subject)
	_, didErr := did.Parse(subject)
	ok := false
	switch s {
	case NoSubject:
		ok = subject == ""
	case SubjectDID:
		ok = didErr == nil
	case SubjectID:
		ok = idErr == nil
	case SubjectAny:
		ok = idErr == nil || didErr == nil
	}
	if !ok {
		return fmt.Errorf("subject %.100q is not what the type is about", subject)
	}
	return nil
}
