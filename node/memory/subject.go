package memory

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/text/unicode/norm"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// A data subject is known to entries by a pseudonym alone: "s" and 16 random
// bytes. The map to natural names is kept apart, by tenant, so that it can be
// taken away for itself and is never lent (04 section 1).

// MaxSubjectName is the longest natural name of a subject, in bytes.
const MaxSubjectName = 256

// Subject is a person as the organization knows them.
type Subject struct {
	Pseudonym string
	Name      string // empty where the name was unlinked
}

func subjectNameKey(tenant, name string) []byte { return []byte("sub/" + tenant + "/n/" + name) }
func subjectKey(tenant, s string) []byte        { return []byte("sub/" + tenant + "/p/" + s) }

// subjectName returns the one spelling of a name: NFC, single spaces.
func subjectName(text string) (string, error) {
	name := norm.NFC.String(strings.Join(strings.Fields(text), " "))
	return name, checkText("subject", name, MaxSubjectName, false)
}

// Subject finds a subject by natural name or pseudonym. ErrNoSubject: the
// tenant knows none of that name. A pseudonym is taken as it is.
func (e *Entries) Subject(g Getter, tenant, text string) (Subject, error) {
	if lending.CheckSubject(text) == nil {
		name, err := g.Get(subjectKey(tenant, text))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Subject{}, err
		}
		return Subject{text, string(name)}, nil
	}
	name, err := subjectName(text)
	if err != nil {
		return Subject{}, err
	}
	s, err := g.Get(subjectNameKey(tenant, name))
	if errors.Is(err, store.ErrNotFound) {
		return Subject{}, ErrNoSubject
	}
	if err != nil {
		return Subject{}, err
	}
	return Subject{string(s), name}, nil
}

// NameSubject is Subject, and gives a new name a pseudonym.
func (e *Entries) NameSubject(tx store.Tx, tenant, text string) (Subject, error) {
	s, err := e.Subject(tx, tenant, text)
	if !errors.Is(err, ErrNoSubject) {
		return s, err
	}
	name, err := subjectName(text)
	if err != nil {
		return Subject{}, err
	}
	s = Subject{pseudonym("s"), name}
	return s, errors.Join(tx.Set(subjectNameKey(tenant, name), []byte(s.Pseudonym)), tx.Set(subjectKey(tenant, s.Pseudonym), []byte(name)))
}

// UnlinkSubject forgets the natural name of a pseudonym. It reports whether
// there was one.
func (e *Entries) UnlinkSubject(tx store.Tx, tenant, s string) (bool, error) {
	name, err := tx.Get(subjectKey(tenant, s))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, errors.Join(tx.Delete(subjectKey(tenant, s)), tx.Delete(subjectNameKey(tenant, string(name))))
}

// subjectIndex is where the entries of a subject are listed, whatever their
// state: su/<tenant>/<subject>/<project>\0<id>.
func subjectIndex(in Place, s, id string) []byte {
	return append(append([]byte("su/"+in.tenant+"/"+s+"/"+in.project), 0), id...)
}

// OfSubject lists the entries that carry a subject, in all projects of the
// tenant or, where in has one, in that place. They are read on one snapshot.
func (e *Entries) OfSubject(ctx context.Context, tenant, subject string, in Place, yield func(in Place, id string) bool) error {
	if err := lending.CheckSubject(subject); err != nil {
		return invalid("subject", "%v", err)
	}
	base := "su/" + tenant + "/" + subject + "/"
	prefix := []byte(base)
	if !in.IsZero() {
		prefix = append([]byte(base+in.project), 0)
	}
	return e.db.View(ctx, func(r store.Reader) error {
		return r.Scan(prefix, nil, func(k, _ []byte) bool {
			project, id, _ := strings.Cut(string(k[len(base):]), "\x00")
			return ctx.Err() == nil && yield(Place{tenant, project}, id)
		})
	})
}

// RevokeSubject takes every entry of a subject, those to come included, out of
// every scope of the tenant, for good. Vis of each of its places rises.
func (e *Entries) RevokeSubject(tx store.Tx, tenant, subject string) error {
	if err := lending.CheckSubject(subject); err != nil {
		return invalid("subject", "%v", err)
	}
	n, err := getNumber(tx, tenantVisKey(tenant))
	if err != nil {
		return err
	}
	return errors.Join(tx.Set(revokedSubjectKey(tenant, subject), nil), setNumber(tx, tenantVisKey(tenant), n+1))
}

// SubjectRevoked reports whether RevokeSubject was called for a subject.
func (e *Entries) SubjectRevoked(g Getter, tenant, subject string) (bool, error) {
	return subjectRevoked(g, tenant, subject)
}

func subjectRevoked(g Getter, tenant, subject string) (bool, error) {
	_, err := g.Get(revokedSubjectKey(tenant, subject))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func revokedSubjectKey(tenant, s string) []byte { return []byte("sr/" + tenant + "/" + s) }
func tenantVisKey(tenant string) []byte         { return []byte("vt/" + tenant) }
