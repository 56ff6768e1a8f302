package lending

import (
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Errors of a borrower's check. Each means: no content, access has ended.
var (
	// ErrNotOurs means that the receipt answers something else than what was
	// asked: another request, permission, lender or op, another time or content.
	ErrNotOurs = errors.New("receipt does not answer this request")
)

// EndedError means that the lender signed that the permission is not valid now.
type EndedError struct {
	Perm  envelope.ID
	State PermState
	At    envelope.Time
}

// Error names state and time.
func (e *EndedError) Error() string {
	return fmt.Sprintf("permission %s is %s at %s, its lender signed", e.Perm, e.State, e.At)
}

// Expect is what a borrower asked, against which it holds what came back.
type Expect struct {
	Perm    envelope.Verified[Permission]
	Request envelope.ID
	Op      string
	// MaySign reports whether an agent other than the lender signs its receipts:
	// one of the lender's organization with capability receipts, where the lender
	// is a human. Nil: nobody.
	MaySign func(signer did.DID) bool
}

// Receipt accepts a receipt that answers the request, is dated within
// ClockSkewS of at, and says valid. Another state is *EndedError, all else wraps
// ErrNotOurs.
func (e Expect) Receipt(r envelope.Verified[Receipt], at time.Time) error {
	if err := e.binds(r.Body()); err != nil {
		return err
	}
	if skew := at.Sub(r.Body().At.Time()); skew.Abs() > ClockSkewS*time.Second {
		return fmt.Errorf("%w: dated %s, now is %s", ErrNotOurs, r.Body().At, at.UTC().Format(timeLayout))
	}
	if s := r.Body().State; s != Valid {
		return &EndedError{Perm: e.Perm.ID(), State: s, At: r.Body().At}
	}
	return nil
}

// Answer accepts an answer whose receipt Receipt accepts, was granted, and has
// the hash of what the answer holds.
func (e Expect) Answer(a Answer, r envelope.Verified[Receipt], at time.Time) error {
	if err := e.content(a.hash, r, at); err != nil {
		return err
	}
	if r.Body().CacheUntil != a.CacheUntil {
		return fmt.Errorf("%w: caching window of answer and receipt differ", ErrNotOurs)
	}
	return e.cache(r.Body())
}

// content accepts a receipt that Receipt accepts, was granted, and has this hash.
func (e Expect) content(hash envelope.ID, r envelope.Verified[Receipt], at time.Time) error {
	if err := e.Receipt(r, at); err != nil {
		return err
	}
	b := r.Body()
	switch {
	case !b.Granted():
		return fmt.Errorf("%w: content without a granted receipt", ErrNotOurs)
	case b.Hash != hash:
		return fmt.Errorf("%w: content has hash %s, the receipt %s", ErrNotOurs, hash, b.Hash)
	}
	return nil
}

// cache refuses a caching window that the permission does not sign.
func (e Expect) cache(r Receipt) error {
	if r.CacheUntil.IsZero() {
		return nil
	}
	p := e.Perm.Body()
	most := r.At.Time().Add(time.Duration(p.CacheS) * time.Second)
	if p.CacheS == 0 || r.CacheUntil.Time().After(most) || r.CacheUntil.Time().After(p.ExpiresAt.Time()) {
		return fmt.Errorf("%w: caching until %s was not agreed", ErrNotOurs, r.CacheUntil)
	}
	return nil
}

// binds reports whether the receipt is about what was asked.
func (e Expect) binds(r Receipt) error {
	p := e.Perm.Body()
	signs := r.Signed == p.Lender || e.MaySign != nil && e.MaySign(r.Signed)
	switch {
	case r.Request != e.Request:
		return fmt.Errorf("%w: it names request %s", ErrNotOurs, r.Request)
	case r.Perm != e.Perm.ID():
		return fmt.Errorf("%w: it names permission %s", ErrNotOurs, r.Perm)
	case r.Lender != p.Lender:
		return fmt.Errorf("%w: it names lender %s", ErrNotOurs, r.Lender)
	case !signs:
		return fmt.Errorf("%w: %s does not sign for the lender", ErrNotOurs, r.Signed)
	case r.Op != e.Op:
		return fmt.Errorf("%w: it names op %s", ErrNotOurs, r.Op)
	case r.Seq+r.Left > p.MaxReads:
		return fmt.Errorf("%w: %d answered and %d left, of %d", ErrNotOurs, r.Seq, r.Left, p.MaxReads)
	}
	return nil
}
