package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/self"
)

// identity says where an organization's DID stands here.
func (s *server) identity(ctx context.Context, who string) (Identity, error) {
	d := s.Node.Org
	if who != selfWord {
		var err error
		if d, err = s.called(ctx, who); err != nil {
			return Identity{}, err
		}
	}
	v, err := s.Node.Ring.Head(ctx, d)
	if err != nil {
		return Identity{}, s.notHeld(ctx, d, err)
	}
	d = v.DID // after a move it goes by two names, and is held, named in the charter and in its log by the first
	fingerprint, err := s.Node.Ring.Fingerprint(ctx, d)
	if err != nil {
		return Identity{}, err
	}
	out := Identity{ID: v.ID, DID: d.String(), Own: d == s.Node.Org, Name: s.nameOf(d), State: v.State.String(), Version: v.ID, Versions: 1,
		Fingerprint: fingerprint, Keys: []string{}, History: []IdentityKey{}}
	if !v.VerifiedAt.IsZero() {
		out.VerifiedAt = stamp(v.VerifiedAt)
	}
	if by, at := s.Node.Ring.Confirmed(d); by != "" {
		out.ConfirmedBy, out.ConfirmedAt = string(by), stamp(at)
	}
	if keys, err := s.Node.Ring.At(d, v.ID); err == nil { // a frozen DID has a head and no keys that count
		for _, k := range keys {
			out.Keys = append(out.Keys, k.Multikey())
		}
	}
	if d.Method() == didkey.Method {
		return out, nil
	}
	return out, errors.Join(s.showHistory(ctx, v, &out), s.showDoubt(ctx, d, &out), s.showEntry(ctx, &out))
}

// called is the organization with that DID, or else the only one held here that goes by that name or that domain.
func (s *server) called(ctx context.Context, who string) (did.DID, error) {
	d, err := did.Parse(who)
	switch {
	case err == nil:
		return d, nil
	case strings.HasPrefix(who, "did:"):
		return did.DID{}, fault.Wrap(fault.Invalid, "did", err)
	}
	list, err := s.Node.Ring.List(ctx)
	if err != nil {
		return did.DID{}, err
	}
	place, begin, _ := strings.Cut(strings.TrimSuffix(who, "]"), "[") // as lists tell two of one domain apart
	var all []did.DID
	for _, v := range list {
		if s.nameOf(v.DID) == who || s.isAt(ctx, v.DID, place) && strings.HasPrefix(v.DID.ID(), begin) {
			all = append(all, v.DID)
		}
	}
	switch len(all) {
	case 1:
		return all[0], nil
	case 0:
		return did.DID{}, fault.New(fault.NotFound, "", "%.200q is no DID, and no organization held here has that name or domain", who).
			WithHint("trustnode fed status names the members")
	}
	return did.DID{}, fault.New(fault.Invalid, "did", "%.200q is what %d organizations go by", who, len(all)).WithHint("name one by its DID: %s or %s", all[0], all[1])
}

// isAt reports whether a log that is held has or had its place at a domain.
func (s *server) isAt(ctx context.Context, d did.DID, domain string) bool {
	h, err := s.Node.Ring.History(ctx, d)
	return err == nil && slices.ContainsFunc(h.DIDs(), func(name did.DID) bool {
		_, place, _ := strings.Cut(name.ID(), ":")
		return place == domain
	})
}

// notHeld says why nothing is known of a DID.
func (s *server) notHeld(ctx context.Context, d did.DID, err error) error {
	var below *keyring.Below
	switch {
	case errors.As(err, &below) && d == s.Node.Org:
		return self.Behind(ctx, s.Node.Ring, d)
	case errors.As(err, &below):
		return err
	}
	return fault.New(fault.NotFound, "", "%s is not held here", d).
		WithHint("a member's identity comes with the charter, or by sync; trustnode did resolve looks further")
}

// nameOf is how the charter names a member.
func (s *server) nameOf(d did.DID) string {
	if d == s.Node.Org {
		return s.Node.Name
	}
	c, ok := s.Member.Charter()
	if !ok {
		return ""
	}
	r, _ := c.Head().Member(d)
	return r.Name
}

// showHistory lists every key with its time, the witnesses and the other names.
func (s *server) showHistory(ctx context.Context, v keyring.Version, out *Identity) error {
	d := v.DID
	list, err := s.Node.Ring.Versions(ctx, d)
	if err != nil {
		return err
	}
	k, err := s.Node.Rec.Keys(ctx, d)
	if err != nil {
		return err
	}
	indexes := map[string]uint64{}
	for _, span := range k.Spans() {
		indexes[span.Version] = span.From
	}
	out.Versions = len(list)
	if n := len(list); n > 0 {
		out.ClaimedAt = stamp(list[n-1].Time)
	}
	out.History = keyTimes(list, indexes)
	h, err := s.Node.Ring.History(ctx, d)
	if errors.Is(err, keyring.ErrMethod) {
		return nil
	}
	if err != nil {
		return err
	}
	if h.Deactivated() && v.State == did.Deactivated {
		ended(out, h.Head().ID, indexes)
	} else {
		s.showWitnesses(ctx, h, out)
	}
	for _, name := range h.DIDs() {
		if name != d {
			out.Names = append(out.Names, name.String())
		}
	}
	return nil
}

// ended has the last version retire what it still lists: a document stays as it was when its DID ends.
func ended(out *Identity, last string, indexes map[string]uint64) {
	out.Keys = []string{}
	for i := range out.History {
		if k := &out.History[i]; k.Until == "" {
			k.Until = last
			if index, ok := indexes[last]; ok {
				k.UntilIdx = &index
			}
		}
	}
}

// keyTimes follows each assertion key and each witness key through the versions that count.
func keyTimes(list []keyring.Listing, indexes map[string]uint64) []IdentityKey {
	out := []IdentityKey{}
	open := map[did.PublicKey]int{} // place in out
	index := func(version string) *uint64 {
		if i, ok := indexes[version]; ok {
			return &i
		}
		return nil
	}
	for _, v := range list {
		if !v.Counts {
			break
		}
		roles := didwebvh.RolesOf(v.Document)
		keys := v.Keys
		if !roles.Witness.IsZero() && !slices.Contains(keys, roles.Witness) {
			keys = append(slices.Clip(keys), roles.Witness)
		}
		for k, i := range open {
			if !slices.Contains(keys, k) {
				out[i].Until, out[i].UntilIdx = v.ID, index(v.ID)
				delete(open, k)
			}
		}
		for _, k := range keys {
			if _, on := open[k]; on {
				continue
			}
			open[k] = len(out)
			out = append(out, IdentityKey{Key: k.Multikey(), Role: roleOf(v.Document, k, roles), From: v.ID, FromIndex: index(v.ID)})
		}
	}
	return out
}

// roleOf names what a key is for. A did:web has one role of assertion keys, whatever else its document lists them for.
func roleOf(doc did.Document, k did.PublicKey, r didwebvh.Roles) string {
	if doc.ID().Method() != didwebvh.Method {
		return "issuer"
	}
	switch k {
	case r.Issuer:
		return "issuer"
	case r.Governance:
		return "governance"
	case r.Witness:
		return "witness"
	}
	return "other"
}

// showWitnesses names who witnesses the next entry.
func (s *server) showWitnesses(ctx context.Context, h didwebvh.History, out *Identity) {
	list := h.Head().Parameters.Witness
	if list.None() {
		return
	}
	out.Threshold = list.Threshold
	c, _ := s.Member.Charter()
	ring := recorder.RingOf(s.Node.Ring)
	for _, k := range list.Keys {
		name := k.Multikey()
		for _, r := range c.Head().ActiveMembers() {
			if slices.Contains(ring.Witness(ctx, r.DID), k) {
				name = r.DID.String()
			}
		}
		out.Witnesses = append(out.Witnesses, name)
	}
}

// showDoubt shows the branches of a fork, and did:web documents that are not trusted.
func (s *server) showDoubt(ctx context.Context, d did.DID, out *Identity) error {
	f, err := s.Node.Ring.Forked(ctx, d)
	if err != nil {
		return err
	}
	if f != nil {
		out.Fork = &IdentityFork{Number: f.Number, Held: f.Held, Offered: f.Offered, Decided: f.Decided}
		if f.Decided == "" {
			s.showBranches(ctx, d, f, out.Fork)
		}
	}
	changes, err := s.Node.Ring.Changes(ctx, d)
	for _, c := range changes {
		out.Changed = append(out.Changed, fmt.Sprintf("%s: %v", c.Offered, c.OfferedKeys))
	}
	return err
}

// showBranches lists what either branch of an open fork adds to the keys of the last common entry.
func (s *server) showBranches(ctx context.Context, d did.DID, f *keyring.Fork, out *IdentityFork) {
	h, err := s.Node.Ring.History(ctx, d)
	if err != nil {
		return // behind the pins: the lines are kept, and nothing of them verifies from here
	}
	out.HeldKeys = added(h, f.Number)
	branches, _ := s.Node.Ring.Branches(ctx, d)
	for _, b := range branches {
		first, _, _ := bytes.Cut(b.Lines, []byte("\n"))
		if didwebvh.VersionID(first) != f.Offered {
			continue
		}
		at, err := s.Node.Clock.Now()
		if err != nil {
			at = s.Node.Clock.Last()
		}
		if other, err := h.Prefix(b.Parent).Extend(b.Lines, b.Witness, at); err == nil {
			out.OfferedKeys = added(other, f.Number)
		}
	}
}

// added lists the assertion and witness keys that the versions of h from number n on have and the one before has not.
func added(h didwebvh.History, n int) []IdentityKey {
	var out []IdentityKey
	seen := map[did.PublicKey]bool{}
	for i := max(n-1, 1); i <= h.Len(); i++ {
		v, _ := h.At(i)
		roles := didwebvh.RolesOf(v.Document)
		for _, k := range []did.PublicKey{roles.Issuer, roles.Governance, roles.Witness} {
			if !k.IsZero() && !seen[k] && i >= n {
				out = append(out, IdentityKey{Key: k.Multikey(), Role: roleOf(v.Document, k, roles), From: v.ID})
			}
			seen[k] = true
		}
	}
	return out
}

// showEntry adds the entry under way to the own identity.
func (s *server) showEntry(ctx context.Context, out *Identity) error {
	if !out.Own {
		return nil
	}
	e, err := s.pendingEntry(ctx)
	if err == nil && !e.Active {
		out.Entry = &e
	}
	return err
}
