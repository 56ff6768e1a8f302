package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/notice"
)

// Notice is what the operator has to know unasked.
type Notice struct {
	At     string `json:"at"`
	Level  string `json:"level" enum:"info,warn"`
	What   string `json:"what" doc:"stable word, such as loan_grown"`
	Ref    string `json:"ref" doc:"id of what it is about; acknowledge it by this"`
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
}

// Notices is a list of notices.
type Notices struct {
	Notices []Notice `json:"notices"`
}

// NoticeAck acknowledges the notices about one thing.
type NoticeAck struct {
	Ref string `json:"ref"`
}

// notices are the operator's routes about what waits to be acknowledged.
func (s *server) notices(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/notices", "noticeList", "What the operator has to know, until it is acknowledged", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Notices }, error) {
			ns, err := s.noticesNow(ctx)
			return &struct{ Body Notices }{Notices{ns}}, s.refuse(err)
		})
	})
	s.route(api, http.MethodPost, "/api/v1/notices/acknowledge", "noticeAck", "Acknowledge the notices about one thing", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body NoticeAck }) (*struct{ Body Notices }, error) {
			if _, err := notice.Acknowledge(ctx, s.Node.DB, in.Body.Ref); err != nil {
				return nil, s.refuse(err)
			}
			ns, err := s.noticesNow(ctx)
			return &struct{ Body Notices }{Notices{ns}}, s.refuse(err)
		})
	})
}

func (s *server) noticesNow(ctx context.Context) ([]Notice, error) {
	ns, err := notice.List(ctx, s.Node.DB)
	if err != nil {
		return nil, err
	}
	out := []Notice{}
	for _, n := range ns {
		out = append(out, Notice{At: n.At.String(), Level: n.Level, What: n.What, Ref: n.Ref, Detail: n.Detail, Hint: n.Hint})
	}
	return out, nil
}
