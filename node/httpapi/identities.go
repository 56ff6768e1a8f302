package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/member"
	"trustnode/node/self"
	"trustnode/node/verifier"
)

// Custody opens the keys that the node does not hold while it runs, each for one command.
type Custody interface {
	// Authority opens what signs the next entry of the own DID log. The caller closes it.
	Authority(ctx context.Context, a Authority) (Opened, error)
	// Governance makes a new key in a store of governance keys.
	Governance(ctx context.Context, dir, passphrase string) (did.PublicKey, error)
	// DropGovernance deletes one that was made for nothing.
	DropGovernance(ctx context.Context, dir, passphrase string, k did.PublicKey) error
	// GovernanceSigner opens the governance key that the own document names. The caller
	// calls done.
	GovernanceSigner(ctx context.Context, dir, passphrase string) (s envelope.Signer, done func(), err error)
	// Services are the services of the own document that name a domain.
	Services(domain string) []didwebvh.Service
	// UpdatePlace says where the store of update keys is looked for, and whether that is
	// outside of the data directory.
	UpdatePlace() (place string, apart bool, err error)
}

// Opened is an authority with what belongs to it.
type Opened struct {
	Authority member.Authority
	Close     func()
}

// Authority is what an operator gives for one entry of the own DID log.
type Authority struct {
	UpdateKeys string `json:"update_keys,omitempty" doc:"directory of the update keys; default where the last entry had them"`
	Passphrase string `json:"passphrase,omitempty" doc:"of that directory"`
	Recovery   string `json:"recovery,omitempty" doc:"the recovery key, where the next update key is lost"`
	// NextRecovery is made by who asks, and written down before.
	NextRecovery string `json:"next_recovery,omitempty" doc:"multikey of the recovery key that takes its place"`
	WaitS        uint64 `json:"wait_s,omitempty" maximum:"600" doc:"how long witnesses are waited for"`
}

// Rotation asks for another key.
type Rotation struct {
	Authority
	Role       string  `json:"role,omitempty" doc:"issuer (default), governance, witness or update"`
	Reason     string  `json:"reason,omitempty" doc:"scheduled (default), compromise or lost"`
	TaintFrom  *uint64 `json:"taint_from,omitempty" doc:"last index of the own log that is surely ours; with compromise of the issuer or the governance key"`
	Governance string  `json:"governance_keys,omitempty" doc:"directory of the governance keys; for that role"`
	GovPass    string  `json:"governance_passphrase,omitempty"`
}

// Move asks for another host.
type Move struct {
	Authority
	Domain string `json:"domain"`
}

// Deactivation asks for the end of the own DID.
type Deactivation struct {
	Authority
	DID string `json:"did" doc:"the own DID, typed as a confirmation"`
}

// Witnesses asks for another list of witnesses.
type Witnesses struct {
	Authority
	Members   []string `json:"members,omitempty" doc:"DIDs; default: up to five active members"`
	None      bool     `json:"none,omitempty" doc:"end witnessing"`
	Threshold int      `json:"threshold,omitempty" minimum:"0" maximum:"16"`
}

// Resumption goes on with the entry under way.
type Resumption struct {
	Authority
	Proofs []string `json:"proofs,omitempty" doc:"witness proofs that were carried here, as JSON texts"`
}

// EntryState says where an entry of the own DID log stands.
type EntryState struct {
	ID        string   `json:"id" doc:"versionId"`
	Active    bool     `json:"active" doc:"false: it waits"`
	Event     string   `json:"event,omitempty" doc:"id of its key.rotated"`
	Index     uint64   `json:"index,omitempty" doc:"of key.rotated in the own log"`
	Logged    bool     `json:"logged,omitempty" doc:"false: key.rotated waits in the outbox"`
	Committed string   `json:"committed,omitempty" doc:"since when its witnesses are asked"`
	Have      int      `json:"have,omitempty" doc:"witnesses that signed it"`
	Need      int      `json:"need,omitempty"`
	Missing   []string `json:"missing,omitempty" doc:"members whose proof is missing"`
	Entry     string   `json:"entry,omitempty" doc:"base64url of its line, for witnesses that are asked by hand"`
	Changes   []string `json:"changes,omitempty" doc:"what it changes, in words, beside entry"`
	Place     string   `json:"update_keys,omitempty" doc:"where the update keys are looked for"`
	Apart     bool     `json:"apart,omitempty" doc:"that is outside of the data directory"`
	Hashes    []string `json:"next_key_hashes,omitempty" doc:"what the head commits to: hashes of the next update key and of the recovery key"`
	Reason    string   `json:"reason,omitempty" doc:"of key.rotated"`
	TaintFrom *uint64  `json:"taint_from,omitempty" doc:"own events above it, up to index, are in doubt; absent: none is"`
	Reissued  []string `json:"reissued,omitempty" doc:"names of own agents issued anew after a compromise"`
	Ended     []string `json:"ended,omitempty" doc:"names of own agents that ended with the compromised key"`
}

// WitnessRequest is the file that is carried to a witness.
type WitnessRequest struct {
	DID   string `json:"did"`
	Entry string `json:"entry" doc:"base64url of the line"`
}

// WitnessProof is the file that is carried back.
type WitnessProof struct {
	ID      string   `json:"id" doc:"versionId that was witnessed"`
	Proof   string   `json:"proof" doc:"the witness proof, as a JSON text"`
	Changes []string `json:"changes,omitempty" doc:"what the entry changes, in words; not in the file"`
}

func (s *server) identities(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/identities/{did}", "didShow", "An organization's identity as verified here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			DID string `path:"did" maxLength:"2048" doc:"a DID, self, or the name or domain of an organization held here"`
		}) (*struct{ Body Identity }, error) {
			out, err := s.identity(ctx, in.DID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Identity }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/entry", "didEntry", "The entry of the own DID log that is under way", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body EntryState }, error) {
			out, err := s.pendingEntry(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body EntryState }{out}, nil
		})
	})
	changeRoute(s, api, "/api/v1/identities/rotate", "didRotate", "Replace a key of this organization", func(in Rotation) Authority { return in.Authority }, s.rotate)
	changeRoute(s, api, "/api/v1/identities/witnesses", "didWitnessSet", "Name the witnesses of the own DID log", func(in Witnesses) Authority { return in.Authority }, s.setWitnesses)
	changeRoute(s, api, "/api/v1/identities/move", "didMove", "Move the own DID to another host", func(in Move) Authority { return in.Authority }, func(ctx context.Context, a member.Authority, in Move) (member.Entry, error) {
		return s.Member.Move(ctx, member.MoveInput{Authority: a, Domain: in.Domain, Services: s.Custody.Services(in.Domain)})
	})
	changeRoute(s, api, "/api/v1/identities/deactivate", "didDeactivate", "End the own DID for good", func(in Deactivation) Authority { return in.Authority }, s.deactivate)
	changeRoute(s, api, "/api/v1/entry/resume", "didResume", "Go on with the entry under way", func(in Resumption) Authority { return in.Authority }, s.resume)
	changeRoute(s, api, "/api/v1/entry/abandon", "didAbandon", "Forget an entry no witness was asked about", func(in Authority) Authority { return in }, func(ctx context.Context, a member.Authority, _ Authority) (member.Entry, error) {
		return member.Entry{}, s.Member.AbandonEntry(ctx, a.Update)
	})
	s.witnessRoute(api)
	s.resolveRoutes(api)
}

// changeRoute registers one act on the own DID log: the authority is opened for it alone.
func changeRoute[In any](s *server, api huma.API, path, id, summary string, of func(In) Authority, act func(context.Context, member.Authority, In) (member.Entry, error)) {
	s.route(api, http.MethodPost, path, id, summary, http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body In }) (*struct{ Body EntryState }, error) {
			o, err := s.Custody.Authority(ctx, of(in.Body))
			if err != nil {
				return nil, s.refuse(err)
			}
			defer o.Close()
			e, err := act(ctx, o.Authority, in.Body)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := EntryState{ID: e.Version, Active: e.Active, Index: e.Index, Logged: e.Logged, Reason: e.Reason, TaintFrom: e.TaintFrom, Reissued: e.Reissued, Ended: e.Ended}
			if !e.Event.IsZero() {
				out.Event = e.Event.String()
			}
			return &struct{ Body EntryState }{out}, nil
		})
	})
}

func (s *server) rotate(ctx context.Context, a member.Authority, in Rotation) (member.Entry, error) {
	r := member.RotateInput{Authority: a, Role: member.Role(in.Role), Reason: in.Reason, TaintFrom: in.TaintFrom}
	if r.Reason == "" {
		r.Reason = "scheduled"
	}
	if in.Governance != "" {
		r.Governance = func(ctx context.Context) (did.PublicKey, error) {
			return s.Custody.Governance(ctx, in.Governance, in.GovPass)
		}
		r.Ungovern = func(ctx context.Context, k did.PublicKey) error {
			return s.Custody.DropGovernance(ctx, in.Governance, in.GovPass, k)
		}
	}
	return s.Member.Rotate(ctx, r)
}

func (s *server) setWitnesses(ctx context.Context, a member.Authority, in Witnesses) (member.Entry, error) {
	w := member.WitnessInput{Authority: a, None: in.None, Threshold: in.Threshold}
	for _, text := range in.Members {
		d, err := did.Parse(text)
		if err != nil {
			return member.Entry{}, fault.Wrap(fault.Invalid, "did", err)
		}
		w.Members = append(w.Members, d)
	}
	return s.Member.SetWitnesses(ctx, w)
}

func (s *server) deactivate(ctx context.Context, a member.Authority, in Deactivation) (member.Entry, error) {
	if !s.isOwn(ctx, in.DID) {
		return member.Entry{}, fault.New(fault.Invalid, "did", "%.200q is not the DID of this organization", in.DID).
			WithHint("type it whole, so that nothing else is ended: trustnode did show")
	}
	return s.Member.Deactivate(ctx, a)
}

// isOwn reports whether a text is the own DID, under any name its log has or had.
func (s *server) isOwn(ctx context.Context, text string) bool {
	if text == s.Node.Org.String() {
		return true
	}
	h, err := s.Node.Ring.History(ctx, s.Node.Org)
	return err == nil && slices.ContainsFunc(h.DIDs(), func(d did.DID) bool { return d.String() == text })
}

func (s *server) resume(ctx context.Context, a member.Authority, in Resumption) (member.Entry, error) {
	var proofs [][]byte
	for _, p := range in.Proofs {
		proofs = append(proofs, []byte(p))
	}
	update := a.Update
	if in.Passphrase == "" {
		update = nil // the spent key is deleted by the next entry
	}
	return s.Member.ResumeEntry(ctx, update, proofs, a.Wait)
}

func (s *server) witnessRoute(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/witness", "didWitnessSign", "Witness an entry of a member's DID log that was carried here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body WitnessRequest }) (*struct{ Body WitnessProof }, error) {
			d, err := did.Parse(in.Body.DID)
			if err != nil {
				return nil, s.refuse(fault.Wrap(fault.Invalid, "did", err))
			}
			line, err := base64.RawURLEncoding.Strict().DecodeString(in.Body.Entry)
			if err != nil {
				return nil, s.refuse(fault.Wrap(fault.Invalid, "entry", err))
			}
			words := s.changes(ctx, d, line)
			proof, err := s.Member.WitnessByHand(ctx, d, line)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body WitnessProof }{WitnessProof{ID: didwebvh.VersionID(line), Proof: string(proof), Changes: words}}, nil
		})
	})
}

// changes says what a line does as the next entry of a DID log, nil where it is none.
func (s *server) changes(ctx context.Context, d did.DID, line []byte) []string {
	h, err := s.Node.Ring.History(ctx, d)
	if err != nil {
		return nil
	}
	at, err := s.Node.Clock.Now()
	if err != nil {
		at = s.Node.Clock.Last()
	}
	v, err := h.Check(line, at)
	if err != nil {
		return nil
	}
	return verifier.Changes(h.Head(), v)
}

func (s *server) pendingEntry(ctx context.Context) (EntryState, error) {
	var out EntryState
	err := self.Behind(ctx, s.Node.Ring, s.Node.Org)
	if err != nil {
		return EntryState{}, err
	}
	if out.Place, out.Apart, err = s.Custody.UpdatePlace(); err != nil {
		return EntryState{}, err
	}
	if h, err := s.Node.Ring.History(ctx, s.Node.Org); err == nil { // another method than did:webvh has none
		out.Hashes = h.Head().Parameters.NextKeyHashes
	}
	p, ok, err := s.Member.Pending(ctx)
	if err != nil {
		return EntryState{}, err
	}
	if !ok {
		v, err := s.Node.Ring.Head(ctx, s.Node.Org)
		out.ID, out.Active = v.ID, true
		return out, err
	}
	out.ID, out.Have, out.Need, out.Entry = p.Version, p.Have, p.Need, base64.RawURLEncoding.EncodeToString(p.Line)
	if p.Line != nil {
		out.Changes = s.changes(ctx, s.Node.Org, p.Line)
	}
	if !p.Committed.IsZero() {
		out.Committed = p.Committed.String()
	}
	for _, d := range p.Missing {
		out.Missing = append(out.Missing, d.String())
	}
	return out, nil
}

// selfWord names the own organization where a DID is asked for.
const selfWord = "self"
