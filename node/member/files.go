package member

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/fault"
)

// JoinRequest makes this organization's join file: the signed join, its DID log beside it.
// The fingerprint org1-… is for comparing aloud. governance is as for Sign.
func (m *Member) JoinRequest(ctx context.Context, votes bool, governance envelope.Signer) (Draft, error) {
	if m.IsMember(m.n.Org) {
		return Draft{}, fault.New(fault.Conflict, "one_federation", "this node is a member of a federation already").
			WithHint("a second federation needs a data directory of its own")
	}
	m.own.Lock()
	defer m.own.Unlock()
	f, err := m.joinFile(ctx, votes, governance)
	if err != nil {
		return Draft{}, err
	}
	data, err := f.Encode()
	if err != nil {
		return Draft{}, err
	}
	fingerprint, err := m.n.Ring.Fingerprint(ctx, m.n.Org)
	if err != nil {
		return Draft{}, err
	}
	return Draft{ID: f.Joins[0].ID(), Fingerprint: fingerprint, Data: data, Signed: []did.DID{m.n.Org}, Missing: []did.DID{}}, nil
}

func (m *Member) joinFile(ctx context.Context, votes bool, governance envelope.Signer) (charter.File, error) {
	at, err := m.now()
	if err != nil {
		return charter.File{}, err
	}
	signer, err := m.joinKey(ctx, governance)
	if err != nil {
		return charter.File{}, err
	}
	kid := signer.Public().Multikey()
	version, err := m.version(ctx)
	if err != nil {
		return charter.File{}, err
	}
	j := charter.Join{At: envelope.TimeOf(at), BindingsMax: 2, Contact: m.cfg.Contact, DIDVersion: version, Key: charter.Key{Kid: kid, Pub: signer.Public()},
		Kid: kid, Name: m.n.Name, Nonce: salt(), Org: m.n.Org, Spec: charter.JoinSpec{Max: charter.SpecVersion, Min: 1}, Votes: votes}
	if version == "" {
		return charter.NewJoinFile(ctx, j, signer)
	}
	h, err := m.n.Ring.History(ctx, m.n.Org)
	if err != nil {
		return charter.File{}, err
	}
	j.SCID = h.SCID()
	return charter.NewJoinFile(ctx, j, signer, bundle.DIDLog{DID: m.n.Org, From: 1, Log: h.Log(), Witness: h.Witness()})
}

// readFile reads what a person handed in.
func readFile(b []byte) (charter.File, error) {
	f, err := charter.ReadFile(bytes.NewReader(b))
	if err != nil {
		return charter.File{}, inFile("file", err)
	}
	return f, nil
}

// inFile gives a refusal to what is wrong with a file, where nothing says it better.
func inFile(reason string, err error) error {
	if err = refusal(err); fault.Of(err) != fault.Internal {
		return err
	}
	return fault.Wrap(fault.Invalid, reason, err)
}

// Create drafts the genesis of a federation of this organization and the senders of join
// files, which are all verified. Nobody has signed it, and nothing is kept here.
func (m *Member) Create(ctx context.Context, in CreateInput) (Draft, error) {
	if _, ok := m.Charter(); ok {
		return Draft{}, oneFederation()
	}
	m.own.Lock()
	defer m.own.Unlock()
	at, err := m.now()
	if err != nil {
		return Draft{}, err
	}
	own, err := m.joinFile(ctx, true, in.Governance)
	if err != nil {
		return Draft{}, err
	}
	g := gathering{files: []charter.File{own}, members: map[did.DID]charter.Join{}}
	for _, data := range in.With {
		if _, err := m.gather(ctx, &g, data); err != nil {
			return Draft{}, err
		}
	}
	o := charter.Options{Name: in.Name}
	for _, data := range in.Mediators {
		d, err := m.gather(ctx, &g, data)
		if err != nil {
			return Draft{}, err
		}
		if !slices.Contains(o.Mediators, d) {
			o.Mediators = append(o.Mediators, d)
		}
	}
	if o.Recovery, err = recoveryKeys(in.Recovery); err != nil {
		return Draft{}, err
	}
	return m.genesis(ctx, g, o, at)
}

func oneFederation() error {
	return fault.New(fault.Conflict, "one_federation", "this node is in a federation already").
		WithHint("a second federation needs a data directory of its own: trustnode init --data DIR")
}

// gathering is what a founder collects.
type gathering struct {
	files   []charter.File
	members map[did.DID]charter.Join
}

// gather verifies one join file and adds its sender.
func (m *Member) gather(ctx context.Context, g *gathering, data []byte) (did.DID, error) {
	f, err := readFile(data)
	if err != nil {
		return did.DID{}, err
	}
	if len(f.Joins) != 1 || len(f.Charters) > 0 {
		return did.DID{}, fault.New(fault.Invalid, "join", "a join file holds one join, this one %d joins and %d charters", len(f.Joins), len(f.Charters)).
			WithHint("the other organization makes one: trustnode fed join-request -o them.join")
	}
	r, err := m.scratch(ctx, f)
	if err != nil {
		return did.DID{}, err
	}
	cards, err := charter.Cards(ctx, f, r)
	if err != nil {
		return did.DID{}, inFile("join", err)
	}
	j := cards[0].Join.Body()
	if j.Org == m.n.Org {
		return j.Org, nil // the founder is in already
	}
	had, ok := g.members[j.Org]
	j.At, j.Nonce, j.Federation = envelope.Time{}, "", envelope.ID{} // what the record does not hold
	if ok && had != j {
		return j.Org, fault.New(fault.Conflict, "join", "two different joins of %s are given", j.Org).WithHint("use the newest one alone")
	}
	if !ok {
		g.files = append(g.files, f)
	}
	g.members[j.Org] = j
	return j.Org, nil
}

func recoveryKeys(texts []string) ([]charter.Key, error) {
	if len(texts) > maxRecoveryKeys {
		return nil, fault.New(fault.Invalid, "recovery", "%d recovery keys, at most %d", len(texts), maxRecoveryKeys)
	}
	var out []charter.Key
	for i, t := range texts {
		k, err := did.DecodeKey(t)
		if err != nil || k.Algorithm() != did.Ed25519 {
			return nil, fault.New(fault.Invalid, "recovery", "recovery key %d is no Ed25519 multikey", i+1).WithHint("it begins with z6Mk")
		}
		out = append(out, charter.Key{Kid: fmt.Sprintf("recovery-%d", i+1), Pub: k})
	}
	return out, nil
}

// genesis makes the draft out of what was gathered.
func (m *Member) genesis(ctx context.Context, g gathering, o charter.Options, at time.Time) (Draft, error) {
	file, err := charter.Merge(g.files...)
	if err != nil {
		return Draft{}, inFile("join", err)
	}
	for _, e := range file.Joins {
		j, err := envelope.Decode[charter.Join](e)
		if err != nil {
			return Draft{}, err
		}
		o.Members = append(o.Members, j.Member(0))
	}
	b, err := charter.New(o, at)
	if err != nil {
		return Draft{}, refusal(err)
	}
	e, err := envelope.Seal(ctx, b)
	if err != nil {
		return Draft{}, inFile("charter", err)
	}
	file.Charters = []envelope.Envelope{e}
	return m.draft(ctx, file, at)
}

// draft is a file with what a person should know of it, verified anew.
func (m *Member) draft(ctx context.Context, f charter.File, at time.Time) (Draft, error) {
	res, err := m.review(ctx, f, at)
	if err != nil {
		return Draft{}, err
	}
	data, err := f.Encode()
	if err != nil {
		return Draft{}, err
	}
	signed, missing, err := who(f, res)
	return Draft{ID: res.Draft.ID, Fingerprint: charter.Fingerprint(federationOf(res.Draft)), Data: data, Signed: signed, Missing: missing}, err
}

// federationOf is the federation a charter belongs to or founds.
func federationOf(h charter.Head) envelope.ID {
	if h.Seq == 0 {
		return h.ID
	}
	return h.Federation
}

// who says whose signatures are on a draft, and whose are needed or could help.
func who(f charter.File, res charter.Result) (signed, missing []did.DID, err error) {
	e, head, err := f.Draft()
	if err != nil {
		return nil, nil, err
	}
	var keys []did.PublicKey
	for _, r := range head.Members {
		keys = append(keys, r.Key.Pub)
	}
	_, report, err := envelope.OpenSet[charter.Body](e, keys, func([]did.PublicKey) error { return nil })
	if err != nil {
		return nil, nil, err
	}
	signed, missing = []did.DID{}, []did.DID{}
	if res.Outcome != nil {
		missing = append(missing, res.Tally.Missed()...)
	}
	for _, s := range report {
		r, ok := head.ByKey(s.Key)
		counted := ok && s.Verdict == envelope.Good && !slices.Contains(missing, r.DID) // a good one may be too late to count
		if counted && !slices.Contains(signed, r.DID) {
			signed = append(signed, r.DID)
		}
	}
	slices.SortFunc(signed, func(a, b did.DID) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) })
	return signed, missing, nil
}

// Diff says in words what a draft lays down or changes, and who has signed.
func (m *Member) Diff(ctx context.Context, file []byte) (Reviewed, error) {
	f, err := readFile(file)
	if err != nil {
		return Reviewed{}, err
	}
	at, err := m.now()
	if err != nil {
		return Reviewed{}, err
	}
	res, err := m.review(ctx, f, at)
	if err != nil {
		return Reviewed{}, err
	}
	signed, missing, err := who(f, res)
	return Reviewed{ID: res.Draft.ID, Fingerprint: charter.Fingerprint(federationOf(res.Draft)), Lines: res.Words(), Signed: signed, Missing: missing}, err
}

// Merge unites copies of one draft in any order.
func (m *Member) Merge(ctx context.Context, files ...[]byte) (Draft, error) {
	at, err := m.now()
	if err != nil {
		return Draft{}, err
	}
	var read []charter.File
	for _, b := range files {
		f, err := readFile(b)
		if err != nil {
			return Draft{}, err
		}
		read = append(read, f)
	}
	f, err := charter.Merge(read...)
	if err != nil {
		return Draft{}, inFile("file", err)
	}
	return m.draft(ctx, f, at)
}

// review verifies a whole file on top of the chain held, with what it carries and what
// is held here, and keeps nothing. anchors are charters that something else vouches for.
func (m *Member) review(ctx context.Context, f charter.File, at time.Time, anchors ...envelope.ID) (charter.Result, error) {
	_, head, err := f.Draft()
	if err != nil {
		return charter.Result{}, refusal(err)
	}
	chain, ok := m.Charter()
	if ok && federationOf(head) != chain.Federation() {
		return charter.Result{}, oneFederation()
	}
	r, err := m.scratch(ctx, f, anchors...)
	if err != nil {
		return charter.Result{}, err
	}
	res, err := charter.Review(ctx, chain, f, r, at)
	if err != nil {
		return charter.Result{}, inFile("file", err)
	}
	return res, nil
}

// scratch is a ring for one file: what is held here of the organizations it speaks of,
// and nothing that it brings outlives it. A stranger's file so fills no store.
func (m *Member) scratch(ctx context.Context, f charter.File, anchors ...envelope.ID) (charter.Ring, error) {
	now := func() time.Time { at, _ := m.n.Clock.Now(); return at }
	r := keyring.New(keyring.Memory(), pins.Memory(), now)
	var head charter.Head
	if len(f.Charters) > 0 {
		_, head, _ = f.Draft() // whoever needs it reports its error
	}
	of := map[did.DID]bool{}
	for _, l := range f.Logs {
		of[l.DID] = true
	}
	for _, rec := range head.Members {
		of[rec.DID] = true
	}
	for d := range of {
		log, witness, err := m.n.Ring.Files(ctx, d, 0)
		if err != nil || len(log) == 0 {
			continue // not held, or not to be relied on
		}
		if _, err := r.Offer(ctx, d, log, witness); err != nil {
			return nil, err
		}
	}
	return charter.NewRing(r, m.positions(federationOf(head), anchors...)), nil
}
