package memory

import (
	"fmt"
	"strings"

	"trustnode/did"
)

// Place is where an entry lies: a project of a tenant. Whoever makes one has
// taken it from an authenticated identity, never from a text, a file or an
// argument of a tool. The zero Place holds nothing and is refused. Places
// compare with ==.
type Place struct{ tenant, project string }

// NewPlace makes a place of names of 1 to 64 bytes of a-z 0-9 . _ -, the first
// a letter or a digit.
func NewPlace(tenant, project string) (Place, error) {
	if err := checkName("tenant", tenant); err != nil {
		return Place{}, err
	}
	if err := checkName("project", project); err != nil {
		return Place{}, err
	}
	return Place{tenant, project}, nil
}

// ParsePlace reads "tenant/project", as String prints it.
func ParsePlace(text string) (Place, error) {
	tenant, project, _ := strings.Cut(text, "/")
	return NewPlace(tenant, project)
}

// Project returns the name of the project.
func (p Place) Project() string { return p.project }

// String returns "tenant/project", and "" for the zero Place.
func (p Place) String() string {
	if p.IsZero() {
		return ""
	}
	return p.tenant + "/" + p.project
}

// IsZero reports whether p is no place.
func (p Place) IsZero() bool { return p == Place{} }

func (p Place) check() error {
	if p.IsZero() {
		return invalid("place", "missing") // never "everywhere"
	}
	return nil
}

func checkName(field, s string) error {
	if s == "" || len(s) > MaxName {
		return invalid(field, "name of %d bytes, 1 to %d are allowed", len(s), MaxName)
	}
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return invalid(field, "name %q, only a-z 0-9 . _ - are allowed, first a letter or digit", s)
		}
	}
	return nil
}

// Writer is an authenticated writer: where, who and by which surface.
type Writer struct {
	place   Place
	who     did.DID
	surface Surface
}

// NewWriter makes a writer. who may be zero for the operator, who has no DID.
func NewWriter(in Place, who did.DID, by Surface) (Writer, error) {
	if err := in.check(); err != nil {
		return Writer{}, err
	}
	if by < ByOperator || by > ByPeer {
		return Writer{}, fmt.Errorf("surface %d is unknown", by)
	}
	if who.IsZero() && by != ByOperator && by != ByImport {
		return Writer{}, invalid("writer", "missing")
	}
	return Writer{in, who, by}, nil
}

// Place returns where w writes.
func (w Writer) Place() Place { return w.place }

// Who returns the writer's DID, zero for the operator.
func (w Writer) Who() did.DID { return w.who }
