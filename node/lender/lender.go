// Package lender answers: may this read happen now, and what left this node?
//
// It is the use case of an organization that lends: it keeps memory, issues
// permissions, answers reads with receipts, revokes, and shows the audit trail. Each
// use case is read in one shape: open the envelope, load by point reads in the
// transaction, decide by the pure rules of federation/lending, commit state and outbox
// together, and only then send. No row, no bytes: what leaves has a durable row.
//
// HTTP and libp2p call the same functions with the same signed bytes. The package opens
// no socket.
package lender

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Keys in the state database.
const (
	keyPerm   = "perm/" // perm/<id>: compact permission
	keyLoan   = "loan/" // loan/<id>: lending.Loan
	keyIssued = "li/"   // li/<id>: issuedRow
	keyRev    = "rev/"  // rev/<kind>/<target>: lending.RevokedBy
	keyNonce  = "non/"  // non/<borrower>/<nonce>: lending.NonceRecord
	keyEnd    = "le/"   // le/<id>: the loan.ended event of the loan
	keyBreach = "vio/"  // vio/<id>/<class>: breachRow
	keySide   = "side/" // side/<row id>: what the lender alone sees of a row
	keyAsked  = "rq/"   // rq/<row id>: id of the request it answers, kept beside its row
)

// tenant is the only one of this version.
const tenant = "main"

// maxCached is how many verified permissions are kept in memory.
const maxCached = 4096

// Lender is the lending side of one node. It is safe for concurrent use.
type Lender struct {
	n   *self.Node
	cfg Config

	mu    sync.Mutex
	perms map[envelope.ID]envelope.Verified[lending.Permission] // guarded by mu: bytes verified once; validity is never cached
	gates map[envelope.ID]*gate                                 // guarded by mu
}

// New returns the lending side of n.
func New(n *self.Node, cfg Config) *Lender {
	return &Lender{n: n, cfg: cfg, perms: map[envelope.ID]envelope.Verified[lending.Permission]{}, gates: map[envelope.ID]*gate{}}
}

type gate struct{}

// issuedRow is what the lender keeps of a loan beside the permission.
type issuedRow struct {
	BorrowerOrg did.DID     `json:"borrower_org"`
	Event       envelope.ID `json:"event"` // loan.issued
	Hygiene     []string    `json:"hygiene"`
	Matches     uint64      `json:"matches"`
}

func permKey(id envelope.ID) []byte   { return []byte(keyPerm + id.String()) }
func loanKey(id envelope.ID) []byte   { return []byte(keyLoan + id.String()) }
func issuedKey(id envelope.ID) []byte { return []byte(keyIssued + id.String()) }
func endKey(id envelope.ID) []byte    { return []byte(keyEnd + id.String()) }
func revKey(t lending.Target) []byte  { return []byte(keyRev + t.Kind + "/" + t.ID) }
func nonceKey(b did.DID, n lending.Salt) []byte {
	return []byte(keyNonce + b.String() + "/" + n.String())
}

// get reads a canonical row; absent is false.
func get[T any](g library.Getter, key []byte) (T, bool, error) {
	var v T
	b, err := g.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	if err := envelope.Unmarshal(b, &v); err != nil {
		return v, false, fmt.Errorf("row %.40q is damaged: %w", key, err)
	}
	return v, true, nil
}

func put(tx store.Tx, key []byte, v any) error {
	b, err := envelope.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Set(key, b)
}

// permission returns a permission this node issued, verified once per distinct bytes.
// Only the bytes are remembered; whether it may be used is decided anew each time.
func (l *Lender) permission(ctx context.Context, id envelope.ID) (envelope.Verified[lending.Permission], error) {
	l.mu.Lock()
	v, ok := l.perms[id]
	l.mu.Unlock()
	if ok {
		return v, nil
	}
	var compact string
	var row self.AgentRow
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		b, err := r.Get(permKey(id))
		if err != nil {
			return err
		}
		compact = string(b)
		e, err := envelope.ParseCompact(compact, lending.PermissionType, lending.MaxPermission)
		if err != nil {
			return err
		}
		p, err := envelope.Decode[lending.Permission](e)
		if err != nil {
			return err
		}
		row, err = self.Agent(r, p.Lender)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return envelope.Verified[lending.Permission]{}, lending.Unknown()
	}
	if err != nil {
		return envelope.Verified[lending.Permission]{}, err
	}
	e, err := envelope.ParseCompact(compact, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return envelope.Verified[lending.Permission]{}, err
	}
	if v, err = envelope.Open[lending.Permission](ctx, e, anyTime(row)); err != nil {
		return envelope.Verified[lending.Permission]{}, err
	}
	l.remember(v)
	return v, nil
}

func (l *Lender) remember(v envelope.Verified[lending.Permission]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.perms) >= maxCached {
		clear(l.perms)
	}
	l.perms[v.ID()] = v
}

// anyTime is the key source of one agent whatever its state: it says who signed, and the
// decision says whether that one may act now.
func anyTime(row self.AgentRow) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, signer did.DID, kid string) (did.Key, error) {
		if signer != row.Agent || kid != row.KID {
			return did.Key{}, fmt.Errorf("%s, key %.80q: %w", signer, kid, envelope.ErrUnknownKey)
		}
		return did.Key{Public: row.Pub, Version: row.Object.String()}, nil
	})
}

// place is where an agent's memory lies, by its row alone.
func place(a self.AgentRow) (memory.Place, error) {
	if a.Project == "" {
		return memory.Place{}, fault.New(fault.Invalid, "no_place", "agent %s has no project", a.Name).
			WithHint("name one: --project P with the first memory verb of the agent")
	}
	return memory.NewPlace(tenant, a.Project)
}

// standing is what the federation says of a loan between two organizations.
type standing struct {
	cross, member, mediator bool
	allowed                 federation.Allowed
	word                    string
	head                    charter.Head
	pin                     lending.CharterPin
}

func (l *Lender) standing(borrowerOrg did.DID) standing {
	s := standing{cross: borrowerOrg != l.n.Org}
	now, err := l.n.Clock.Now()
	if err != nil {
		return s
	}
	state, _, allowed := l.n.Standing.State(now)
	s.word, s.allowed = state.String(), allowed
	if !s.cross {
		s.member, s.mediator = true, true
		return s
	}
	chain, ok := l.n.Standing.Charter()
	if !ok {
		return s
	}
	s.head = chain.Head()
	s.pin = lending.CharterPin{ID: s.head.ID, Seq: s.head.Body.Seq}
	m, ok := s.head.Body.Member(borrowerOrg)
	s.member = ok && m.Active()
	s.mediator = charter.CanMediate(s.head.Body, l.n.Org, borrowerOrg)
	return s
}

// mayLend says whether the node's state allows a live read of this loan.
func (s standing) mayLend() bool {
	if s.cross {
		return s.allowed.LiveReads
	}
	return s.allowed.OwnLoans
}
