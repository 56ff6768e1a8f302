package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/node/fault"
)

// LogHead is one signed head of a log, and what an auditor judges it by.
type LogHead struct {
	Org        string   `json:"org"`
	Size       uint64   `json:"size"`
	Root       string   `json:"root"`
	Checkpoint string   `json:"checkpoint" doc:"C2SP signed note with every cosignature held"`
	Key        string   `json:"key" doc:"multikey that signed it, in force at its position"`
	Witnessed  []string `json:"witnessed" doc:"organizations whose cosignature it carries"`
	Need       int      `json:"need" doc:"how many the charter asks for"`
	Policy     string   `json:"policy" doc:"the same as a witness policy of C2SP tools"`
}

// logRoutes registers how a log is taken out of the node: checkpoint and tiles are served as
// C2SP tlog-tiles. The checkpoint is for anyone; the rest is the operator's, unless the
// configuration opens it. Members have sync, and what a log says is theirs.
func (s *server) logRoutes(api huma.API, mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/log/{did}/checkpoint", s.checkpoint)
	mux.HandleFunc("GET /api/v1/log/{did}/tile/{path...}", s.tile)
	s.route(api, http.MethodGet, "/api/v1/events/{id}/proof", "eventProve", "The file that proves an event or an audit row to anyone", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			ID   string   `path:"id" maxLength:"128" doc:"of an event or a row, or the index of an event of the own log"`
			With []string `query:"with" maxItems:"64" doc:"the operator's: ids of further events and rows, and of bodies of these events"`
		}) (*bytesOut, error) {
			b, err := s.prove(ctx, in.ID, in.With)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &bytesOut{ContentType: "application/octet-stream", Body: b}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/events/{id}/c2sp", "eventC2SP", "One event with its C2SP tlog-proof and the policy that judges it", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			ID string `path:"id" maxLength:"128" doc:"of an event, or the index of one of the own log"`
		}) (*struct{ Body EventC2SP }, error) {
			out, err := s.eventC2SP(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body EventC2SP }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/log/{did}/head", "logHead", "One signed head of a log, and the policy that judges it", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			DID string `path:"did" doc:"whose log, or self"`
		}) (*struct{ Body LogHead }, error) {
			out, err := s.logHead(ctx, in.DID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LogHead }{out}, nil
		})
	})
}

// prove writes a proof for its reader: rows and private bodies are the operator's. To a stranger whatever is named beside
// the event is answered alike, so that the answer does not tell what is held.
func (s *server) prove(ctx context.Context, what string, with []string) ([]byte, error) {
	if asOperator(ctx) {
		return s.Party.Prove(ctx, what, with...)
	}
	if len(with) > 0 {
		return nil, fault.New(fault.NotFound, "event", "nothing of that id is proven beside an event").WithHint("ask for the proof of each event by itself")
	}
	return s.Party.ProveOpenly(ctx, what)
}

// orgNamed reads the organization that a path names.
func (s *server) orgNamed(text string) (did.DID, error) {
	if text == selfWord {
		return s.Node.Org, nil
	}
	d, err := did.Parse(text)
	if err != nil {
		return did.DID{}, fault.Wrap(fault.Invalid, "did", err)
	}
	return d, nil
}

func (s *server) logHead(ctx context.Context, who string) (LogHead, error) {
	d, err := s.logOf(ctx, who)
	if err != nil {
		return LogHead{}, err
	}
	by, need := s.witnesses(d)
	n, err := s.Node.Rec.HeadFor(ctx, d, need)
	if errors.Is(err, attestation.ErrNotFound) {
		return LogHead{}, fault.New(fault.NotFound, "head", "no signed head of %s is held here", d).WithHint("trustnode event list names the logs held here")
	}
	if err != nil {
		return LogHead{}, err
	}
	p, text, err := s.policy(ctx, n, by, need)
	if err != nil {
		return LogHead{}, err
	}
	return LogHead{Org: d.String(), Size: n.Head.Size, Root: n.Head.Root.String(), Checkpoint: string(n.Bytes()), Key: p.Key.Multikey(),
		Witnessed: texts(n.Witnesses()), Need: need, Policy: text}, nil
}

// policy gives what a head is to be judged by, and that as C2SP tools read it.
func (s *server) policy(ctx context.Context, n attlog.Note, by []did.DID, need int) (attlog.Policy, string, error) {
	p, err := s.Node.Rec.PolicyOf(ctx, n, by, need)
	if err != nil {
		return attlog.Policy{}, "", err
	}
	text, err := p.Bytes()
	if errors.Is(err, attlog.ErrPolicy) {
		err = fault.Wrap(fault.Unavailable, "witnesses", err).WithHint("the charter asks for more witnesses than have a witness key that is known here")
	}
	return p, string(text), err
}

// EventC2SP is an event as C2SP tools verify it.
type EventC2SP struct {
	ID        string   `json:"id"`
	Org       string   `json:"org"`
	Index     uint64   `json:"index"`
	Size      uint64   `json:"size" doc:"of the head that covers it"`
	Entry     []byte   `json:"entry" doc:"the entry whose hash is the leaf, base64"`
	Proof     string   `json:"proof" doc:"C2SP tlog-proof"`
	Policy    string   `json:"policy" doc:"C2SP witness policy: the key of the log there, and the quorum of the charter"`
	Witnessed []string `json:"witnessed" doc:"organizations whose cosignature the head carries"`
	Need      int      `json:"need" doc:"how many the charter asks for"`
}

func (s *server) eventC2SP(ctx context.Context, what string) (EventC2SP, error) {
	found, err := s.Party.Event(ctx, what)
	if err != nil {
		return EventC2SP{}, err
	}
	id := found[0].Entry.ID()
	pr, err := s.Node.Rec.Proof(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return EventC2SP{}, fault.Wrap(fault.NotFound, "event", err).WithHint("a tlog-proof is of an event under a signed head: try again when one covers it")
	}
	if err != nil {
		return EventC2SP{}, err
	}
	p, err := attlog.ParseProof(pr.Text)
	if err != nil {
		return EventC2SP{}, err
	}
	by, need := s.witnesses(pr.Org)
	_, policy, err := s.policy(ctx, p.Note, by, need)
	if err != nil {
		return EventC2SP{}, err
	}
	return EventC2SP{ID: id.String(), Org: pr.Org.String(), Index: pr.Index, Size: p.Note.Head.Size, Entry: pr.Entry, Proof: string(pr.Text), Policy: policy, Witnessed: texts(p.Note.Witnesses()), Need: need}, nil
}

// witnesses are the organizations that may cosign heads of d, and how many the charter in
// force asks for; nobody without a charter.
func (s *server) witnesses(d did.DID) (by []did.DID, need int) {
	c, ok := s.Member.Charter()
	if !ok {
		return nil, 0
	}
	for _, m := range c.Head().ActiveMembers() {
		if m.DID != d {
			by = append(by, m.DID)
		}
	}
	return by, int(c.Head().Policy.FreshQuorum)
}

// checkpoint serves the newest signed head of a log held here.
func (s *server) checkpoint(w http.ResponseWriter, r *http.Request) {
	note, err := s.newest(r)
	if err != nil {
		problemOf(w, 0, s.refuse(err))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(note)
}

func (s *server) newest(r *http.Request) ([]byte, error) {
	d, err := s.orgNamed(r.PathValue("did"))
	if err != nil {
		return nil, err
	}
	l, err := s.heldLog(r.Context(), d)
	if err != nil {
		return nil, err
	}
	_, note := l.Head()
	if note == nil {
		return nil, fault.New(fault.NotFound, "head", "no head of %s is signed yet", d)
	}
	return note, nil
}

// heldLog returns the log of d, if it is held.
func (s *server) heldLog(ctx context.Context, d did.DID) (attestation.Log, error) {
	l, err := s.Events.Log(ctx, d)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil, noLog(d)
	}
	return l, err
}

// maxTileAge is for how many seconds a cache may keep a tile. What lies at a path is the same for ever, but for that of a log
// which was cut back to the branch that a charter names: whoever audits it must be able to see the other one soon.
const maxTileAge = 300

func noLog(d did.DID) error {
	return fault.New(fault.NotFound, "log", "no log of %s is held here", d).WithHint("trustnode event list names the logs held here")
}

// tile serves one tile or entry bundle of a log. A tile that is not full has its width in its name.
func (s *server) tile(w http.ResponseWriter, r *http.Request) {
	if !s.isOperator(r.Header.Get("Authorization")) {
		leave, err := s.enterTiles(w)
		if err != nil {
			problemOf(w, 0, s.refuse(err))
			return
		}
		defer leave()
	}
	b, err := s.tileBytes(r)
	if err != nil {
		problemOf(w, 0, s.refuse(err))
		return
	}
	who := "private"
	if s.PublicEvents {
		who = "public"
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", fmt.Sprintf("%s, max-age=%d", who, maxTileAge))
	_, _ = w.Write(b)
}

// enterTiles lets a stranger in where tiles are open to anyone.
func (s *server) enterTiles(w http.ResponseWriter) (leave func(), err error) {
	if !s.PublicEvents {
		return nil, errOperators()
	}
	return s.enter(w)
}

func (s *server) tileBytes(r *http.Request) ([]byte, error) {
	d, err := s.orgNamed(r.PathValue("did"))
	if err != nil {
		return nil, err
	}
	l, err := s.heldLog(r.Context(), d)
	if err != nil {
		return nil, err
	}
	b, err := attlog.TilesOf(l)(r.Context(), "tile/"+r.PathValue("path"))
	if errors.Is(err, attlog.ErrTile) {
		return nil, fault.Wrap(fault.NotFound, "tile", err)
	}
	return b, err
}
