package member

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/node/fault"
	"trustnode/node/recorder"
)

// RotateInput asks for an entry that changes keys.
type RotateInput struct {
	Authority
	Role   Role   // which key is replaced; "" is RoleIssuer
	Reason string // scheduled, compromise or lost
	// TaintFrom is the last log index that is surely the organization's; with compromise of a key that signs events only,
	// which are the assertion keys: RoleIssuer and RoleGovernance.
	TaintFrom *uint64
	// Governance makes the new governance key, for that role alone, once nothing else is
	// wrong; Ungovern deletes it where the entry is not made.
	Governance func(ctx context.Context) (did.PublicKey, error)
	Ungovern   func(ctx context.Context, k did.PublicKey) error
}

// Role names the key that a rotation replaces.
type Role string

// The roles. The update key is replaced by every entry.
const (
	RoleIssuer     Role = "issuer"     // signs the organization's objects
	RoleGovernance Role = "governance" // signs charters
	RoleWitness    Role = "witness"    // cosigns other members' logs
	RoleUpdate     Role = "update"     // nothing else changes
)

// check refuses what no entry is to say. size is that of the own log.
func (in RotateInput) check(size uint64) error {
	switch in.Role {
	case RoleIssuer, RoleGovernance, RoleWitness, RoleUpdate:
	default:
		return fault.New(fault.Invalid, "role", "role %.40q is none of issuer, governance, witness, update", in.Role).WithHint("trustnode did rotate --role ROLE; without it the issuer key is replaced")
	}
	if (in.Role == RoleGovernance) != (in.Governance != nil) {
		return fault.New(fault.Invalid, "role", "a new governance key goes with that role, and only with it").
			WithHint("trustnode did rotate --role governance --governance-keys DIR")
	}
	switch in.Reason {
	case "scheduled", "lost":
		if in.TaintFrom != nil {
			return fault.New(fault.Invalid, "taint", "a taint goes with a compromise alone").WithHint("trustnode did rotate --reason compromise --taint-from INDEX")
		}
	case "compromise":
	default:
		return fault.New(fault.Invalid, "reason", "reason %.40q is none of scheduled, compromise, lost", in.Reason).WithHint("scheduled, if nothing has happened")
	}
	if in.TaintFrom != nil && in.Role != RoleIssuer && in.Role != RoleGovernance {
		return fault.New(fault.Invalid, "taint", "the %s key signs no events, so none is in doubt with it", in.Role).
			WithHint("--taint-from goes with the key whose copy may have signed some: --role issuer, or governance")
	}
	if in.TaintFrom != nil && *in.TaintFrom >= size {
		return fault.New(fault.Invalid, "taint", "the own log has %d entries, index %d is none of them", size, *in.TaintFrom).
			WithHint("the index is that of the last event that is surely yours: trustnode event list --org self --any")
	}
	return nil
}

// Rotate replaces a key of the organization by one entry of its DID log. Errors: invalid
// role, reason, taint, recovery or key_reused; refused update_key or recovery_key, and by
// the node's state; conflict under_way while another entry is; needs_approval witnesses
// while it waits for them, when the entry goes on by itself.
func (m *Member) Rotate(ctx context.Context, in RotateInput) (Entry, error) {
	if in.Role == "" {
		in.Role = RoleIssuer
	}
	if err := in.check(m.cfg.Size(m.n.Org)); err != nil {
		return Entry{}, err
	}
	if err := m.taintable(ctx, in); err != nil {
		return Entry{}, err
	}
	return m.nextEntry(ctx, in.Authority, in.Reason, in.TaintFrom, in.compose)
}

// taintable refuses to put events in doubt with a governance key where there was none: only a key that the document has listed
// for assertions could have signed them.
func (m *Member) taintable(ctx context.Context, in RotateInput) error {
	if in.TaintFrom == nil || in.Role != RoleGovernance {
		return nil
	}
	doc, err := m.n.Ring.Document(ctx, m.n.Org)
	if err == nil && didwebvh.RolesOf(doc).Governance.IsZero() {
		return fault.New(fault.Invalid, "taint", "this organization has no governance key yet, so no event can be in doubt with it").
			WithHint("leave --taint-from out; where the issuer key may have been copied, replace that: --role issuer")
	}
	return nil // what else is wrong with the document is said where the entry is built
}

// compose is the draft of a rotation.
func (in RotateInput) compose(ctx context.Context, h didwebvh.History, s signing) (line []byte, err error) {
	r, err := s.request()
	if err != nil {
		return nil, err
	}
	switch in.Role {
	case RoleIssuer:
		r.Issuer, err = s.newKey()
	case RoleWitness:
		r.WitnessKey, err = s.newKey()
	case RoleGovernance:
		r.Governance, err = in.Governance(ctx)
	}
	if err != nil {
		return nil, err
	}
	line, err = didwebvh.Rotate(ctx, h, r)
	if err != nil && in.Role == RoleGovernance {
		err = errors.Join(err, in.Ungovern(ctx, r.Governance))
	}
	return line, err
}

func (s signing) request() (didwebvh.RotateRequest, error) {
	next, err := s.nextKey()
	return didwebvh.RotateRequest{Update: s.update, Next: next, Recovery: s.recovery, At: s.at}, err
}

// WitnessInput asks for an entry that names witnesses.
type WitnessInput struct {
	Authority
	// Members to be witnesses; none means the default: up to five active members.
	Members []did.DID
	// None ends witnessing, if the witnesses of now agree.
	None      bool
	Threshold int // 0: half of them, rounded up
}

// SetWitnesses names the members that witness the own DID log from the next entry on; the
// first list must sign the entry that names it, later the old list signs the new one.
func (m *Member) SetWitnesses(ctx context.Context, in WitnessInput) (Entry, error) {
	h, err := m.changeable(ctx)
	if err != nil {
		return Entry{}, err
	}
	list, err := m.witnessList(ctx, h, in)
	if err != nil {
		return Entry{}, err
	}
	if was := h.Head().Parameters.Witness; sameWitnesses(was, list) {
		what := "no witness is named already"
		if !was.None() {
			what = fmt.Sprintf("%d of these %d witnesses sign each entry already", was.Threshold, len(was.Keys))
		}
		return Entry{}, fault.New(fault.Conflict, "unchanged", "nothing to change: %s", what).
			WithHint("trustnode did show lists them; --threshold N, other DIDs or --none make a change")
	}
	return m.nextEntry(ctx, in.Authority, "scheduled", nil, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r, err := s.request()
		if err != nil {
			return nil, err
		}
		r.Witness = &list
		return didwebvh.Rotate(ctx, h, r)
	})
}

// sameWitnesses tells whether two lists ask the same of an entry.
func sameWitnesses(a, b didwebvh.WitnessList) bool {
	if a.Threshold != b.Threshold || len(a.Keys) != len(b.Keys) {
		return false
	}
	return !slices.ContainsFunc(b.Keys, func(k did.PublicKey) bool { return !slices.Contains(a.Keys, k) })
}

func (m *Member) witnessList(ctx context.Context, h didwebvh.History, in WitnessInput) (didwebvh.WitnessList, error) {
	if in.None {
		if in.Threshold != 0 || len(in.Members) > 0 {
			return didwebvh.WitnessList{}, fault.New(fault.Invalid, "witnesses", "no witnesses, and some, cannot both be set").WithHint("--none stands alone")
		}
		return didwebvh.WitnessList{}, nil
	}
	can := m.canWitness(ctx)
	if len(in.Members) == 0 {
		if len(can) == 0 {
			return didwebvh.WitnessList{}, fault.New(fault.Invalid, "witnesses", "no other active member can witness").
				WithHint("a witness is a partner whose DID document names a witness key; trustnode fed status lists the members")
		}
		return in.threshold(didwebvh.DefaultWitnesses(h.SCID(), can))
	}
	var list didwebvh.WitnessList
	for _, d := range in.Members {
		i := slices.IndexFunc(can, func(c didwebvh.Candidate) bool { return c.DID == d })
		if i < 0 {
			return list, fault.New(fault.Invalid, "witnesses", "%s cannot witness: it is no other active member with a witness key", place(d)).
				WithHint("trustnode fed status lists the members")
		}
		if !slices.Contains(list.Keys, can[i].Key) {
			list.Keys = append(list.Keys, can[i].Key)
		}
	}
	list.Threshold = (len(list.Keys) + 1) / 2
	return in.threshold(list)
}

// canWitness are the other active members with a witness key.
func (m *Member) canWitness(ctx context.Context) (out []didwebvh.Candidate) {
	for _, r := range m.others() {
		if keys := recorder.RingOf(m.n.Ring).Witness(ctx, r.DID); len(keys) > 0 {
			out = append(out, didwebvh.Candidate{DID: r.DID, Key: keys[0]})
		}
	}
	return out
}

func (in WitnessInput) threshold(list didwebvh.WitnessList) (didwebvh.WitnessList, error) {
	if in.Threshold == 0 {
		return list, nil
	}
	if in.Threshold < 1 || in.Threshold > len(list.Keys) {
		return list, fault.New(fault.Invalid, "threshold", "threshold %d of %d witnesses", in.Threshold, len(list.Keys)).
			WithHint("--threshold N is between 1 and the number of witnesses")
	}
	list.Threshold = in.Threshold
	return list, nil
}

// MoveInput asks for an entry that moves the DID to another host.
type MoveInput struct {
	Authority
	Domain   string
	Services []didwebvh.Service // those whose endpoints move along
}

// Move moves the own DID to another host under the same SCID; peers follow by that, and
// go on to name the organization by the DID in the charter.
func (m *Member) Move(ctx context.Context, in MoveInput) (Entry, error) {
	return m.nextEntry(ctx, in.Authority, "scheduled", nil, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		next, err := s.nextKey()
		if err != nil {
			return nil, err
		}
		return didwebvh.Move(ctx, h, didwebvh.MoveRequest{Update: s.update, Next: next, Recovery: s.recovery, Domain: in.Domain, Services: in.Services, At: s.at})
	})
}

// Deactivate ends the own DID for good: its key.rotated is the last event of the own log.
// The recovery key signs it as well, and needs none in its place. Errors as for Rotate.
func (m *Member) Deactivate(ctx context.Context, a Authority) (Entry, error) {
	a.last = true
	return m.nextEntry(ctx, a, "scheduled", nil, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		return didwebvh.Deactivate(ctx, h, didwebvh.DeactivateRequest{Update: s.update, At: s.at})
	})
}
