// Package testnet answers: what happens when several whole nodes live together?
//
// It runs complete nodes in one process, each with its own data directory, libp2p host
// and HTTP server on loopback, and speaks to them as a person does: over HTTP with the
// operator's token. Nothing in it reaches into a node.
package testnet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/httpapi"
	"trustnode/testnet/ports"
)

// Org is one organization of a Net: its data directory and, while it runs, its node.
type Org struct {
	Name string // also the name of its directory
	DID  string
	Dir  string
	HTTP string // host:port
	P2P  string // multiaddr

	pass   []byte
	cancel context.CancelFunc
	done   chan error
}

// Net is a set of organizations on loopback. Its methods are for one goroutine.
type Net struct {
	Dir  string
	Orgs []*Org

	log *slog.Logger
	wg  sync.WaitGroup
}

// New makes an empty net whose data directories lie under dir. log may be nil.
func New(dir string, log *slog.Logger) *Net {
	if log == nil {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return &Net{Dir: dir, log: log}
}

// Add creates an organization: identity, keys, data directory. It does not run yet.
func (n *Net) Add(ctx context.Context, name, title, domain string) (*Org, error) {
	port, err := ports.Claim(2)
	if err != nil {
		return nil, err
	}
	var b [24]byte
	rand.Read(b[:])
	o := &Org{Name: name, Dir: filepath.Join(n.Dir, name), HTTP: fmt.Sprintf("127.0.0.1:%d", port[0]), P2P: fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port[1]),
		pass: []byte(base64.RawURLEncoding.EncodeToString(b[:]))}
	r, err := daemon.Init(ctx, daemon.InitOptions{Dir: o.Dir, Name: title, Domain: domain, HTTP: o.HTTP, P2P: []string{o.P2P}, Passphrase: o.pass})
	if err != nil {
		return nil, err
	}
	o.DID = r.Org.String()
	n.Orgs = append(n.Orgs, o)
	return o, nil
}

// Offline opens a node that does not run, for the calls of f.
func (n *Net) Offline(ctx context.Context, o *Org, f func(*httpapi.Client) error) error {
	cfg, err := config.Read(o.Dir)
	if err != nil {
		return err
	}
	node, err := daemon.OpenOffline(ctx, cfg, o.pass, n.log)
	if err != nil {
		return err
	}
	return errors.Join(f(httpapi.InProcess(node.Handler(), node.Token())), node.Close())
}

// Start runs the node of o until Stop.
func (n *Net) Start(ctx context.Context, o *Org) error {
	cfg, err := config.Read(o.Dir)
	if err != nil {
		return err
	}
	ctx, o.cancel = context.WithCancel(ctx)
	o.done = make(chan error, 1)
	n.wg.Go(func() {
		o.done <- daemon.Run(ctx, cfg, bytes.Clone(o.pass), daemon.RunOptions{Log: n.log.With("node", o.Name), Version: "testnet"})
	})
	return nil
}

// Stop ends the node of o cleanly and returns how it ended.
func (n *Net) Stop(o *Org) error {
	if o.cancel == nil {
		return nil
	}
	o.cancel()
	o.cancel = nil
	return <-o.done
}

// StopAll ends every node.
func (n *Net) StopAll() error {
	var errs []error
	for _, o := range n.Orgs {
		if o.cancel != nil {
			o.cancel()
		}
	}
	for _, o := range n.Orgs {
		if o.cancel != nil {
			o.cancel = nil
			errs = append(errs, <-o.done)
		}
	}
	n.wg.Wait()
	return errors.Join(errs...)
}

// startWait is how long a starting node may take to listen.
const startWait = 15 * time.Second

// Client speaks to the running node of o as its operator.
func (o *Org) Client() (*httpapi.Client, error) {
	b, err := os.ReadFile(filepath.Join(o.Dir, daemon.TokenFile))
	if err != nil {
		return nil, err
	}
	return &httpapi.Client{Base: "http://" + o.HTTP, Token: strings.TrimSpace(string(b)), HTTP: &http.Client{Timeout: time.Minute}, StartWait: startWait}, nil
}

// Wait waits until the node of o is in a state.
func (o *Org) Wait(ctx context.Context, state string, timeout time.Duration) (httpapi.Status, error) {
	c, err := o.Client()
	if err != nil {
		return httpapi.Status{}, err
	}
	var st httpapi.Status
	path := fmt.Sprintf("/api/v1/status?wait=%s&timeout_s=%d", state, int(timeout.Seconds()))
	if err := c.Call(ctx, http.MethodGet, path, nil, &st); err != nil {
		return st, err
	}
	if st.State != state {
		return st, fmt.Errorf("%s is %s, not %s, after %s: %s", o.Name, st.State, state, timeout, strings.Join(st.Reasons, "; "))
	}
	return st, nil
}
