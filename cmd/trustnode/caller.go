package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// caller speaks to the node of one data directory: to the running one over HTTP,
// or to one opened in this process for the length of the command.
type caller struct {
	api   *httpapi.Client
	own   bool // the directory is open in this process
	close func() error
}

// Times of a verb.
const (
	startWait = 20 * time.Second      // for a node that is just starting, or another verb that has the directory open
	lookAgain = 50 * time.Millisecond // between two looks at who has it
	callWait  = 30 * time.Minute      // for an answer: imports and exports take long
)

// open finds the node of --data. A directory that a running node holds is spoken to over
// HTTP; one that nobody holds is opened here; one that another verb holds is waited for.
func open(ctx context.Context, c *cli.Context) (*caller, error) {
	cfg, err := configOf(c)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startWait); ; {
		h, held := daemon.Held(cfg.Dir)
		switch {
		case !held:
			k, err := openHere(ctx, cfg)
			if !errors.Is(err, daemon.ErrLocked) {
				return k, err
			}
		case h.HTTP != "":
			return remote(cfg, h)
		}
		if time.Now().After(deadline) {
			return nil, daemon.Locked(cfg.Dir, h)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// running waits until a node runs on --data, or until end.
func running(c *cli.Context, end time.Time) error {
	cfg, err := configOf(c)
	if err != nil {
		return err
	}
	for time.Now().Before(end) {
		if h, held := daemon.Held(cfg.Dir); held && h.HTTP != "" {
			return nil
		}
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-time.After(lookAgain):
		}
	}
	return nil
}

// configOf reads the configuration of --data.
func configOf(c *cli.Context) (config.Config, error) {
	dir := c.String("data")
	cfg, err := config.Read(dir)
	if errors.Is(err, config.ErrNoNode) {
		return cfg, fault.New(fault.NotFound, "no_node", "%s holds no node", dir).WithHint("trustnode init --data %s --name NAME --domain DOMAIN", dir)
	}
	if err != nil {
		return cfg, fault.Wrap(fault.Invalid, "config", err)
	}
	return cfg, nil
}

// remote speaks to the running node h as its operator.
func remote(cfg config.Config, h daemon.Holder) (*caller, error) {
	token, err := os.ReadFile(filepath.Join(cfg.Dir, daemon.TokenFile))
	if err != nil {
		return nil, err
	}
	// The address may still be that of a node that was killed, while its successor starts.
	api := &httpapi.Client{Base: "http://" + h.HTTP, Token: strings.TrimSpace(string(token)), HTTP: &http.Client{Timeout: callWait}, StartWait: startWait}
	return &caller{api: api, close: func() error { return nil }}, nil
}

// openHere opens the directory in this process, without a network.
func openHere(ctx context.Context, cfg config.Config) (*caller, error) {
	if err := daemon.LookForKeys(cfg.Dir); err != nil {
		return nil, err
	}
	pass, err := passphrase("passphrase of " + cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer clear(pass)
	n, err := daemon.OpenOffline(ctx, cfg, pass, quiet())
	if err != nil {
		return nil, err
	}
	return &caller{httpapi.InProcess(n.Handler(), n.Token()), true, n.Close}, nil
}

// call sends in as JSON and reads the answer into out; nil means none.
func (k *caller) call(ctx context.Context, method, path string, in, out any) error {
	return k.api.Call(ctx, method, path, in, out)
}

// raw sends a body of any kind and returns the bytes of the answer.
func (k *caller) raw(ctx context.Context, method, path, kind string, body []byte) ([]byte, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	return k.api.Send(ctx, method, path, kind, r)
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
