package memory

import (
	"mime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
)

const (
	classPrefix  = "class:"
	originPrefix = "origin:"
	defaultClass = "internal"
	// lentTag marks what an agent wrote of a loan, and all that is derived from it: no
	// scope of another reader reaches it.
	lentTag = originPrefix + "lent"
)

// classes in rising order: a derived entry has at least its parents' highest.
var classes = []string{"public", "internal", "confidential", "personal", "regulated"}

// reserved reports whether a tag is set by ingestion and operator alone and is
// never shown to a borrower.
func reserved(tag string) bool {
	return strings.HasPrefix(tag, classPrefix) || strings.HasPrefix(tag, originPrefix)
}

// ingest makes an entry of a draft, all but what its parents add.
func ingest(w Writer, d Draft, now time.Time) (Entry, error) {
	now = second(now)
	e := Entry{
		ID: newID(), Rev: 1, Place: w.place, Writer: w.who, Kind: d.Kind,
		Statement: d.Statement, ContentType: d.ContentType, Data: d.Data,
		Source: d.Source, DerivedBy: d.DerivedBy, DerivedFrom: unique(d.DerivedFrom), Authorization: d.Authorization,
		Subjects: unique(d.Subjects), Created: now, Updated: now,
		ReviewAfter: second(d.ReviewAfter), ExpiresAt: second(d.ExpiresAt), State: Active, Supersedes: d.Supersedes, Loan: d.Loan,
	}
	e.Source.ObservedAt = second(d.Source.ObservedAt)
	if e.Kind == 0 {
		e.Kind = Observation
	}
	if e.ContentType == "" {
		e.ContentType = "text/plain"
	}
	bySurface(&e, w.surface)
	e.Origins = []string{e.Trust.String()}
	var err error
	if e.Tags, err = draftTags(d.Tags, w.surface == ByOperator); err != nil {
		return Entry{}, err
	}
	if e.Trust == TrustLent && w.surface == ByAgent {
		e.Tags = unique(append(e.Tags, lentTag))
	}
	return e, e.check()
}

// bySurface sets what the surface decides. Labels of trust in what came in stay
// text.
func bySurface(e *Entry, s Surface) {
	switch s {
	case ByOperator:
		e.Trust = TrustOperator
		e.Source.Type = or(e.Source.Type, SourceOperator)
	case ByAgent:
		e.Trust = TrustDirect
		e.Source.Type = or(e.Source.Type, ConversationEvent)
	case ByImport:
		e.Trust, e.State, e.Source.Type = TrustImported, Quarantined, SourceImport
	case ByPeer:
		e.Trust, e.State, e.Source.Type = TrustLent, Quarantined, SourceLoan
	}
	if e.Source.Type == SourceLoan && s != ByOperator {
		e.Trust = TrustLent
	}
}

func or(a, b SourceType) SourceType {
	if a == 0 {
		return b
	}
	return a
}

// draftTags returns sorted tags with exactly one class.
func draftTags(tags []string, operator bool) ([]string, error) {
	out := unique(tags)
	classed := 0
	for _, t := range out {
		if err := checkTag(t, operator); err != nil {
			return nil, err
		}
		if strings.HasPrefix(t, classPrefix) {
			classed++
		}
	}
	switch {
	case classed > 1:
		return nil, invalid("tags", "%d classes, one is allowed", classed)
	case classed == 0:
		out = unique(append(out, classPrefix+defaultClass))
	}
	return out, nil
}

func checkTag(tag string, operator bool) error {
	if err := lending.CheckTag(tag); err != nil {
		return invalid("tags", "%v", err)
	}
	if reserved(tag) && !operator {
		return invalid("tags", "%q is reserved", tag)
	}
	if c, ok := strings.CutPrefix(tag, classPrefix); ok && !slices.Contains(classes, c) {
		return invalid("tags", "class %q is not one of %q", c, classes)
	}
	return nil
}

// check holds an entry to the limits of 04 section 1.
func (e Entry) check() error {
	if e.Kind.Category() == "" {
		return invalid("kind", "unknown")
	}
	if e.Source.Type.String() == "" {
		return invalid("source.type", "unknown")
	}
	if err := checkText("statement", e.Statement, MaxStatement, true); err != nil {
		return err
	}
	for field, s := range map[string]string{"source.id": e.Source.ID, "derived_by": e.DerivedBy} {
		if s == "" {
			continue
		}
		if err := checkText(field, s, MaxSourceID, false); err != nil {
			return err
		}
	}
	if err := e.checkContent(); err != nil {
		return err
	}
	return e.checkLists()
}

func (e Entry) checkContent() error {
	inline := e.ContentType == "text/plain" || e.ContentType == "text/markdown" || e.ContentType == "application/json"
	media, params, err := mime.ParseMediaType(e.ContentType)
	switch {
	case len(e.ContentType) > MaxContentType || err != nil || media != e.ContentType || len(params) > 0:
		return invalid("content_type", "not a plain lower-case media type")
	case inline && len(e.Data) > 0:
		return invalid("data", "%s lives in the statement", e.ContentType)
	case !inline && len(e.Data) == 0:
		return invalid("data", "missing for %s", e.ContentType)
	case len(e.Data) > MaxData:
		return invalid("data", "%d bytes, at most %d", len(e.Data), MaxData)
	}
	return nil
}

func (e Entry) checkLists() error {
	switch {
	case len(e.Tags) > MaxTags:
		return invalid("tags", "%d with the class, at most %d", len(e.Tags), MaxTags)
	case len(e.Subjects) > MaxSubjects:
		return invalid("subjects", "%d, at most %d", len(e.Subjects), MaxSubjects)
	case len(e.DerivedFrom) > MaxParents:
		return invalid("derived_from", "%d, at most %d", len(e.DerivedFrom), MaxParents)
	}
	for _, s := range e.Subjects {
		if err := lending.CheckSubject(s); err != nil {
			return invalid("subjects", "%v", err)
		}
	}
	if e.Loan != "" {
		if _, err := envelope.ParseID(e.Loan); err != nil || e.Source.Type != SourceLoan {
			return invalid("loan", "not the id of a permission, or not with source loan")
		}
	}
	if e.Authorization != "" {
		if _, err := envelope.ParseID(e.Authorization); err != nil {
			return invalid("authorization_reference", "not an id")
		}
	}
	return nil
}

// checkText refuses what could show a reader other words than were written.
func checkText(field, s string, most int, lines bool) error {
	switch {
	case s == "":
		return invalid(field, "empty")
	case len(s) > most:
		return invalid(field, "%d bytes, at most %d", len(s), most)
	case !utf8.ValidString(s):
		return invalid(field, "not UTF-8")
	case !norm.NFC.IsNormalString(s):
		return invalid(field, "not in Unicode form NFC")
	}
	for _, r := range s {
		if lines && (r == '\n' || r == '\t') {
			continue
		}
		if unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return invalid(field, "holds the control character %U", r)
		}
	}
	return nil
}

// unique returns a sorted copy without repetitions, never nil.
func unique(in []string) []string {
	out := append(make([]string, 0, len(in)+1), in...)
	slices.Sort(out)
	return slices.Compact(out)
}

// second cuts a time to whole seconds UTC; zero stays zero.
func second(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(t.Unix(), 0).UTC()
}
