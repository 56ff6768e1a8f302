package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation"
	"trustnode/node/fault"
)

// LogBranch is what is kept of a second branch of a log that has forked (03, section 9): one
// branch of each log, at most 64 MiB of it. Its entries were shown under a signed head and are
// not judged: none of them counts here.
type LogBranch struct {
	Org    string        `json:"org"`
	From   uint64        `json:"from" doc:"index of the first entry kept of it: below, both branches are one"`
	To     uint64        `json:"to" doc:"index behind the last one"`
	Events []BranchEvent `json:"events"`
	Next   *uint64       `json:"next,omitempty" doc:"index where the next page begins; absent: nothing follows"`
}

// BranchEvent is one entry of it.
type BranchEvent struct {
	Event json.RawMessage `json:"event,omitempty" doc:"the statement; absent where the entry has not the form of one"`
	ID    string          `json:"id"`
	Index uint64          `json:"index" doc:"on that branch"`
	Words string          `json:"words" doc:"the event in one sentence, from its data alone"`
}

// Says is Event.Says.
func (e BranchEvent) Says() Statement { return Event{Event: e.Event}.Says() }

func (s *server) branchRoute(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/log/{did}/branch", "logBranch", "What is kept of a second branch of a log that has forked", http.StatusOK, func(op huma.Operation) {
		op.RejectUnknownQueryParameters = true
		huma.Register(api, op, func(ctx context.Context, in *struct {
			DID   string `path:"did" maxLength:"2048" doc:"whose log: a DID, the name or domain of an organization held here, or self"`
			From  uint64 `query:"from" doc:"the least index"`
			Limit int    `query:"limit" minimum:"1" maximum:"1000" doc:"most entries; default 100"`
		}) (*struct{ Body LogBranch }, error) {
			out, err := s.branch(ctx, in.DID, in.From, in.Limit)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LogBranch }{out}, nil
		})
	})
}

// errPage ends the reading of a page.
var errPage = errors.New("the page is full")

func (s *server) branch(ctx context.Context, who string, from uint64, limit int) (LogBranch, error) {
	d, err := s.logOf(ctx, who)
	if err != nil {
		return LogBranch{}, err
	}
	b, err := s.Events.Branch(ctx, d)
	if err != nil {
		return LogBranch{}, err
	}
	if b.To == b.From {
		return LogBranch{}, fault.New(fault.NotFound, "branch", "no second branch of the log of %s is kept here", d).
			WithHint("trustnode event list names the logs that have forked; of one that has, a peer may not have shown the other branch")
	}
	if limit == 0 {
		limit = 100
	}
	out := LogBranch{Org: d.String(), From: b.From, To: b.To, Events: []BranchEvent{}}
	err = s.Events.BranchEntries(ctx, d, func(i uint64, en attestation.Entry) error {
		switch {
		case i < from:
			return ctx.Err()
		case len(out.Events) == limit:
			out.Next = &i
			return errPage
		}
		e := BranchEvent{Index: i, Words: "not an event"}
		if en.Check() == nil {
			e.ID = en.ID().String()
		}
		if env, ev, err := en.Envelope(); err == nil {
			e.Event, e.Words = json.RawMessage(env.Body), attestation.Words(ev)
		}
		out.Events = append(out.Events, e)
		return nil
	})
	if errors.Is(err, errPage) {
		err = nil
	}
	return out, err
}
