package member

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/store"
)

// forkRow lists the forks of one DID log that this organization has logged.
type forkRow struct {
	Proven []provenFork `json:"proven"`
}

// provenFork names the two lines or heads, and the fork.proven about them.
type provenFork struct {
	A     envelope.ID         `json:"a"`
	B     envelope.ID         `json:"b"`
	Event envelope.ID         `json:"event"`
	Kind  federation.ForkKind `json:"kind"`
}

// ProveForks logs fork.proven for each fork of a DID log or an attestation log that is held
// here and not logged yet: of an organization the charter knows, or the own one. Each is
// logged once, whoever found it and however often this runs; a crash after it was found is
// made up for by the next run. Whoever brings a log runs it when that finds a fork.
func (m *Member) ProveForks(ctx context.Context) error {
	list, err := m.n.Ring.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, v := range list {
		if v.DID == m.n.Org || m.StatusOf(v.DID) != "" {
			errs = append(errs, m.proveForks(ctx, v.DID), m.proveLogForks(ctx, v.DID))
		}
	}
	err = errors.Join(errs...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unproven = err != nil
	return err
}

func (m *Member) proveForks(ctx context.Context, d did.DID) error {
	list, err := m.n.Ring.Forks(ctx, d)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range list {
		errs = append(errs, m.proveFork(ctx, d, f))
	}
	return errors.Join(errs...)
}

func (m *Member) proveFork(ctx context.Context, d did.DID, f *keyring.Fork) error {
	proof, err := federation.ProveDIDLog(d, uint64(f.Number-1), f.Parent, f.HeldLine, f.OfferedLine)
	if err != nil {
		return err
	}
	fresh, err := m.logFork(ctx, d, proof)
	if fresh {
		m.n.Log.WarnContext(ctx, "two entries of one number are signed; the DID is frozen until somebody decides", "did", d.String(),
			"number", f.Number, "held", f.Held, "other", f.Offered)
	}
	return err
}

func (m *Member) proveLogForks(ctx context.Context, d did.DID) error {
	list, err := m.n.Rec.Forks(ctx, d)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range list {
		var e federation.ForkEvidence
		e.A, e.B, e.Left, e.Right = f.Texts()
		proof, err := federation.ProveLog(d, e)
		fresh := false
		if err == nil {
			fresh, err = m.logFork(ctx, d, proof)
		}
		if fresh {
			m.n.Log.WarnContext(ctx, "two heads of one log are signed that exclude each other; nothing new is lent with it", "org", d.String(),
				"size", f.A.Head.Size, "other", f.B.Head.Size)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// logFork drafts fork.proven and notes that in one transaction; fresh is false where it was.
func (m *Member) logFork(ctx context.Context, d did.DID, proof federation.ForkProof) (fresh bool, err error) {
	body, err := proof.Encode()
	if err != nil {
		return false, err
	}
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		fresh = false
		row, _, err := get[forkRow](tx, forkKey(d))
		if err != nil || row.names(proof) || len(row.Proven) >= maxForks {
			return err
		}
		event, err := m.n.Rec.Event(tx, attestation.Draft{Type: "fork.proven", Body: body,
			Data: attestation.ForkProven{A: proof.A.ID, B: proof.B.ID, Kind: string(proof.Kind)}})
		if err != nil {
			return err
		}
		fresh = true
		row.Proven = append(row.Proven, provenFork{proof.A.ID, proof.B.ID, event, proof.Kind})
		return put(tx, forkKey(d), row)
	})
	if err != nil || !fresh {
		return false, undrafted(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed()
	return true, nil
}

func (m *Member) isUnproven() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unproven
}

// names says whether a fork is logged: that of an attestation log once, whatever pairs of heads show it, for each head
// that its branches go on to sign would make another.
func (r forkRow) names(p federation.ForkProof) bool {
	return slices.ContainsFunc(r.Proven, func(x provenFork) bool {
		return x.Kind == p.Kind && (p.Kind == federation.ForkLog || x.A == p.A.ID && x.B == p.B.ID)
	})
}

// foundFork takes in what a file brought that contradicts a log held here: the file was
// judged apart, and the evidence must not be lost with it.
func (m *Member) foundFork(ctx context.Context, f charter.File, err error) {
	var fork *keyring.Fork
	if !errors.As(err, &fork) {
		return
	}
	for _, l := range f.Logs {
		if _, held := m.n.Ring.Head(ctx, l.DID); held != nil {
			continue // nothing is held that it could contradict
		}
		_, err := m.n.Ring.Offer(ctx, l.DID, l.Log, l.Witness)
		if errors.As(err, &fork) {
			m.proven(ctx)
		}
	}
}

// proven is ProveForks for whoever has another error to return.
func (m *Member) proven(ctx context.Context) {
	if err := m.ProveForks(ctx); err != nil {
		m.n.Log.ErrorContext(ctx, "a fork is held and not logged; it is tried again", "error", err)
	}
}

// claim is a fork of a DID log that a member has logged. It is believed once the lines it
// names are here; until then it says whom to ask for them.
type claim struct {
	of    did.DID
	a, b  envelope.ID
	entry int
}

// projectForks reads what another organization's log says of forks, and has its nodes
// synced with where it says something new that cannot be checked here.
func (m *Member) projectForks(ctx context.Context, org did.DID) error {
	if org == m.n.Org {
		return nil
	}
	var list []claim
	seen := 0
	for f, err := range m.n.Rec.Facts(ctx, attestation.Query{Org: org, Type: "fork.proven"}) {
		if err != nil {
			return err
		}
		if seen++; seen > maxClaims {
			break
		}
		if c, ok := claimOf(f); ok {
			list = append(list, c)
		}
		if err := m.believeFork(ctx, f); err != nil {
			return err
		}
	}
	m.mu.Lock()
	had := m.claims[org]
	m.claims[org] = list
	m.mu.Unlock()
	if slices.ContainsFunc(list, func(c claim) bool { return !slices.Contains(had, c) && m.doubts(c) }) {
		m.cfg.Doubted(org)
	}
	return nil
}

// believeFork takes what a member's fork.proven proves of an attestation log: the evidence in
// its body convinces whoever knows the keys, and is passed on by an event of the own log.
func (m *Member) believeFork(ctx context.Context, f attestation.Fact) error {
	p, err := federation.ParseForkProof(f.Body)
	if err != nil || p.Kind != federation.ForkLog {
		return nil // another kind, a body that is not here yet, or none
	}
	fork, err := attlog.ParseFork(p.Evidence.A, p.Evidence.B, p.Evidence.Left, p.Evidence.Right)
	if err != nil || fork.A.Org != p.Equivocators[0] || m.StatusOf(fork.A.Org) == "" {
		return nil // it proves nothing of a member's log
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	if state, _, _ := m.State(at); state != federation.Fresh && fork.A.Org != m.n.Org {
		return nil // a rotation that is not known here may have retired the key; it is looked at again
	}
	fresh, err := m.n.Rec.TakeFork(ctx, fork)
	if err != nil || !fresh {
		return err
	}
	m.cfg.Doubted(f.Event.Body().Org) // who may hold the other branch, and so says where they part
	return m.proveLogForks(ctx, fork.A.Org)
}

// claimOf reads a fork.proven of kind did_log whose body is here and says the same.
func claimOf(f attestation.Fact) (claim, bool) {
	var d attestation.ForkProven
	if f.Event.Body().Decode(&d) != nil || d.Kind != string(federation.ForkDIDLog) || f.Body == nil {
		return claim{}, false
	}
	p, err := federation.ParseForkProof(f.Body)
	if err != nil || p.Kind != federation.ForkDIDLog || p.A.ID != d.A || p.B.ID != d.B || p.Entry() > maxEntry {
		return claim{}, false
	}
	return claim{p.Equivocators[0], p.A.ID, p.B.ID, int(p.Entry())}, true
}

// doubts reports whether a claim is about an organization of the charter and names a line
// that is not here.
func (m *Member) doubts(c claim) bool {
	if m.StatusOf(c.of) == "" {
		return false
	}
	ids := map[envelope.ID]bool{}
	for _, line := range m.n.Ring.Lines(c.of, c.entry) {
		ids[envelope.IDOf(line)] = true
	}
	return !ids[c.a] || !ids[c.b]
}

// Doubted lists the DIDs of whose logs a member has logged a fork that is not known here.
func (m *Member) Doubted(by did.DID) []did.DID {
	m.mu.Lock()
	list := m.claims[by]
	m.mu.Unlock()
	var out []did.DID
	for _, c := range list {
		if !slices.Contains(out, c.of) && m.doubts(c) {
			out = append(out, c.of)
		}
	}
	return out
}
