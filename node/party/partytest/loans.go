package partytest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Agent is an agent of an organization.
type Agent struct {
	DID did.DID
	Of  *Org
	key *envelopetest.Signer
}

// Agent makes an agent and tells every node of it.
func (x *Org) Agent(name string, can keyring.Capability) Agent {
	a := Agent{Of: x, key: signer(x.Name, "agent", name)}
	a.DID = Must(didkey.FromKey(a.key.Public()))
	x.agents[a.DID] = a.key
	at := envelope.TimeOf(x.W.Now())
	e := Must(keyring.SealAgent(context.Background(), keyring.Agent{Agent: a.DID, Capabilities: []keyring.Capability{can}, DIDVersion: x.version, IssuedAt: at,
		Key: keyring.AgentKey{Kid: a.kid(), Pub: a.key.Public()}, Kid: x.kid(), Kind: keyring.KindAgent, Name: name,
		NotAfter: at.Add(30 * 24 * time.Hour), NotBefore: at, Org: x.Node.Org, Serial: 1}, x.issuer, a.key))
	id := x.Event(attestation.Draft{Type: "agent.issued", Subject: a.DID.String(), Refs: []envelope.ID{e.ID()},
		Data: attestation.AgentIssued{Agent: a.DID, ID: e.ID(), Name: name, Serial: 1}})
	index := Must(x.Rec.WaitLogged(context.Background(), id))
	for _, y := range x.W.Orgs {
		v := Must(keyring.OpenAgent(context.Background(), e, y.Ring.AtSource(x.version)))
		y.do(func(tx store.Tx) error {
			if err := y.Lib.Put(tx, library.Object{ID: e.ID(), What: "agent", Bytes: e.DSSE()}); err != nil {
				return err
			}
			return y.PutAgent(tx, self.RowOf(v, index))
		})
	}
	return a
}

func (a Agent) kid() string { return a.key.Public().Multikey() }

func (x *Org) do(f func(store.Tx) error) {
	if err := x.DB.Update(context.Background(), f); err != nil {
		x.W.T.Helper()
		x.W.T.Fatal(err)
	}
}

// Event drafts an event by itself.
func (x *Org) Event(d attestation.Draft) (id envelope.ID) {
	x.do(func(tx store.Tx) (err error) {
		id, err = x.Rec.Event(tx, d)
		return err
	})
	return id
}

// Row drafts an audit row of a loan.
func (x *Org) Row(perm envelope.ID, r lending.Row) envelope.ID {
	b, id, err := lending.MarshalRow(r)
	if err != nil {
		x.W.T.Fatal(err)
	}
	x.do(func(tx store.Tx) error {
		_, err := x.Rec.Row(tx, audit.Row{Kind: "read", Body: b, Keys: []string{perm.String()}})
		return err
	})
	return id
}

// sealed signs an object of an agent and puts it into libraries.
func sealed[T envelope.Body](a Agent, what string, body T, at ...*Org) envelope.ID {
	e := Must(envelope.Seal(context.Background(), body, a.key))
	for _, x := range at {
		if err := x.Store(library.Object{ID: e.ID(), What: what, Bytes: e.DSSE()}); err != nil {
			x.W.T.Fatal(err)
		}
	}
	return e.ID()
}

// Loan is a loan between two agents.
type Loan struct {
	ID               envelope.ID
	Lender, Borrower Agent
	Issued           envelope.ID // event
	Compact          string
}

func (w *World) salt() (s lending.Salt) {
	h := sha256.Sum256(fmt.Append(nil, "salt", w.nonces.Add(1)))
	copy(s[:], h[:])
	return s
}

func (w *World) short() (n lending.Nonce) {
	s := w.salt()
	copy(n[:], s[:])
	return n
}

// Lend issues a loan of 30 days at most.
func (w *World) Lend(lender, borrower Agent, hygiene ...string) Loan {
	at := envelope.TimeOf(w.Now())
	head := w.Chain.Head()
	body := lending.Permission{Borrower: borrower.DID, ExpiresAt: at.Add(720 * time.Hour), GoverningCharter: &lending.CharterPin{ID: head.ID, Seq: head.Seq},
		IssuedAt: at, Kid: lender.kid(), Lender: lender.DID, MaxReads: 5, Nonce: w.short(), Patterns: []string{"read"}, Purpose: "pressure-test strategy S7",
		Revocation: lender.Of.Node.Org.String() + "#lending", Scope: lending.MustParse("tag:client:acme")}
	l := Loan{Lender: lender, Borrower: borrower, ID: sealed(lender, "permission", body, lender.Of, borrower.Of)}
	l.Compact = Must(Must(envelope.Seal(context.Background(), body, lender.key)).Compact())
	if hygiene == nil {
		hygiene = []string{}
	}
	l.Issued = lender.Of.Event(attestation.Draft{Type: "loan.issued", Subject: l.ID.String(), Refs: []envelope.ID{l.ID}, Body: []byte(`{"matches":1,"salt":"` + w.nonce() + `"}`),
		Data: attestation.LoanIssued{Borrower: borrower.DID, ExpiresAt: body.ExpiresAt, Hygiene: hygiene, Lender: lender.DID, MaxReads: 5, Patterns: []string{"read"}, Permission: l.ID}})
	return l
}

// Revoke ends a loan.
func (l Loan) Revoke() {
	x := l.Lender.Of
	id := sealed(l.Lender, "revocation", lending.Revocation{At: envelope.TimeOf(x.W.Now()), Issuer: l.Lender.DID, Kid: l.Lender.kid(), Reason: "ended",
		Target: l.ID.String(), TargetKind: "permission"}, x)
	x.Event(attestation.Draft{Type: "loan.revoked", Subject: l.ID.String(), Refs: []envelope.ID{id},
		Data: attestation.LoanEnded{Cause: "ended", Target: l.ID.String(), TargetKind: "permission"}})
}

// Ended says in the lender's log that a loan is over.
func (l Loan) Ended() {
	l.Lender.Of.Event(attestation.Draft{Type: "loan.ended", Subject: l.ID.String(), Refs: []envelope.ID{l.Issued},
		Data: attestation.LoanEnded{Cause: "revoked", Target: l.ID.String(), TargetKind: "permission"}})
}

// EndSeen says in the borrower's log that it saw the end.
func (l Loan) EndSeen() {
	l.Borrower.Of.Event(attestation.Draft{Type: "loan.end_seen", Subject: l.ID.String(), Refs: []envelope.ID{l.Issued},
		Data: attestation.LoanEndSeen{Permission: l.ID, SeenAt: envelope.TimeOf(l.Lender.Of.W.Now()), Verified: true}})
}

// Request signs a request of the borrower; the lender keeps it.
func (l Loan) Request(purpose string) envelope.ID {
	w := l.Lender.Of.W
	return sealed(l.Borrower, "readrequest", lending.ReadRequest{At: envelope.TimeOf(w.Now()), Aud: l.Lender.DID, Borrower: l.Borrower.DID, Kid: l.Borrower.kid(),
		Nonce: w.salt(), Op: "read", Perm: l.ID, Purpose: purpose}, l.Lender.Of)
}

// Denied writes the row that refuses a request because access has ended.
func (l Loan) Denied(request envelope.ID) envelope.ID {
	w := l.Lender.Of.W
	return l.Lender.Of.Row(l.ID, lending.DeniedRow{At: envelope.TimeOf(w.Now()), Borrower: l.Borrower.DID, Code: "revoked", Decision: "denied", Op: "read", Perm: l.ID,
		Purpose: "again", Reason: "ended", Request: request, Salt: w.salt(), Scope: "tag:client:acme"})
}

// ReadAfterEnd is a loan that is revoked and then read n times.
func (w *World) ReadAfterEnd(lender, borrower Agent, n int) Loan {
	l := w.Lend(lender, borrower)
	l.Revoke()
	for range n {
		l.Denied(l.Request("again"))
	}
	return l
}

// Replayed writes the row of an old request that came again after the end.
func (l Loan) Replayed(request envelope.ID) envelope.ID {
	w := l.Lender.Of.W
	return l.Lender.Of.Row(l.ID, lending.DeniedRow{At: envelope.TimeOf(w.Now()), Borrower: l.Borrower.DID, Code: "revoked", Decision: "denied", Op: "replay", Perm: l.ID,
		Reason: "ended", Request: request, Salt: w.salt()})
}
