package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	"trustnode/node/fault"
)

// maxAnswer caps what a node may answer, in bytes: a case file is the largest.
const maxAnswer = 256 << 20

// Reasons of fault.Unavailable where no node is at work.
const (
	ReasonNoNode     = "node"  // none answers at the address
	ReasonNotRunning = "watch" // the process that answers only holds the directory
)

// Client speaks to the operator's routes of one node. It is safe for concurrent use.
type Client struct {
	Base  string // such as http://127.0.0.1:8420
	Token string // the operator's
	HTTP  *http.Client
	// StartWait is how long a node that does not listen yet is waited for.
	StartWait time.Duration
}

// InProcess returns a client of a handler in this process.
func InProcess(h http.Handler, token string) *Client {
	return &Client{Base: "http://node", Token: token, HTTP: &http.Client{Transport: direct{h}}}
}

// direct serves requests by a handler, without a network.
type direct struct{ h http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &answer{header: http.Header{}, code: http.StatusOK}
	d.h.ServeHTTP(w, r)
	return &http.Response{StatusCode: w.code, Status: http.StatusText(w.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r}, nil
}

// answer collects what a handler writes.
type answer struct {
	header http.Header
	code   int
	wrote  bool
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	if !a.wrote {
		a.code, a.wrote = code, true
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.wrote = true
	return a.body.Write(b)
}

// Call sends in as JSON and reads the answer into out; nil means none. A refusal of the
// node is a *fault.Denied.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	kind := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, kind = bytes.NewReader(b), "application/json"
	}
	b, err := c.Send(ctx, method, path, kind, body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// Send sends a body of any kind and length and returns the bytes of the answer.
func (c *Client) Send(ctx context.Context, method, path, kind string, body io.Reader) ([]byte, error) {
	res, err := c.do(ctx, method, path, kind, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 400 {
		return nil, fault.ParseProblem(b)
	}
	return b, nil
}

// refusedBy is the refusal that an answer to a call is whose body is read as it comes, nil if
// it is none: a *fault.Denied, or what reading it failed with.
func refusedBy(res *http.Response) error {
	if res.StatusCode < 400 {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxOperatorBody))
	if err != nil {
		return err
	}
	return fault.ParseProblem(b)
}

// Answer is what a route answered, whatever its status.
type Answer struct {
	Status int
	Kind   string // Content-Type
	Body   []byte
}

// Get asks for something whose refusals have a form of their own, as those of DID
// Resolution have. accept is the media type wanted, "" for any.
func (c *Client) Get(ctx context.Context, path, accept string) (Answer, error) {
	res, err := c.do(ctx, http.MethodGet, path, "", nil, "Accept", accept)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return Answer{Status: res.StatusCode, Kind: res.Header.Get("Content-Type"), Body: b}, err
}

// do retries while nothing listens yet; a body that cannot be sent again is sent once.
// Header fields that are not empty follow, name and value in turn.
func (c *Client) do(ctx context.Context, method, path, kind string, body io.Reader, header ...string) (*http.Response, error) {
	again, _ := body.(io.Seeker)
	for deadline := time.Now().Add(c.StartWait); ; {
		req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+c.Token)
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		for i := 0; i+1 < len(header); i += 2 {
			if header[i+1] != "" {
				req.Header.Set(header[i], header[i+1])
			}
		}
		res, err := c.HTTP.Do(req)
		if err == nil {
			return res, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) || body != nil && again == nil {
			return nil, fault.New(fault.Unavailable, ReasonNoNode, "%v", err).WithHint("the node at %s did not answer; what it acknowledged is kept, so look what is there and run the same command again", c.Base)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if again != nil {
			if _, err := again.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
		}
	}
}
