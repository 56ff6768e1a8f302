package lending

import (
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Loan is the life of one permission as its lender keeps it.
type Loan struct {
	Place string `json:"place"` // what is lent, "tenant/project": the lender agent's at issue
	Reads uint64 `json:"reads"` // granted answers so far, those under its parts included
	// Under is how many of Reads were under its parts. Loans of older versions did not keep
	// it: of these the answers before are not told apart.
	Under uint64 `json:"under,omitempty"`
}

// Own returns how many answers were granted under the permission itself, which is the seq of
// the last one: each permission counts its own without a gap (04 section 6).
func (l Loan) Own() uint64 { return l.Reads - min(l.Under, l.Reads) }

// Parent is a permission of which another one is a part, with its loan.
type Parent struct {
	Perm envelope.Verified[Permission]
	Loan Loan
}

// RevokedBy is what a decision needs of a revocation it found.
type RevokedBy struct {
	ID     envelope.ID   `json:"id"`
	At     envelope.Time `json:"at"`
	Reason string        `json:"reason"`
}

// NonceRecord is kept for each granted answer until NonceUntil of its request:
// the same request may then have the same answer again. Only the deciding
// transaction writes it, so a failed request uses no nonce up.
type NonceRecord struct {
	Cursor  string        `json:"cursor,omitempty"`
	Receipt Receipt       `json:"receipt"`
	Refs    []Ref         `json:"refs"`
	Request envelope.ID   `json:"request"`
	Salt    Salt          `json:"salt"` // of the answer
	Until   envelope.Time `json:"until"`
}

// Bytes returns the canonical bytes of the record.
func (n NonceRecord) Bytes() ([]byte, error) { return envelope.Marshal(n) }

// ParseNonceRecord reads the bytes of a record.
func ParseNonceRecord(b []byte) (NonceRecord, error) {
	var n NonceRecord
	err := envelope.Unmarshal(b, &n)
	if err != nil {
		return NonceRecord{}, err
	}
	return n, n.Receipt.Check()
}

// Bytes returns the canonical bytes of the loan.
func (l Loan) Bytes() ([]byte, error) { return envelope.Marshal(l) }

// ParseLoan reads the bytes of a loan.
func ParseLoan(b []byte) (Loan, error) {
	var l Loan
	if err := envelope.Unmarshal(b, &l); err != nil {
		return Loan{}, err
	}
	return l, nil
}

// State is what one decision reads, all of it by point Gets in the transaction
// that writes the decision, absence included. The zero State denies.
type State struct {
	// Known says that this node issued the permission and has its loan.
	Known bool
	Loan  Loan
	// Parents are the permissions above this one, nearest first, at most
	// MaxParents.
	Parents []Parent
	// Revoked is the first revocation found among Targets, nil where each of them
	// was looked up and is absent.
	Revoked *RevokedBy
	// RevocationsRead says that each of Targets was looked up.
	RevocationsRead bool
	// Vis is the visibility epoch of the loan's place.
	Vis uint64
	// PactLive says that the permission's pact is in force; it counts only where
	// the permission names one.
	PactLive bool
	// LenderLive and BorrowerLive say that the agent object is live and has the
	// capability lend or borrow.
	LenderLive, BorrowerLive bool
	// Member says that borrower and lender are of one organization, or the
	// borrower's is an active member of the federation.
	Member bool
	// Forked is ReasonDIDLog or ReasonLog where a fork of a log of Forker, the lender's or
	// the borrower's organization, is held and not decided; else empty. Whoever asks may be
	// who took its key, or a second copy of its node; 02 treats it as suspended.
	Forked string
	Forker did.DID
	// MayLend says that the node's state allows live reads of this loan; NodeState
	// is its word, such as "stale".
	MayLend   bool
	NodeState string
	// TimeTrusted says that the time handed to Decide can be relied on.
	TimeTrusted bool
	// Nonce is the record under the request's borrower and nonce, nil if absent.
	Nonce *NonceRecord
	// Signer and Kid say who signs the receipt: the lender, or an agent with
	// capability receipts where the lender is a human.
	Signer did.DID
	Kid    string
	// RowSalt is drawn anew for each call of Decide.
	RowSalt Salt
}

// permState returns the state of a permission at at; replayed leaves the count
// out, since the answer asked for was counted before.
func (st State) permState(p Permission, at time.Time, replayed bool) PermState {
	switch {
	case st.Revoked != nil:
		return Revoked
	case !at.Before(st.expiry(p).Time()):
		return Expired
	case at.Before(st.begin(p).Time()):
		return NotYet
	case !replayed && st.left(p) == 0:
		return Exhausted
	case !p.Pact.IsZero() && !st.PactLive:
		return Lapsed
	case !st.MayLend:
		return Stale
	}
	return Valid
}

// PermState returns the state of a permission at at, as a list of loans shows it. What
// decides over a read is Decide.
func (st State) PermState(p Permission, at time.Time) PermState { return st.permState(p, at, false) }

// expiry returns the earliest end of the permission and its parents.
func (st State) expiry(p Permission) envelope.Time {
	end := p.ExpiresAt
	for _, up := range st.Parents {
		if t := up.Perm.Body().ExpiresAt; t.Before(end) {
			end = t
		}
	}
	return end
}

// begin returns the latest beginning of the permission and its parents, zero if
// none has one.
func (st State) begin(p Permission) envelope.Time {
	from := p.NotBefore
	for _, up := range st.Parents {
		if t := up.Perm.Body().NotBefore; t.After(from) {
			from = t
		}
	}
	return from
}

// left returns how many granted answers remain to the permission and to each of
// its parents.
func (st State) left(p Permission) uint64 {
	n := remain(p, st.Loan)
	for _, up := range st.Parents {
		n = min(n, remain(up.Perm.Body(), up.Loan))
	}
	return n
}

func remain(p Permission, l Loan) uint64 {
	if l.Reads >= p.MaxReads {
		return 0
	}
	return p.MaxReads - l.Reads
}

// Replays reports whether rec is the record of the answer that this very
// request had, and is remembered at at. A lender that finds one before it
// evaluates renders the recorded entries anew, as far as they still match.
func (n *NonceRecord) Replays(rq envelope.Verified[ReadRequest], at time.Time) bool {
	return n.holds(at) && n.Request == rq.ID()
}

// holds reports whether the nonce is taken at at.
func (n *NonceRecord) holds(at time.Time) bool { return n != nil && at.Before(n.Until.Time()) }
