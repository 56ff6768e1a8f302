// Package library answers: which signed objects does this node hold, and who may be
// given them?
//
// Objects (permissions, revocations, requests, receipts, agent objects) lie in the state
// database under their id; event bodies and rows lie with the log. What may leave is
// said by grants, one row per id and organization, written in the transaction that made
// or took the thing. Without a grant nothing is given: a stranger and an absent id look
// alike.
//
// The package does not check what it stores; whoever puts an object has opened it.
package library

import (
	"bytes"
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

const (
	keyObject = "so/" // so/<id>: what, NUL, bytes of a signed object
	keyGrant  = "rd/" // rd/<id>/<did>, or rd/<id>/* for every member: empty value
)

// Object is one signed object as received: its DSSE bytes.
type Object struct {
	ID    envelope.ID
	What  string // permission, revocation, readrequest, loanrequest, receipt, agent
	Bytes []byte
}

// ErrAbsent says that an object is not held here.
var ErrAbsent = errors.New("object is not held here")

// Library keeps objects and grants in the state database. It is safe for concurrent use.
type Library struct{ db store.DB }

// New returns the library of db.
func New(db store.DB) *Library { return &Library{db} }

// Getter reads one key: a transaction or a snapshot.
type Getter interface {
	Get(key []byte) ([]byte, error)
}

// Put stores an object in a transaction; storing it again changes nothing.
func (l *Library) Put(tx store.Tx, o Object) error {
	return tx.Set([]byte(keyObject+o.ID.String()), append(append([]byte(o.What), 0), o.Bytes...))
}

// Read returns an object in a transaction or snapshot, or ErrAbsent.
func (l *Library) Read(g Getter, id envelope.ID) (Object, error) {
	b, err := g.Get([]byte(keyObject + id.String()))
	if errors.Is(err, store.ErrNotFound) {
		return Object{}, ErrAbsent
	}
	if err != nil {
		return Object{}, err
	}
	what, body, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return Object{}, errors.New("object row is damaged")
	}
	return Object{ID: id, What: string(what), Bytes: body}, nil
}

// Get returns an object, or ErrAbsent.
func (l *Library) Get(ctx context.Context, id envelope.ID) (Object, error) {
	var o Object
	err := l.db.View(ctx, func(r store.Reader) (err error) {
		o, err = l.Read(r, id)
		return err
	})
	return o, err
}

// Remove forgets an object in a transaction, with the grants of these organizations.
func (l *Library) Remove(tx store.Tx, id envelope.ID, orgs ...did.DID) error {
	err := tx.Delete([]byte(keyObject + id.String()))
	for _, o := range orgs {
		err = errors.Join(err, tx.Delete([]byte(keyGrant+id.String()+"/"+o.String())))
	}
	return err
}

// Grant lets organizations be given what has this id: an object, a body or a row.
func (l *Library) Grant(tx store.Tx, id envelope.ID, orgs ...did.DID) error {
	for _, o := range orgs {
		if o.IsZero() {
			continue
		}
		if err := tx.Set([]byte(keyGrant+id.String()+"/"+o.String()), nil); err != nil {
			return err
		}
	}
	return nil
}

// GrantAll lets every member be given what has this id.
func (l *Library) GrantAll(tx store.Tx, id envelope.ID) error {
	return tx.Set([]byte(keyGrant+id.String()+"/*"), nil)
}

// MayRead says whether an organization may be given what has this id: nil, or ErrAbsent,
// as if it were not here.
func (l *Library) MayRead(ctx context.Context, asker did.DID, id envelope.ID) error {
	return l.db.View(ctx, func(r store.Reader) error {
		for _, who := range []string{"*", asker.String()} {
			_, err := r.Get([]byte(keyGrant + id.String() + "/" + who))
			if err == nil {
				return nil
			}
			if !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return ErrAbsent
	})
}
