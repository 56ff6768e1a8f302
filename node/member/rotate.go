package member

import (
	"context"
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
	// TaintFrom is the last log index that is surely the organization's; compromise only.
	TaintFrom *uint64
	// Governance is the new governance key; for that role alone.
	Governance did.PublicKey
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

func (in RotateInput) check() error {
	switch in.Role {
	case RoleIssuer, RoleGovernance, RoleWitness, RoleUpdate:
	default:
		return fault.New(fault.Invalid, "role", "role %.40q is none of issuer, governance, witness, update", in.Role)
	}
	if (in.Role == RoleGovernance) == in.Governance.IsZero() {
		return fault.New(fault.Invalid, "role", "a new governance key goes with that role, and only with it").
			WithHint("did rotate --role governance --governance-keys DIR")
	}
	switch in.Reason {
	case "scheduled", "lost":
		if in.TaintFrom != nil {
			return fault.New(fault.Invalid, "taint", "a taint goes with a compromise alone")
		}
	case "compromise":
	default:
		return fault.New(fault.Invalid, "reason", "reason %.40q is none of scheduled, compromise, lost", in.Reason)
	}
	return nil
}

// Rotate replaces a key of the organization by one entry of its DID log.
func (m *Member) Rotate(ctx context.Context, in RotateInput) (Entry, error) {
	if in.Role == "" {
		in.Role = RoleIssuer
	}
	if err := in.check(); err != nil {
		return Entry{}, err
	}
	return m.nextEntry(ctx, in.Authority, in.Reason, in.TaintFrom, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r := s.request()
		var err error
		switch in.Role {
		case RoleIssuer:
			r.Issuer, err = s.newKey()
		case RoleWitness:
			r.WitnessKey, err = s.newKey()
		case RoleGovernance:
			r.Governance = in.Governance
		}
		if err != nil {
			return nil, err
		}
		return didwebvh.Rotate(ctx, h, r)
	})
}

func (s signing) request() didwebvh.RotateRequest {
	return didwebvh.RotateRequest{Update: s.update, Next: s.next, Recovery: s.recovery, At: s.at}
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
	list, err := m.witnessList(ctx, in)
	if err != nil {
		return Entry{}, err
	}
	return m.nextEntry(ctx, in.Authority, "scheduled", nil, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r := s.request()
		r.Witness = &list
		return didwebvh.Rotate(ctx, h, r)
	})
}

func (m *Member) witnessList(ctx context.Context, in WitnessInput) (didwebvh.WitnessList, error) {
	if in.None {
		return didwebvh.WitnessList{}, nil
	}
	h, err := m.changeable(ctx)
	if err != nil {
		return didwebvh.WitnessList{}, err
	}
	var all []didwebvh.Candidate
	for _, r := range m.others() {
		if len(in.Members) > 0 && !slices.Contains(in.Members, r.DID) {
			continue
		}
		if keys := recorder.RingOf(m.n.Ring).Witness(ctx, r.DID); len(keys) > 0 {
			all = append(all, didwebvh.Candidate{DID: r.DID, Key: keys[0]})
		}
	}
	if len(all) == 0 || len(all) < len(in.Members) {
		return didwebvh.WitnessList{}, fault.New(fault.Invalid, "witnesses", "%d of the members named can witness", len(all)).
			WithHint("a witness is another active member whose DID document names a witness key; trustnode fed status lists the members")
	}
	if len(in.Members) == 0 {
		return in.threshold(didwebvh.DefaultWitnesses(h.SCID(), all))
	}
	list := didwebvh.WitnessList{Threshold: (len(all) + 1) / 2}
	for _, c := range all {
		list.Keys = append(list.Keys, c.Key)
	}
	return in.threshold(list)
}

func (in WitnessInput) threshold(list didwebvh.WitnessList) (didwebvh.WitnessList, error) {
	if in.Threshold == 0 {
		return list, nil
	}
	if in.Threshold < 1 || in.Threshold > len(list.Keys) {
		return list, fault.New(fault.Invalid, "threshold", "threshold %d of %d witnesses", in.Threshold, len(list.Keys))
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
		return didwebvh.Move(ctx, h, didwebvh.MoveRequest{Update: s.update, Next: s.next, Recovery: s.recovery, Domain: in.Domain, Services: in.Services, At: s.at})
	})
}

// Deactivate ends the own DID for good: its key.rotated is the last event of the own log.
func (m *Member) Deactivate(ctx context.Context, a Authority) (Entry, error) {
	return m.nextEntry(ctx, a, "scheduled", nil, func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		return didwebvh.Deactivate(ctx, h, didwebvh.DeactivateRequest{Update: s.update, At: s.at})
	})
}
