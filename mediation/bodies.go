package mediation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"trustnode/did"
	"trustnode/did/envelope"
)

// ErrForm says that a body does not have the form of its kind.
var ErrForm = errors.New("not a valid body")

// CharterRef names the charter that governs a case.
type CharterRef struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"`
}

// Dispute is the public body of dispute.filed. Its id is the case.
type Dispute struct {
	Against  did.DID     `json:"against"`
	Amount   string      `json:"amount,omitempty"` // smallest unit; absent: no money is claimed
	Asset    string      `json:"asset,omitempty"`
	Charter  CharterRef  `json:"charter"`
	Claims   []Claim     `json:"claims"`
	Evidence envelope.ID `json:"evidence"` // the first manifest
	Nonce    string      `json:"nonce"`
	Pact     envelope.ID `json:"pact,omitempty"`
	Relief   []string    `json:"relief"`
	Track    string      `json:"track"`
}

// Claim is one allegation of a dispute.
type Claim struct {
	Acts      uint64        `json:"acts"`
	Code      string        `json:"code"`
	FirstAt   envelope.Time `json:"first_at"`
	LastAt    envelope.Time `json:"last_at"`
	N         uint64        `json:"n"`
	Perm      envelope.ID   `json:"perm,omitempty"`
	Pact      envelope.ID   `json:"pact,omitempty"`
	Statement envelope.ID   `json:"statement,omitempty"`
	Subject   did.DID       `json:"subject"`
}

// Answer is the public body of dispute.answered.
type Answer struct {
	Case   envelope.ID `json:"case"`
	Claims []Reply     `json:"claims"`
	Nonce  string      `json:"nonce"`
}

// Reply answers one claim: deny or admit.
type Reply struct {
	N     uint64 `json:"n"`
	Reply string `json:"reply"`
}

// Manifest is the private body of dispute.evidence: what a party hands in, by id.
type Manifest struct {
	Items []Item `json:"items"`
	Salt  string `json:"salt"`
}

// Item is one exhibit.
type Item struct {
	Bytes  uint64      `json:"bytes"`
	Claims []uint64    `json:"claims"`
	ID     envelope.ID `json:"id"`
	Kind   string      `json:"kind"`
	N      uint64      `json:"n"`
	Where  *Where      `json:"where,omitempty"`
}

// Where is a place in the log of an organization; Row is the leaf under the root of
// the audit.rows event at that index.
type Where struct {
	Index uint64  `json:"index"`
	Org   did.DID `json:"org"`
	Row   *uint64 `json:"row,omitempty"`
}

// Document is a private body of words: a party's text, or the reasons of a ruling.
type Document struct {
	Salt string `json:"salt"`
	Text string `json:"text" text:"multiline"`
}

// Assignment is the public body of ruling.seated: a mediator takes its seat.
type Assignment struct {
	Case   envelope.ID `json:"case"`
	Draw   *DrawRef    `json:"draw,omitempty"` // inputs of the draw; absent on rung neutral
	FreeOf []string    `json:"free_of"`        // what the mediator declares to be free of
	Place  uint64      `json:"place"`          // in the order of candidates, from 0
	Rung   string      `json:"rung"`
}

// DrawRef names the root a draw rests on.
type DrawRef struct {
	Root    envelope.ID `json:"root"`
	Witness LogPlace    `json:"witness"`
}

// LogPlace is an index in the log of an organization.
type LogPlace struct {
	Index uint64  `json:"index"`
	Org   did.DID `json:"org"`
}

// Ruling is the public body of ruling.issued. It states severities, never points.
type Ruling struct {
	Case       envelope.ID `json:"case"`
	Claims     []Finding   `json:"claims"`
	Considered Considered  `json:"considered"`
	Dissent    envelope.ID `json:"dissent,omitempty"`
	Outcome    string      `json:"outcome"`
	Place      uint64      `json:"place"`
	Reasons    envelope.ID `json:"reasons"`
	Remedies   []Remedy    `json:"remedies"`
	Rung       string      `json:"rung"`
	Summary    string      `json:"summary"`
	Supersedes envelope.ID `json:"supersedes,omitempty"`
	Verdict    envelope.ID `json:"verdict,omitempty"`
}

// Finding is what a ruling says of one claim.
type Finding struct {
	Acts     uint64   `json:"acts"`
	Items    []uint64 `json:"items"`
	N        uint64   `json:"n"`
	Result   string   `json:"result"`   // proven, not_proven, refuted
	Severity uint64   `json:"severity"` // thousandths of a point, 0..100000
}

// Considered commits to the events a ruling rests on: the RFC 6962 root over their
// sorted ids.
type Considered struct {
	Count uint64      `json:"count"`
	Root  envelope.ID `json:"root"`
}

// Remedy is one thing a ruling orders.
type Remedy struct {
	Claim uint64      `json:"claim"`
	Do    string      `json:"do"`
	N     uint64      `json:"n"`
	Perm  envelope.ID `json:"perm,omitempty"` // of revoke, which this version does not carry out
}

// Closed words of version 1.
var (
	kinds    = []string{"permission", "revocation", "readrequest", "receipt", "row", "event", "pact", "renewal", "terms", "statement", "agent", "checkpoint", "forkproof", "document"}
	reliefs  = []string{"correct", "cure", "revoke", "score", "settle", "suspend"}
	outcomes = []string{"claimant", "respondent", "partial", "undecided", "abusive"}
	results  = []string{"proven", "not_proven", "refuted"}
)

// body decodes canonical bytes of one kind under a cap.
func body[T interface{ check() error }](b []byte, max int) (T, error) {
	var v, zero T
	if len(b) > max {
		return zero, fmt.Errorf("%w: %d bytes, limit %d", ErrForm, len(b), max)
	}
	if err := envelope.Unmarshal(b, &v); err != nil {
		return zero, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if err := v.check(); err != nil {
		return zero, fmt.Errorf("%w: %w", ErrForm, err)
	}
	return v, nil
}

// ParseDispute decodes a dispute. ErrForm says what is wrong.
func ParseDispute(b []byte) (Dispute, error) { return body[Dispute](b, MaxSmall) }

// ParseAnswer decodes an answer.
func ParseAnswer(b []byte) (Answer, error) { return body[Answer](b, MaxSmall) }

// ParseManifest decodes a manifest.
func ParseManifest(b []byte) (Manifest, error) { return body[Manifest](b, MaxEvidence) }

// ParseDocument decodes a text.
func ParseDocument(b []byte) (Document, error) { return body[Document](b, MaxRuling) }

// ParseAssignment decodes an assignment.
func ParseAssignment(b []byte) (Assignment, error) { return body[Assignment](b, MaxSmall) }

// ParseRuling decodes a ruling.
func ParseRuling(b []byte) (Ruling, error) { return body[Ruling](b, MaxRuling) }

func (d Dispute) check() error {
	switch {
	case len(d.Claims) == 0 || len(d.Claims) > MaxClaims:
		return fmt.Errorf("%d claims, allowed are 1..%d", len(d.Claims), MaxClaims)
	case d.Track != "normal" && d.Track != "review":
		return fmt.Errorf("track is %.20q", d.Track)
	case (d.Amount == "") != (d.Asset == ""):
		return errors.New("amount and asset stand together")
	case !digits(d.Amount):
		return errors.New("amount is not an integer string")
	case !sortedIn(d.Relief, reliefs):
		return errors.New("relief is not a sorted list of known remedies")
	}
	for i, c := range d.Claims {
		if err := c.check(uint64(i) + 1); err != nil {
			return err
		}
	}
	return bytes16(d.Nonce)
}

func (c Claim) check(n uint64) error {
	named := 0
	for _, id := range []envelope.ID{c.Perm, c.Pact, c.Statement} {
		if !id.IsZero() {
			named++
		}
	}
	switch {
	case c.N != n:
		return errors.New("claims are not numbered from 1")
	case named != 1:
		return fmt.Errorf("claim %d names %d of perm, pact and statement", n, named)
	case c.Acts == 0:
		return fmt.Errorf("claim %d has no acts", n)
	case c.LastAt.Time().Before(c.FirstAt.Time()):
		return fmt.Errorf("claim %d ends before it begins", n)
	}
	if _, err := band(c.Code, c.Acts); err != nil {
		return fmt.Errorf("claim %d: %w", n, err)
	}
	return nil
}

func (a Answer) check() error {
	if len(a.Claims) == 0 || len(a.Claims) > MaxClaims {
		return errors.New("answer names no claims")
	}
	for i, r := range a.Claims {
		if r.Reply != "deny" && r.Reply != "admit" {
			return fmt.Errorf("reply is %.20q", r.Reply)
		}
		if i > 0 && r.N <= a.Claims[i-1].N {
			return errors.New("replies are not in the order of claims")
		}
	}
	return bytes16(a.Nonce)
}

func (m Manifest) check() error {
	if len(m.Items) == 0 || len(m.Items) > MaxItems {
		return fmt.Errorf("%d items, allowed are 1..%d", len(m.Items), MaxItems)
	}
	for i, it := range m.Items {
		if it.N != uint64(i)+1 {
			return errors.New("items are not numbered from 1")
		}
		if !slices.Contains(kinds, it.Kind) {
			return fmt.Errorf("item %d has kind %.20q", it.N, it.Kind)
		}
		if it.Kind == "row" && (it.Where == nil || it.Where.Row == nil) {
			return fmt.Errorf("item %d is a row without a place", it.N)
		}
	}
	return bytes16(m.Salt)
}

func (d Document) check() error {
	if d.Text == "" || len(d.Text) > MaxText {
		return fmt.Errorf("text has %d bytes, allowed are 1..%d", len(d.Text), MaxText)
	}
	return bytes16(d.Salt)
}

func (a Assignment) check() error {
	if !sortedIn(a.FreeOf, []string{"dealings", "interest", "ties"}) {
		return errors.New("free_of is not a sorted list of known words")
	}
	if (a.Rung == "neutral") != (a.Draw == nil) {
		return errors.New("a draw stands on every rung but neutral")
	}
	return checkRung(a.Rung)
}

func checkRung(r string) error {
	switch r {
	case "neutral", "rotating", "contract", "panel":
		return nil
	}
	return fmt.Errorf("rung is %.20q", r)
}

func (r Ruling) check() error {
	switch {
	case len(r.Claims) == 0 || len(r.Claims) > MaxClaims:
		return errors.New("ruling names no claims")
	case !slices.Contains(outcomes, r.Outcome):
		return fmt.Errorf("outcome is %.20q", r.Outcome)
	case r.Summary == "" || utf8.RuneCountInString(r.Summary) > MaxSummary:
		return fmt.Errorf("summary has %d characters, allowed are 1..%d", utf8.RuneCountInString(r.Summary), MaxSummary)
	}
	for i, c := range r.Claims {
		if i > 0 && c.N <= r.Claims[i-1].N {
			return errors.New("findings are not in the order of claims")
		}
		if !slices.Contains(results, c.Result) {
			return fmt.Errorf("result is %.20q", c.Result)
		}
	}
	return checkRung(r.Rung)
}

func digits(s string) bool {
	for i, c := range s {
		if c < '0' || c > '9' || i == 0 && c == '0' && len(s) > 1 {
			return false
		}
	}
	return len(s) <= 38
}

// sortedIn says whether list is a strictly rising list of known words.
func sortedIn(list, known []string) bool {
	for i, s := range list {
		if !slices.Contains(known, s) || i > 0 && s <= list[i-1] {
			return false
		}
	}
	return true
}

func bytes16(s string) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != 16 || base64.RawURLEncoding.EncodeToString(b) != s {
		return errors.New("nonce or salt is not 16 bytes of base64url")
	}
	return nil
}
