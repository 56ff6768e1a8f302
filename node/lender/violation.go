package lender

import (
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// breachRow keeps the denied acts of one class under one loan. Acts beyond maxRequests
// between two events are in the audit rows alone.
type breachRow struct {
	Borrower did.DID       `json:"borrower"`
	Issued   envelope.ID   `json:"issued"`         // event loan.issued
	Last     envelope.Time `json:"last,omitempty"` // of the newest event
	Org      did.DID       `json:"org"`            // of the borrower
	Requests []envelope.ID `json:"requests"`       // of acts since that event
	Said     []envelope.ID `json:"said"`           // named by the newest event
}

// violationBody is the private body of loan.violation.
type violationBody struct {
	Requests []envelope.ID `json:"requests"`
	Salt     lending.Salt  `json:"salt"`
}

func breachKey(perm envelope.ID, class string) []byte {
	return []byte(keyBreach + perm.String() + "/" + class)
}

// breach counts a denied act: the first of its class becomes an event at once, those
// after it at most hourly. The same signed request counts once.
func (l *Lender) breach(tx store.Tx, k *known, rq envelope.Verified[lending.ReadRequest], class string, at time.Time) error {
	key := breachKey(k.perm.ID(), class)
	b, ok, err := store.GetRow[breachRow](tx, key)
	if err != nil {
		return err
	}
	if !ok {
		b = breachRow{Borrower: k.perm.Body().Borrower, Issued: k.issued.Event, Org: k.issued.BorrowerOrg}
	}
	if len(b.Requests) >= maxRequests || slices.Contains(b.Said, rq.ID()) || slices.Contains(b.Requests, rq.ID()) {
		return nil
	}
	b.Requests = append(b.Requests, rq.ID())
	return l.tell(tx, key, k.perm.ID(), class, b, at)
}

// tell drafts the event if it is due, and writes the row.
func (l *Lender) tell(tx store.Tx, key []byte, perm envelope.ID, class string, b breachRow, at time.Time) error {
	if !b.due(at) {
		return store.PutRow(tx, key, b)
	}
	body, err := envelope.Marshal(violationBody{b.Requests, lending.NewSalt()})
	if err != nil {
		return err
	}
	_, err = l.n.Rec.Event(tx, attestation.Draft{
		Type: "loan.violation", Subject: perm.String(), Refs: []envelope.ID{b.Issued}, Body: body,
		Data: attestation.LoanViolation{Borrower: b.Borrower, Class: class, Number: uint64(len(b.Requests)), Permission: perm},
	})
	if err != nil {
		return err
	}
	if err := l.n.Lib.Grant(tx, envelope.IDOf(body), b.Org); err != nil {
		return err
	}
	b.Said, b.Requests, b.Last = b.Requests, nil, envelope.TimeOf(at)
	return store.PutRow(tx, key, b)
}

// due says whether acts wait that may be told now.
func (b breachRow) due(at time.Time) bool {
	return len(b.Requests) > 0 && (b.Last.IsZero() || at.Sub(b.Last.Time()) >= violationEvery)
}
