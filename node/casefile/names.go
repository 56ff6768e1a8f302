package casefile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
)

// short is the domain and path of a did:webvh, any other DID in full.
func short(d did.DID) string {
	if d.Method() != didwebvh.Method {
		return d.String()
	}
	_, domain, ok := strings.Cut(d.ID(), ":")
	if !ok {
		return d.String()
	}
	return domain
}

// Names holds what organizations are called for short. No file proves a domain: a stranger may go by that of a member, and
// then neither is named by it.
type Names map[string]map[did.DID]bool

// Add takes note of an organization that has a part in the files looked at.
func (n Names) Add(d did.DID) {
	name := short(d)
	if n[name] == nil {
		n[name] = map[did.DID]bool{}
	}
	n[name][d] = true
}

// Short is the domain and path of a did:webvh, unless another organization goes by it; any other DID in full.
func (n Names) Short(d did.DID) string {
	name := short(d)
	for o := range n[name] {
		if o != d {
			return d.String()
		}
	}
	return name
}

// org is how a report names an organization.
func (s Set) org(d did.DID) string { return s.names.Short(d) }

// agent names an agent with its organization.
func (s Set) agentName(d did.DID) string {
	for _, a := range s.agentsByID() {
		if a.Body().Agent == d {
			return "agent " + quote(a.Body().Name) + " of " + s.org(a.Body().Org)
		}
	}
	return d.String()
}

func (s Set) agentsByID() []agent {
	var out []agent
	for _, a := range s.agents {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b agent) int { return cmp.Compare(a.line, b.line) })
	return out
}

// sortedRows gives the rows by organization, position and leaf.
func (s Set) sortedRows() []row {
	var out []row
	for _, r := range s.rows {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.entry.event().Org.String(), b.entry.event().Org.String()),
			cmp.Compare(a.entry.Index, b.entry.Index), cmp.Compare(a.index, b.index))
	})
	return out
}

// sortedObjects gives the objects in the order of their lines.
func (s Set) sortedObjects() []object {
	var out []object
	for _, o := range s.objects {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b object) int { return cmp.Compare(a.line, b.line) })
	return out
}

// requestOf is the request a row answers.
func requestOf(r lending.Row) envelope.ID {
	switch b := r.(type) {
	case lending.GrantedRow:
		return b.Request
	case lending.DeniedRow:
		return b.Request
	case lending.ReplayRow:
		return b.Request
	}
	return envelope.ID{}
}

// dated is when an object says it was signed.
func dated(o object) time.Time {
	switch b := o.body.(type) {
	case lending.Permission:
		return b.IssuedAt.Time()
	case lending.Revocation:
		return b.At.Time()
	case lending.ReadRequest:
		return b.At.Time()
	case lending.Receipt:
		return b.At.Time()
	}
	return time.Time{}
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// points writes thousandths of a point.
func points(milli uint64) string {
	if milli%1000 == 0 {
		return number(milli / 1000)
	}
	return strconv.FormatFloat(float64(milli)/1000, 'f', 3, 64)
}

func fingerprint(s Set) string { return charter.Fingerprint(s.Chain.Federation()) }
