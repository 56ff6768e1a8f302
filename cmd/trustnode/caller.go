package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
)

// caller speaks to the node of one data directory: to the running one over HTTP,
// or to one opened in this process for the length of the command.
type caller struct {
	base   string
	token  string
	client *http.Client
	close  func() error
}

// maxAnswer caps what a node may answer, in bytes: a case file is the largest.
const maxAnswer = 256 << 20

// startWait is how long a node that is just starting may take to answer.
const startWait = 10 * time.Second

// open finds the node of --data. A directory that another process holds is spoken to
// over HTTP; otherwise it is opened here.
func open(ctx context.Context, c *cli.Context) (*caller, error) {
	dir := c.String("data")
	cfg, err := config.Read(dir)
	if errors.Is(err, config.ErrNoNode) {
		return nil, fault.New(fault.NotFound, "no_node", "%s holds no node", dir).WithHint("trustnode init --data %s --name NAME --domain DOMAIN", dir)
	}
	if err != nil {
		return nil, err
	}
	if !daemon.Held(cfg.Dir) {
		n, err := openHere(ctx, cfg)
		if !errors.Is(err, daemon.ErrLocked) {
			return n, err
		}
	}
	token, err := os.ReadFile(filepath.Join(cfg.Dir, daemon.TokenFile))
	if err != nil {
		return nil, err
	}
	return &caller{base: "http://" + cfg.HTTP, token: strings.TrimSpace(string(token)),
		client: &http.Client{Timeout: 10 * time.Minute}, close: func() error { return nil }}, nil
}

// openHere opens the directory in this process, without a network.
func openHere(ctx context.Context, cfg config.Config) (*caller, error) {
	pass, err := passphrase("passphrase of " + cfg.Dir)
	if err != nil {
		return nil, err
	}
	n, err := daemon.OpenOffline(ctx, cfg, pass, quiet())
	if err != nil {
		return nil, err
	}
	return &caller{base: "http://node", token: n.Token(), client: &http.Client{Transport: inProcess{n.Handler()}}, close: n.Close}, nil
}

// inProcess serves requests by a handler in this process.
type inProcess struct{ h http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r.RequestURI = r.URL.RequestURI()
	p.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// call sends in as JSON and reads the answer into out; nil means none. A refusal is a *fault.Denied.
func (k *caller) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = b
	}
	b, err := k.raw(ctx, method, path, "application/json", body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(b, out)
}

// raw sends a body of any kind and returns the bytes of the answer.
func (k *caller) raw(ctx context.Context, method, path, kind string, body []byte) ([]byte, error) {
	res, err := k.send(ctx, method, path, kind, body)
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

// send retries while the node holds the directory but does not listen yet.
func (k *caller) send(ctx context.Context, method, path, kind string, body []byte) (*http.Response, error) {
	deadline := time.Now().Add(startWait)
	for {
		req, err := http.NewRequestWithContext(ctx, method, k.base+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+k.token)
		if len(body) > 0 {
			req.Header.Set("Content-Type", kind)
		}
		res, err := k.client.Do(req)
		if err == nil {
			return res, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(deadline) {
			return nil, fault.New(fault.Unavailable, "node", "%v", err).WithHint("the process that holds the data directory does not answer at %s", k.base)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// with opens the node, runs f and closes it again.
func with(c *cli.Context, f func(ctx context.Context, k *caller) error) error {
	k, err := open(c.Context, c)
	if err != nil {
		return err
	}
	err = f(c.Context, k)
	if cerr := k.close(); err == nil && cerr != nil {
		return fmt.Errorf("closing the data directory: %w", cerr)
	}
	return err
}

// stream sends a body of any length as it is read.
func (k *caller) stream(ctx context.Context, path string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.base+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+k.token)
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := k.client.Do(req)
	if err != nil {
		return fault.New(fault.Unavailable, "node", "%v", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	if res.StatusCode >= 400 {
		return fault.ParseProblem(b)
	}
	return json.Unmarshal(b, out)
}
