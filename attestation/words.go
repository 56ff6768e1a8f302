package attestation

import (
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Words says an event to people, in one line without a full stop, from its data alone: what
// its organization says, believed or not. Names in it are short and prove nothing. A type not
// known here says so. Texts of others are cut, not cleaned: they may hold what steers a
// terminal.
func Words(e Event) string {
	r, ok := byType[e.Type]
	if !ok {
		return "of a type not known here"
	}
	if say, ok := plain[e.Type]; ok {
		return fmt.Sprintf(say, short(e.Subject))
	}
	d, ok := r.Data().(spoken)
	if !ok {
		return r.Says
	}
	if envelope.Unmarshal(e.Data, d) != nil {
		return "its data are not those of its type"
	}
	return d.words(e)
}

// spoken is a data struct that says itself.
type spoken interface{ words(e Event) string }

// plain are the types whose data say nothing: the subject stands in for %s.
var plain = map[Type]string{
	"dispute.filed":     "case %s filed",
	"dispute.answered":  "answer in case %s",
	"dispute.withdrawn": "case %s withdrawn",
	"ruling.seated":     "mediator takes case %s",
	"ruling.recused":    "mediator declines case %s",
	"ruling.issued":     "ruling in case %s",
}

func (d *KeyRotated) words(Event) string {
	return fmt.Sprintf("%s: %s in, %d out%s", cut(d.Reason), many(uint64(len(d.Added)), "key"), len(d.Retired), doubt(d.TaintFrom))
}

func doubt(from *uint64) string {
	if from == nil {
		return ""
	}
	return fmt.Sprintf(", in doubt above %d", *from)
}

func (d *AgentIssued) words(Event) string {
	return fmt.Sprintf("agent %q, %s, serial %d", cut(d.Name), nameOf(d.Agent), d.Serial)
}

func (d *AgentRevoked) words(Event) string {
	return fmt.Sprintf("agent %q up to serial %d: %s%s", cut(d.Name), d.ThroughSerial, cut(d.Reason), doubt(d.TaintFrom))
}

func (d *CharterSigned) words(Event) string {
	if d.Round == 0 {
		return fmt.Sprintf("charter %d, %s", d.Seq, short(d.Body.String()))
	}
	return fmt.Sprintf("charter %d, %s, in round %d", d.Seq, short(d.Body.String()), d.Round)
}

func (d *LogOpened) words(Event) string {
	return fmt.Sprintf("the log begins, under DID version %s", short(d.DidVersion))
}

func (d *LogGap) words(Event) string {
	return fmt.Sprintf("%s %d to %d lost for good", cut(d.Cause), d.From, d.To)
}

func (d *LogErased) words(Event) string {
	return fmt.Sprintf("a private %s of event %d is erased, its proofs stay", cut(d.Cause), d.Index)
}

func (d *LoanDeleted) words(Event) string {
	how := "by its own clock"
	if d.Verified {
		how = "the end proven"
	}
	return fmt.Sprintf("what came under loan %s deleted at %s, %s", short(d.Permission.String()), d.DeletedAt, how)
}

func (d *ForkProven) words(Event) string {
	return fmt.Sprintf("proof of two that exclude each other (%s): %s, %s", cut(d.Kind), short(d.A.String()), short(d.B.String()))
}

func (d *AuditRows) words(Event) string {
	return fmt.Sprintf("rows of own acts under %s", short(d.Root.String()))
}

func (d *LoanIssued) words(Event) string {
	to := "a borrower it does not name"
	if !d.Borrower.IsZero() {
		to = nameOf(d.Borrower)
	}
	return fmt.Sprintf("loan %s to %s: %s until %s", short(d.Permission.String()), to, many(d.MaxReads, "read"), d.ExpiresAt)
}

func (d *LoanEnded) words(e Event) string {
	what, how := "loan "+short(d.Target), "over"
	if d.TargetKind == "borrower" {
		what = "all loans of " + short(d.Target)
	}
	if e.Type == "loan.revoked" {
		how = "revoked"
	}
	return fmt.Sprintf("%s %s: %s", what, how, cut(d.Cause))
}

func (d *LoanViolation) words(Event) string {
	return fmt.Sprintf("%s against loan %s, of %s: %s", many(d.Number, "request"), short(d.Permission.String()), nameOf(d.Borrower), cut(strings.ReplaceAll(d.Class, "_", " ")))
}

func (d *LoanTaken) words(Event) string {
	return fmt.Sprintf("loan %s used for the first time", short(d.Permission.String()))
}

func (d *LoanEndSeen) words(Event) string {
	how := "by its own clock"
	if d.Verified {
		how = "by the lender's signed answer"
	}
	return fmt.Sprintf("end of loan %s known at %s, %s", short(d.Permission.String()), d.SeenAt, how)
}

func (d *DisputeEvidence) words(e Event) string {
	return fmt.Sprintf("evidence on %s of case %s", many(uint64(len(d.Facts)), "claim"), short(e.Subject))
}

func (d *DisputeReadied) words(e Event) string {
	return fmt.Sprintf("nothing to add to case %s up to %s", short(e.Subject), cut(d.State))
}

// reasons say to people why an event does not stand.
var reasons = map[Reason]string{
	ReasonForm:      "it has not the form of an event, or of its type",
	ReasonSignature: "its signature is false",
	ReasonKey:       "its key was not in force at this place",
	ReasonOrg:       "its body names another organization",
	ReasonRepeat:    "its id stands at a lower index",
	ReasonUnknown:   "its key is not known here",
	ReasonRotation:  "a rotation at or below it is not known here",
	ReasonRemoved:   "its key left the DID document, and the log has not said so yet",
	ReasonTaint:     "it lies where a stolen key may have signed",
	ReasonFork:      "two logs of its organization part below it or at it",
	ReasonCutoff:    "a charter ended the log below it, or on another branch",
	ReasonGap:       "a charter excludes its place in the log",
}

// Words says a reason to people; "" for none.
func (r Reason) Words() string {
	if w, ok := reasons[r]; ok {
		return w
	}
	return string(r)
}

// Lengths of texts in a sentence, in characters.
const (
	shortID   = 8
	longWord  = 40
	shortName = 48
)

// short is the beginning of an id or a version, and the name of a DID.
func short(s string) string {
	if d, err := did.Parse(s); err == nil {
		return nameOf(d)
	}
	return cutTo(s, shortID)
}

// nameOf is what people know a DID by: its domain and path, or the beginning of its key.
func nameOf(d did.DID) string {
	switch id := d.ID(); d.Method() {
	case "webvh":
		_, place, _ := strings.Cut(id, ":")
		return cutTo(place, shortName)
	case "web":
		return cutTo(id, shortName)
	default:
		return cutTo(id, shortID)
	}
}

// cut bounds a word that the event's organization chose.
func cut(s string) string { return cutTo(s, longWord) }

func cutTo(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func many(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
