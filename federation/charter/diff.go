package charter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// OpKind is an operation that turns one charter into the next.
type OpKind uint8

// The operations; the zero value is none. Append-only.
const (
	OpAdd       OpKind = 1
	OpRejoin    OpKind = 2
	OpSuspend   OpKind = 3
	OpReinstate OpKind = 4
	OpExpel     OpKind = 5
	OpLeave     OpKind = 6
	OpRekey     OpKind = 7
	OpVote      OpKind = 8
	OpEdit      OpKind = 9
	OpHead      OpKind = 10
	OpSet       OpKind = 11
	OpRenew     OpKind = 12
)

var opNames = [...]string{"none", "add", "rejoin", "suspend", "reinstate", "expel", "leave", "rekey", "vote", "edit", "head", "set", "renew"}

// String is the name of the operation.
func (k OpKind) String() string {
	if int(k) < len(opNames) {
		return opNames[k]
	}
	return opNames[0]
}

// Op is one operation, computed by Diff and never carried.
type Op struct {
	Kind     OpKind
	DID      did.DID // the organization; zero for set and renew
	Name     string  // its name in the child; for edit and set: what is changed
	From, To string  // what it was and becomes, in words; empty where Kind says it all
}

// String says the operation in words.
func (o Op) String() string {
	switch o.Kind {
	case OpAdd:
		return fmt.Sprintf("add %s (%s), %s", o.DID, o.Name, o.To)
	case OpVote:
		return fmt.Sprintf("%s: %s, was %s", o.DID, o.To, o.From)
	case OpEdit:
		return fmt.Sprintf("%s: %s becomes %q, was %q", o.DID, o.Name, o.To, o.From)
	case OpHead:
		return fmt.Sprintf("%s: DID and key move to %s, from %s", o.DID, o.To, o.From)
	case OpSet:
		return fmt.Sprintf("%s becomes %s, was %s", o.Name, o.To, o.From)
	case OpRenew:
		return fmt.Sprintf("valid %s, was %s", o.To, o.From)
	}
	return fmt.Sprintf("%s %s (%s)", o.Kind, o.DID, o.Name)
}

// Unexplained is a difference that no operation makes.
type Unexplained struct {
	DID  did.DID // the organization; zero for the charter itself
	What string
}

// Error names the difference.
func (e *Unexplained) Error() string {
	if e.DID.IsZero() {
		return fmt.Sprintf("no operation changes %s", e.What)
	}
	return fmt.Sprintf("no operation changes %s of %s", e.What, e.DID)
}

// Diff lists the operations that turn p into its child c: by member in order of
// DID, then what is set, then renew. *Unexplained if they do not explain every
// difference. Beyond them only seq, prev, federation, nonce, authority, round,
// released, resolves and issued_at differ.
func Diff(p, c Body) ([]Op, error) {
	if p.Name != c.Name {
		return nil, &Unexplained{What: "name"}
	}
	ops, err := diffMembers(p, c)
	if err != nil {
		return nil, err
	}
	ops = append(ops, diffSet(p, c)...)
	if p.NotBefore != c.NotBefore || p.ExpiresAt != c.ExpiresAt {
		ops = append(ops, Op{Kind: OpRenew, From: span(p), To: span(c)})
	}
	return ops, nil
}

func span(b Body) string { return "from " + b.NotBefore.String() + " to " + b.ExpiresAt.String() }

func diffMembers(p, c Body) ([]Op, error) {
	var ops []Op
	old := map[did.DID]Member{}
	for _, m := range p.Members {
		old[m.DID] = m
	}
	for _, m := range c.Members {
		was, held := old[m.DID]
		delete(old, m.DID)
		more, err := diffMember(was, held, m, c.Seq)
		if err != nil {
			return nil, err
		}
		ops = append(ops, more...)
	}
	for _, m := range p.Members {
		if _, lost := old[m.DID]; lost {
			return nil, &Unexplained{DID: m.DID, What: "the record"}
		}
	}
	return ops, nil
}

func diffMember(was Member, held bool, m Member, seq uint64) ([]Op, error) {
	if !held {
		return added(m, seq)
	}
	if was.Status != m.Status {
		return statusChange(was, m)
	}
	switch {
	case was.SCID != m.SCID:
		return nil, &Unexplained{m.DID, "scid"}
	case was.SinceSeq != m.SinceSeq:
		return nil, &Unexplained{m.DID, "since_seq"}
	case was.ReplacedBy != m.ReplacedBy:
		return nil, &Unexplained{m.DID, "replaced_by"}
	case !reflect.DeepEqual(was.Cutoff, m.Cutoff):
		return nil, &Unexplained{m.DID, "cutoff"}
	case was.Generation != m.Generation && was.DID.Method() == "web":
		return []Op{{Kind: OpRekey, DID: m.DID, Name: m.Name}}, nil
	case was.Generation != m.Generation:
		return nil, &Unexplained{m.DID, "generation"}
	case !slices.Equal(was.Gaps, m.Gaps):
		return nil, &Unexplained{m.DID, "gaps"}
	case was.Key != m.Key && was.DIDHead == "":
		return nil, &Unexplained{m.DID, "key"}
	}
	return smallChanges(was, m), nil
}

// added explains a new record: an add, or the new DID of a rekey.
func added(m Member, seq uint64) ([]Op, error) {
	if m.Generation > 1 {
		return []Op{{Kind: OpRekey, DID: m.DID, Name: m.Name}}, nil
	}
	switch {
	case m.Status != StatusActive:
		return nil, &Unexplained{m.DID, "the status of a new record"}
	case m.SinceSeq != seq:
		return nil, &Unexplained{m.DID, "since_seq of a new record"}
	case len(m.Gaps) != 0:
		return nil, &Unexplained{m.DID, "gaps of a new record"}
	}
	return []Op{{Kind: OpAdd, DID: m.DID, Name: m.Name, To: votes(m)}}, nil
}

// statusChange names the operation; none of them is accepted by these rules, so
// what else changed with it is not looked at.
func statusChange(was, m Member) ([]Op, error) {
	kind := OpKind(0)
	switch {
	case m.Status == StatusReplaced:
		kind = OpRekey
	case m.Status == StatusExpelled:
		kind = OpExpel
	case m.Status == StatusLeft:
		kind = OpLeave
	case m.Status == StatusSuspended && was.Status == StatusActive:
		kind = OpSuspend
	case m.Status == StatusActive && was.Status == StatusSuspended:
		kind = OpReinstate
	case m.Status == StatusActive && (was.Status == StatusExpelled || was.Status == StatusLeft):
		kind = OpRejoin
	default:
		return nil, &Unexplained{m.DID, "status from " + was.Status + " to " + m.Status}
	}
	return []Op{{Kind: kind, DID: m.DID, Name: m.Name}}, nil
}

func smallChanges(was, m Member) []Op {
	var ops []Op
	if was.DIDHead != m.DIDHead || was.Key != m.Key {
		ops = append(ops, Op{Kind: OpHead, DID: m.DID, Name: m.Name, From: place(was), To: place(m)})
	}
	if was.Votes != m.Votes {
		ops = append(ops, Op{Kind: OpVote, DID: m.DID, Name: m.Name, From: votes(was), To: votes(m)})
	}
	edit := func(what, from, to string) {
		if from != to {
			ops = append(ops, Op{Kind: OpEdit, DID: m.DID, Name: what, From: from, To: to})
		}
	}
	edit("name", was.Name, m.Name)
	edit("contact", was.Contact, m.Contact)
	edit("bindings_max", fmt.Sprint(was.BindingsMax), fmt.Sprint(m.BindingsMax))
	return ops
}

func place(m Member) string {
	return strings.TrimSpace(m.DIDHead + " key " + m.Key.Pub.Multikey())
}

func votes(m Member) string {
	if m.Votes {
		return "votes"
	}
	return "does not vote"
}

func diffSet(p, c Body) []Op {
	var ops []Op
	set := func(name string, from, to any, fromWords, toWords []string) {
		a, b := text(from), text(to)
		if a == b {
			return
		}
		if was, is := without(fromWords, toWords), without(toWords, fromWords); was != "" && is != "" {
			a, b = was, is
		}
		ops = append(ops, Op{Kind: OpSet, Name: name, From: a, To: b})
	}
	set("governance", p.Governance, c.Governance, nil, nil)
	set("recovery", p.Recovery, c.Recovery, recoveryWords(p.Recovery), recoveryWords(c.Recovery))
	set("mediation", p.Mediation, c.Mediation, mediationWords(p), mediationWords(c))
	set("policy", p.Policy, c.Policy, policyWords(p.Policy), policyWords(c.Policy))
	set("spec", p.Spec, c.Spec, nil, nil)
	set("ext", p.Ext, c.Ext, nil, nil)
	return ops
}

// without joins the lines of list that are not in other.
func without(list, other []string) string {
	var left []string
	for _, l := range list {
		if !slices.Contains(other, l) {
			left = append(left, l)
		}
	}
	return strings.Join(left, "; ")
}

// text is the canonical form of a part of a body that passed its decoder.
func text(v any) string {
	b, err := envelope.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v) // a part of a body that no decoder made
	}
	return string(b)
}
