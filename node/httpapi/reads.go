package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did/strictjson"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

// borrower serves what a borrower's agent proves by its own signed request.
func (s *server) borrower(api huma.API) {
	// The body is parsed here, strictly; huma would take a raw JSON body for a string.
	huma.Register(api, huma.Operation{OperationID: "read", Method: http.MethodPost, Path: "/api/v1/reads", MaxBodyBytes: maxReadBody, BodyReadTimeout: bodyTimeout, SkipValidateBody: true,
		Summary: "Read under a permission, by a signed readrequest", Errors: []int{400, 401, 403, 404, 409, 413, 422, 429, 503}},
		func(_ context.Context, in *callIn) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(ctx huma.Context) { s.answer(ctx, in, s.Lender.Read) }}, nil
		})
	huma.Register(api, huma.Operation{OperationID: "permissionStatus", Method: http.MethodGet, Path: "/api/v1/permissions/{id}/status",
		Summary: "The state of a permission as the lender's signed receipt, by a signed readrequest", Errors: []int{400, 401, 404, 503}},
		func(ctx context.Context, in *struct {
			ID      string `path:"id" maxLength:"128"`
			Request string `header:"Trustnode-Request" maxLength:"8192" doc:"compact readrequest of op status"`
		}) (*bytesOut, error) {
			receipt, err := s.Lender.Status(ctx, lender.Call{Request: in.Request})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &bytesOut{ContentType: "text/plain; charset=utf-8", Body: []byte(receipt)}, nil
		})
}

// callIn is the body of a read: exact, whatever a JSON library would forgive.
type callIn struct {
	RawBody []byte `contentType:"application/json" doc:"{\"request\":\"<compact readrequest>\",\"permission\":\"<compact, if the lender may lack it>\"}"`
}

const (
	callDepth = 2
	sendTime  = 30 * time.Second // for an answer to be taken by the borrower's connection
)

// parse reads request and permission; what is unknown, doubled or of another case is refused.
func (in *callIn) parse() (lender.Call, error) {
	doc, err := strictjson.Parse(in.RawBody, callDepth)
	if err != nil {
		return lender.Call{}, fault.Wrap(fault.Invalid, "form", err)
	}
	var c lender.Call
	for _, m := range doc.Members() {
		text, ok := m.Value.Text()
		switch {
		case !ok:
			return lender.Call{}, fault.New(fault.Invalid, "form", "%s is not a text", m.Name)
		case m.Name == "request":
			c.Request = text
		case m.Name == "permission":
			c.Permission = text
		default:
			return lender.Call{}, fault.New(fault.Invalid, "form", "%.40q is not known", m.Name)
		}
	}
	if doc.Kind() != strictjson.Object || c.Request == "" {
		return lender.Call{}, fault.New(fault.Invalid, "form", "no request in the body")
	}
	return c, nil
}

// release writes one answer to an HTTP connection, within a time: a caller that does not
// read holds a place among the calls under way no longer.
type release struct {
	ctx    huma.Context
	within time.Duration

	mu      sync.Mutex
	aborted bool // guarded by mu
}

// errAborted says that the loan ended before the answer was written.
var errAborted = errors.New("the answer was held back")

func (r *release) Send(answer []byte) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.ctx.SetHeader("Content-Type", "application/json")
	r.ctx.SetHeader("Content-Length", fmt.Sprint(len(answer)))
	r.ctx.SetStatus(http.StatusOK)
	if _, err := r.ctx.BodyWriter().Write(answer); err != nil {
		return err
	}
	return known(r.control().Flush()) // the bytes are with the kernel before the lock is let go
}

// begin sets the time by which the answer is written, unless it was aborted.
func (r *release) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted {
		return errAborted
	}
	return known(r.control().SetWriteDeadline(time.Now().Add(r.within)))
}

// known leaves out that a caller in this process, whom nothing can block, has no deadlines.
func known(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Abort makes a write under way fail at once.
func (r *release) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	_ = r.control().SetWriteDeadline(time.Unix(1, 0))
}

func (r *release) control() *http.ResponseController {
	w, _ := r.ctx.BodyWriter().(http.ResponseWriter)
	return http.NewResponseController(w)
}
