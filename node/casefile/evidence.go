package casefile

import (
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
)

// Numbered is a line of a bundle with its number in the file, which for a *Fault alone
// has a meaning.
type Numbered struct {
	bundle.Line
	N int
}

// Evidence is what lines of a bundle prove by the logs in it, about no case in particular:
// events under signed heads, and the agent objects, rows, bodies and signed objects those
// anchor. It is made by OpenEvidence alone.
type Evidence struct {
	Pending []*Fault   // what something that is not among the lines could decide
	Alone   []Numbered // agent objects no event here names: their place is the head of the DID
	Set     Set
}

// OpenEvidence verifies entries, bodies, rows, agent objects and the objects that agents
// sign, under the DIDs that r holds; other lines it leaves alone. To names it adds whoever speaks or cosigns, for the report
// calls nobody what two go by. A line that is false is a
// *Fault and fails all; one that cannot be decided is pending and proves nothing. Errors
// are *Fault, and those of ctx.
func OpenEvidence(ctx context.Context, r *keyring.Ring, lines []Numbered, names Names) (Evidence, error) {
	var own []line
	for _, l := range lines {
		if evidential(l.Line) {
			own = append(own, line{Line: l.Line, n: l.N})
		}
	}
	p := newOpener(ctx, &ring{Ring: r}, own)
	p.lenient, p.names = true, names
	for _, step := range []func() error{p.logs, p.bodiesOf, p.agentObjects, p.auditRows, p.signed} {
		if err := ctx.Err(); err != nil {
			return Evidence{}, err
		}
		if err := step(); err != nil {
			return Evidence{}, err
		}
	}
	e := Evidence{Pending: p.deferred, Alone: p.alone, Set: p.Set}
	e.disputed()
	return e, nil
}

// disputed makes pending what lies where a key is said to have been stolen.
func (e *Evidence) disputed() {
	for _, x := range e.Set.Entries {
		if at, ok := e.Tainted(x.event().Org, x.Index); ok {
			e.Pending = append(e.Pending, &Fault{x.line, e.Set.org(x.event().Org) + " " + number(x.Index) + " is disputed: the key.rotated at index " +
				number(at) + " says that the key was not safe then", true})
		}
	}
}

// Tainted gives the index of the key.rotated that puts an index of a log in doubt, false
// if none does.
func (e Evidence) Tainted(org did.DID, index uint64) (uint64, bool) {
	for _, t := range e.Set.keys[org].Taints() {
		if t.Agent.IsZero() && t.From < index && index < t.Until {
			return t.Until, true
		}
	}
	return 0, false
}

// evidential says whether OpenEvidence judges a line.
func evidential(l bundle.Line) bool {
	switch l := l.(type) {
	case bundle.Entry, bundle.Body, bundle.Row:
		return true
	case bundle.Envelope:
		return l.Type == keyring.AgentType || signedByAgent(l.Type)
	}
	return false
}

// signedByAgent says whether objects of a type are signed by an agent.
func signedByAgent(t envelope.Type) bool {
	switch t {
	case lending.PermissionType, lending.RevocationType, lending.ReadRequestType, lending.ReceiptType:
		return true
	}
	return false
}

// Positions answers from the events which keys ended where, and who signed a charter where.
func (e Evidence) Positions() charter.Positions { return positions{&e.Set} }

// Orgs lists the organizations whose log an entry is from, each once.
func (e Evidence) Orgs() (out []did.DID) {
	for _, x := range e.Set.Entries { // by organization
		if org := x.event().Org; len(out) == 0 || out[len(out)-1] != org {
			out = append(out, org)
		}
	}
	return out
}

// WitnessedBy fails the first entry that an organization beside those named has cosigned. Errors are *Fault.
func (e Evidence) WitnessedBy(named map[did.DID]bool) error { return e.Set.witnessedBy(named) }

// Retired gives the index of the event that retired a key of an organization, false if
// none here did.
func (e Evidence) Retired(org did.DID, kid string) (uint64, bool) {
	return (&opener{Set: e.Set}).retired(org, kid)
}

// Revocation is what an agent.revoked event says, and where it lies.
type Revocation struct {
	keyring.Revocation
	Index uint64
}

// Revocations lists what the events revoke, by organization and index.
func (e Evidence) Revocations() (out []Revocation) {
	for _, x := range e.Set.Entries {
		var d attestation.AgentRevoked
		if x.event().Type == "agent.revoked" && x.event().Decode(&d) == nil {
			out = append(out, Revocation{keyring.Revocation{Org: x.event().Org, Name: d.Name, ThroughSerial: d.ThroughSerial}, x.Index})
		}
	}
	return out
}

// Agents lists the agent objects that an event here names, in the order of their lines.
func (e Evidence) Agents() []Anchored {
	var out []Anchored
	for _, a := range e.Set.agentsByID() {
		t, _ := e.Set.keys[a.Body().Org].Term(a.ID())
		out = append(out, Anchored{a.Verified, t.From, a.line})
	}
	return out
}

// Anchored is an agent object with its place in the log of its organization.
type Anchored struct {
	envelope.Verified[keyring.Agent]
	Issued uint64 // index of its agent.issued
	N      int    // its line
}

// Words says of each entry, object and row whose line own picks what is proven: ok lines.
func (e Evidence) Words(own func(n int) bool) []Line {
	w := &words{s: e.Set}
	for _, x := range e.Set.Entries {
		if own(x.line) {
			w.entry(x)
			w.said(x)
		}
		if b, ok := e.Set.bodies[x.event().Body]; ok && own(b.line) {
			w.add("ok", "body %s of %s %d  %s bytes", x.event().Body, w.s.org(x.event().Org), x.Index, Thousands(len(b.body)))
		}
	}
	for _, o := range e.Set.sortedObjects() {
		if own(o.line) {
			w.object(o)
		}
	}
	for _, r := range e.Set.sortedRows() {
		if own(r.line) {
			w.row(r)
			w.wrote(r)
		}
	}
	return w.Lines
}

// Proves says whether an event, a row or a body that an event names is here.
func (e Evidence) Proves(id envelope.ID) bool {
	if _, ok := e.Set.byID[id]; ok {
		return true
	}
	if _, ok := e.Set.rows[id]; ok {
		return true
	}
	_, ok := e.Set.bodies[id]
	return ok && slices.ContainsFunc(e.Set.Entries, func(x Entry) bool { return x.event().Body == id })
}

// Unnamed lists the bodies that no event here names, by line.
func (e Evidence) Unnamed() (out []int) {
	named := map[envelope.ID]bool{}
	for _, x := range e.Set.Entries {
		named[x.event().Body] = true
		for _, r := range x.event().Refs {
			named[r] = true
		}
	}
	for id, b := range e.Set.bodies {
		if !named[id] {
			out = append(out, b.line)
		}
	}
	slices.Sort(out)
	return out
}
