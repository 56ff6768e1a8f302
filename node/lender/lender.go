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
//
// # What is stored
//
// In state:
//
//	perm/<id>                 compact permission
//	loan/<id>                 lending.Loan: place and count
//	li/<id>                   issuedRow: what was known at issue
//	lo/<id>                   the loan is open; gone once loan.ended is drafted
//	le/<id>                   id of the event loan.ended
//	rev/<kind>/<target>       lending.RevokedBy; of a borrower also .../<lending agent>, by each signer
//	non/<borrower>/<nonce>    8 bytes of time it is forgotten, lending.NonceRecord
//	non/<borrower>/<nonce>/ask  8 bytes of time it is forgotten, id of the loan request
//	lr/<id>                   askRow: a loan request and what came of it
//	lq/<organization>         openAsks: its requests that wait for an answer
//	lk/<organization>         keptAsks: how many are kept that led to no loan
//	gr/<id>                   growthRow: how far a loan had grown when that was told
//	span/<place>/<began>      importSpan: when the entries of one import were taken in
//	vio/<id>/<class>          breachRow: denied acts, and which are in the log
//	side/<row id>             lending.Side of a granted row
//	rs/<tenant>/<subject>/<id>      readerRow: how often a permission read of a subject
//	re/<tenant>/<project>/<entry>/<id>  readerRow: how often it read an entry
//	ri                        8 bytes: number of the last audit row that both hold
//	bkp/<~time>               a backup was asked for
//	fgt/<place>\0<entry>      forgotten; answers that held it keep their salts for now
//
// Signed objects (permissions, revocations, requests, receipts) lie in node/library; a
// row names the request it answers.
//
// # What leaves no row
//
// What is not authenticated as a known agent's request, and calls beyond the limits of
// rate and queue: who sends them cannot make this node write.
package lender

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Prefixes of keys; the package comment says what is under them.
const (
	keyPerm   = "perm/"
	keyLoan   = "loan/"
	keyIssued = "li/"
	keyOpen   = "lo/"
	keyEnded  = "le/"
	keyRev    = "rev/"
	keyNonce  = "non/"
	keyBreach = "vio/"
	keySide   = "side/"

	keySubjectReader = "rs/"
	keyEntryReader   = "re/"
	keyIndexed       = "ri"
	keyBackup        = "bkp/"
	keyForgot        = "fgt/"
)

// Lender is the lending side of one node. It is safe for concurrent use.
type Lender struct {
	n      *self.Node
	slots  chan struct{} // of one call each
	looked time.Time     // owned by Run: when it was last looked how far loans have grown
	sided  []byte        // guarded by indexing: up to where it was looked whether rows of answers are gone
	rested time.Time     // of the sweep alone: when content was last moved between its tiers
	limits *limiter
	audits *limiter // of calls for rows, which are one at a time
	agents self.AgentReader

	indexing sync.Mutex // held by who brings the index of readers up to now

	mu      sync.Mutex
	known   map[envelope.ID]*known // guarded by mu
	gates   map[envelope.ID]*gate  // guarded by mu
	signers map[did.DID]signer     // guarded by mu
	pages   map[pageStart]uint64   // number of the row before a page of rows; guarded by mu
	cfg     Config

	// testingOnlyBeforeSend is called between commit and release.
	testingOnlyBeforeSend func()
	// testingOnlyEvaluate is called before the memory is looked through for a request.
	testingOnlyEvaluate func()
	// testingOnlyFound is called between evaluation and decision.
	testingOnlyFound func()
}

// New returns the lending side of n.
func New(n *self.Node, cfg Config) *Lender {
	if cfg.ReadsPerSecond <= 0 {
		cfg.ReadsPerSecond = DefaultRate
	}
	if cfg.Queue <= 0 {
		cfg.Queue = DefaultQueue
	}
	if cfg.DiscoverMin <= 0 {
		cfg.DiscoverMin = DefaultDiscoverMin
	}
	audits := newLimiter(cfg.ReadsPerSecond)
	audits.most = 1
	return &Lender{
		n: n, cfg: cfg, audits: audits, pages: map[pageStart]uint64{}, slots: make(chan struct{}, cfg.Queue), limits: newLimiter(cfg.ReadsPerSecond),
		known: map[envelope.ID]*known{}, gates: map[envelope.ID]*gate{}, signers: map[did.DID]signer{},
	}
}

// known is what never changes about a permission this node issued: its bytes were
// verified once. Whether it may be used is decided anew each time.
type known struct {
	perm    envelope.Verified[lending.Permission]
	compact string
	place   memory.Place
	issued  issuedRow
}

// issuedRow is what the lender keeps of a loan beside the permission.
type issuedRow struct {
	BorrowerOrg did.DID     `json:"borrower_org"`
	Classes     []string    `json:"classes,omitempty"` // of the matches; absent from rows of older versions
	Event       envelope.ID `json:"event"`             // loan.issued
	Hygiene     []string    `json:"hygiene"`
	Matches     uint64      `json:"matches"`
	Replaces    envelope.ID `json:"replaces,omitempty"` // permission that ended with this one's issue
	Request     envelope.ID `json:"request,omitempty"`  // loanrequest that it answers
}

// signer signs for an agent; what a person lent, an agent with capability receipts answers.
type signer struct {
	envelope.Signer
	kid string
	who did.DID // whose key it is
}

func idKey(prefix string, id envelope.ID) []byte { return []byte(prefix + id.String()) }
func revKey(t lending.Target) []byte             { return []byte(keyRev + t.Kind + "/" + t.ID) }
func nonceKey(b did.DID, n lending.Salt) []byte {
	return []byte(keyNonce + b.String() + "/" + n.String())
}

// getNonce reads what was answered to a nonce; nil if nothing.
func getNonce(g library.Getter, key []byte) (*lending.NonceRecord, error) {
	b, err := g.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(b) < 8 {
		return nil, errDamaged(true, string(key))
	}
	rec, err := lending.ParseNonceRecord(b[8:])
	return &rec, err
}

// errDamaged is the error for a row that does not read, or nil.
func errDamaged(bad bool, key string) error {
	if !bad {
		return nil
	}
	return fmt.Errorf("row %.40q is damaged", key)
}

func putNonce(tx store.Tx, key []byte, rec lending.NonceRecord) error {
	b, err := rec.Bytes()
	if err != nil {
		return err
	}
	until := binary.BigEndian.AppendUint64(nil, uint64(rec.Until.Unix()))
	return tx.Set(key, append(until, b...))
}

// permission returns a permission this node issued, or lending.Unknown.
func (l *Lender) permission(ctx context.Context, id envelope.ID) (*known, error) {
	l.mu.Lock()
	k := l.known[id]
	l.mu.Unlock()
	if k != nil {
		return k, nil
	}
	k = &known{}
	var row self.AgentRow
	err := l.n.DB.View(ctx, func(r store.Reader) (err error) {
		row, err = k.load(r, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, lending.Unknown()
	}
	if err != nil {
		return nil, err
	}
	e, err := envelope.ParseCompact(k.compact, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return nil, err
	}
	if k.perm, err = envelope.Open[lending.Permission](ctx, e, anyTime(row)); err != nil {
		return nil, err
	}
	l.remember(k)
	return k, nil
}

// load reads what belongs to a permission, and the agent that signed it.
func (k *known) load(r library.Getter, id envelope.ID) (self.AgentRow, error) {
	b, err := r.Get(idKey(keyPerm, id))
	if err != nil {
		return self.AgentRow{}, err
	}
	k.compact = string(b)
	e, err := envelope.ParseCompact(k.compact, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return self.AgentRow{}, err
	}
	p, err := envelope.Decode[lending.Permission](e)
	if err != nil {
		return self.AgentRow{}, err
	}
	loan, _, err := store.GetRow[lending.Loan](r, idKey(keyLoan, id))
	if err != nil {
		return self.AgentRow{}, err
	}
	if k.place, err = memory.ParsePlace(loan.Place); err != nil {
		return self.AgentRow{}, err
	}
	if k.issued, _, err = store.GetRow[issuedRow](r, idKey(keyIssued, id)); err != nil {
		return self.AgentRow{}, err
	}
	return self.Agent(r, p.Lender)
}

func (l *Lender) remember(k *known) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[k.perm.ID()] = k
}

// anyTime is the key source of one agent whatever its state: it says who signed, and the
// decision says whether that one may act now.
func anyTime(row self.AgentRow) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, who did.DID, kid string) (did.Key, error) {
		if who != row.Agent || kid != row.KID {
			return did.Key{}, fmt.Errorf("%s, key %.80q: %w", who, kid, envelope.ErrUnknownKey)
		}
		return did.Key{Public: row.Pub, Version: row.Object.String()}, nil
	})
}

// lenderKey returns the signer of a lending agent as last known. Whether that still is
// its key shows in the transaction, which reads the agent's row.
func (l *Lender) lenderKey(ctx context.Context, d did.DID) (signer, error) {
	l.mu.Lock()
	s, ok := l.signers[d]
	l.mu.Unlock()
	if ok {
		return s, nil
	}
	row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), d)
	if err != nil {
		return signer{}, err
	}
	if row.Kind == human {
		return l.receiptsKey(ctx, row)
	}
	return l.signer(ctx, row)
}

// forgetKey lets the signer of an agent be asked for again.
func (l *Lender) forgetKey(d did.DID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.signers, d)
}

// signer returns the signer of an own agent with the key that its row names.
func (l *Lender) signer(ctx context.Context, row self.AgentRow) (signer, error) {
	if row.Kind == human {
		return signer{}, errPerson(row)
	}
	l.mu.Lock()
	s, ok := l.signers[row.Agent]
	l.mu.Unlock()
	if ok && s.kid == row.KID && s.Public() == row.Pub {
		return s, nil
	}
	key, kid, err := l.n.Signers.Agent(ctx, row.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return signer{}, fault.Wrap(fault.Unavailable, "no_key", err).WithHint("the key of agent %s has to be on this node", row.Name)
	}
	if err != nil {
		return signer{}, err
	}
	if kid != row.KID || key.Public() != row.Pub {
		return signer{}, fault.New(fault.Unavailable, "no_key", "the key held here for agent %s is not the one its object names", row.Name).
			WithHint("give the agent a new object")
	}
	s = signer{key, kid, row.Agent}
	l.keepSigner(row.Agent, s)
	return s, nil
}

func (l *Lender) keepSigner(d did.DID, s signer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.signers) >= maxKnown {
		clear(l.signers)
	}
	l.signers[d] = s
}

// clock returns the time to decide at, and whether it is trusted.
func (l *Lender) clock() (at time.Time, trusted bool) {
	at, err := l.n.Clock.Now()
	if err != nil {
		return l.n.Clock.Last(), false
	}
	return at, true
}

// resolve reads what a person calls a permission: its id or its compact form.
func resolve(text string) (envelope.ID, error) {
	if id, err := envelope.ParseID(text); err == nil {
		return id, nil
	}
	e, err := envelope.ParseCompact(text, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return envelope.ID{}, fault.New(fault.Invalid, "permission", "%.60q is neither the id of a permission nor a permission", text).
			WithHint("trustnode loan list shows the ids")
	}
	return e.ID(), nil
}
