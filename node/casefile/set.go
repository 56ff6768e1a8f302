package casefile

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/mediation"
)

// Set is everything a case file holds, verified. It is made by Open alone.
type Set struct {
	Case    envelope.ID
	Chain   charter.Chain
	Newest  envelope.Time // the newest statement in the file
	Entries []Entry       // by organization and index
	Vouched string        // what beside the file vouches for the genesis: the fingerprint, or words on pins; "" nothing

	file   envelope.ID // id of the file's bytes
	bytes  int
	header int       // lines in all
	asOf   time.Time // the moment the case is looked at
	rules  mediation.Terms

	index   index
	ring    *ring
	names   Names
	keys    map[did.DID]history.Keys
	byID    map[envelope.ID]*Entry
	bodies  map[envelope.ID]held
	rows    map[envelope.ID]row
	objects map[envelope.ID]object
	agents  map[envelope.ID]agent
	answers map[envelope.ID][]row // rows by the request they answer
}

// Entry is an event under a signed head.
type Entry struct {
	attestation.Fact
	Head attestation.Head // of the note that proves it
	line int
	kid  string
}

// event is the body of the event.
func (e Entry) event() attestation.Event { return e.Event.Body() }

// held is a body with its line.
type held struct {
	body []byte
	line int
}

// row is an audit row under its audit.rows event.
type row struct {
	lending.Row
	id    envelope.ID
	entry *Entry
	index uint64
	line  int
}

// object is a permission, revocation, read request or receipt.
type object struct {
	id     envelope.ID
	line   int
	body   any     // Permission, Revocation, ReadRequest or Receipt
	signer did.DID // the agent
	org    did.DID // whose agent it is
	kid    string
}

// agent is an agent object.
type agent struct {
	envelope.Verified[keyring.Agent]
	line int
}

// opener verifies a file step by step.
type opener struct {
	Set
	ctx        context.Context
	lines      []line
	used       map[int]bool
	last       map[did.DID]int // newest DID log line of each DID
	agentsUsed map[did.DID]bool

	lenient  bool     // what is pending does not end the opening, and is gathered
	deferred []*Fault // what is pending
	alone    []Numbered
}

// wait returns err, or nil if what is pending is gathered and err is.
func (p *opener) wait(err error) error {
	var f *Fault
	if p.lenient && errors.As(err, &f) && f.Pending {
		p.deferred = append(p.deferred, f)
		return nil
	}
	return err
}

// note is a head with what was found of it.
type note struct {
	attlog.Note
	line  int // of the first entry under it
	seen  []attestation.Seen
	waits *Fault // what is pending about it
	err   error
}

// open verifies the bytes of a case file. Every step either finds all that it looks at
// true, or fails the file with the line.
func open(ctx context.Context, b []byte, o Options) (Set, error) {
	f, err := split(ctx, b)
	if err != nil {
		return Set{}, err
	}
	p := newOpener(ctx, newRing(), f.lines)
	p.file, p.bytes, p.header = envelope.IDOf(b), len(b), len(f.lines)+1
	if len(f.header.About) > 0 {
		p.Case = f.header.About[0]
	}
	for _, step := range []func() error{p.dids, p.logs, p.charters, p.members, p.bodiesOf, p.agentObjects, p.auditRows, p.signed, p.reach} {
		if err := ctx.Err(); err != nil {
			return Set{}, err
		}
		if err := step(); err != nil {
			return Set{}, err
		}
	}
	about, err := f.about()
	if err != nil {
		return Set{}, err
	}
	if len(about) > 1 {
		return Set{}, fault(1, "the header is about more than a case and the lines below it")
	}
	if p.Vouched, err = p.vouched(o); err != nil {
		return Set{}, err
	}
	if few := p.unwitnessed(o.Witnesses, func(Entry) bool { return true }); len(few) > 0 {
		return Set{}, few[0]
	}
	return p.Set, nil
}

func newOpener(ctx context.Context, r *ring, lines []line) *opener {
	p := &opener{ctx: ctx, lines: lines, used: map[int]bool{}, last: map[did.DID]int{}, agentsUsed: map[did.DID]bool{}}
	p.Set = Set{ring: r, names: Names{}, keys: map[did.DID]history.Keys{}, byID: map[envelope.ID]*Entry{}, bodies: map[envelope.ID]held{},
		rows: map[envelope.ID]row{}, objects: map[envelope.ID]object{}, agents: map[envelope.ID]agent{}}
	return p
}

// vouched compares the file with the fingerprint and the pins that are given.
func (p *opener) vouched(o Options) (string, error) {
	by, err := p.comparePins(o.Known)
	if err != nil {
		return "", err
	}
	if o.Fingerprint != "" {
		if err := charter.CheckFingerprint(o.Fingerprint, p.Chain.Federation()); err != nil {
			return "", fault(0, "the genesis in the file is %s: %v", charter.Fingerprint(p.Chain.Federation()), err)
		}
		by = "the fingerprint"
	}
	if by == "" && o.Strict {
		return "", fault(0, "nothing but the file vouches for its genesis %s: a fingerprint is needed", charter.Fingerprint(p.Chain.Federation()))
	}
	return by, nil
}

// of gives the lines of one kind.
func of[T bundle.Line](p *opener) func(yield func(line, T) bool) {
	return func(yield func(line, T) bool) {
		for _, l := range p.lines {
			if t, ok := l.Line.(T); ok && !yield(l, t) {
				return
			}
		}
	}
}

// judge has f look at each line of a kind, side by side, and admit take what it found in the order of the lines. The first
// line that either refuses ends it, unless the line is pending and waits.
func judge[T bundle.Line, R any](p *opener, f func(line, T) (R, error), admit func(R) error) error {
	var lines []line
	for l := range of[T](p) {
		lines = append(lines, l)
	}
	all, errs := make([]R, len(lines)), make([]error, len(lines))
	if err := Parallel(p.ctx, len(lines), func(i int) { all[i], errs[i] = f(lines[i], lines[i].Line.(T)) }); err != nil {
		return err
	}
	for i, r := range all {
		if err := p.wait(errs[i]); err != nil {
			return err
		}
		if errs[i] != nil {
			continue
		}
		if err := admit(r); err != nil {
			return err
		}
	}
	return nil
}

// dids verifies the DID logs, the parts of each in order and without overlap.
func (p *opener) dids() error {
	for l, d := range of[bundle.DIDLog](p) {
		at := 0
		if _, ok := p.last[d.DID]; ok {
			v, err := p.ring.Head(p.ctx, d.DID)
			if err != nil {
				return fault(l.n, "DID log of %s: %v", d.DID, err)
			}
			at = v.Number
		}
		if d.From != uint64(at)+1 {
			return fault(l.n, "DID log of %s goes on at version %d, %d is next", d.DID, d.From, at+1)
		}
		if _, err := p.ring.Offer(p.ctx, d.DID, d.Log, d.Witness); err != nil {
			return fault(l.n, "DID log of %s: %v", d.DID, err)
		}
		if now, err := p.ring.Log(p.ctx, d.DID, at); err != nil || !bytes.Equal(now, d.Log) {
			return fault(l.n, "DID log of %s: it repeats what stands above, or is not spelled as a log is", d.DID)
		}
		p.last[d.DID] = l.n
		p.names.Add(d.DID)
	}
	return p.witnessFiles()
}

// witnessFiles refuses a witness file that proves nothing that had to be witnessed.
func (p *opener) witnessFiles() error {
	for l, d := range of[bundle.DIDLog](p) {
		w, err := p.ring.Witness(p.ctx, d.DID)
		if err != nil || len(d.Witness) > 0 && !slices.Equal(w, d.Witness) {
			return fault(l.n, "DID log of %s: its witness file holds what nothing needs", d.DID)
		}
		h, err := p.ring.History(p.ctx, d.DID)
		if err != nil {
			return fault(l.n, "DID log of %s: %v", d.DID, err)
		}
		p.newer(envelope.TimeOf(h.Head().Time))
	}
	return nil
}

// newer moves the newest statement of the file.
func (p *opener) newer(t envelope.Time) {
	if !t.IsZero() && t.After(p.Newest) {
		p.Newest = t
	}
}
