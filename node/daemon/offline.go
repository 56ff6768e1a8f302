package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"trustnode/node/config"
)

// Offline is a node opened for the length of one command, without a network. Its log
// takes what is decided, unless it has to hear from a peer first.
type Offline struct {
	n    *Node
	stop context.CancelFunc
	log  *task
}

// OpenOffline opens the node of cfg without running it. ErrLocked: another process has
// the directory open.
func OpenOffline(ctx context.Context, cfg config.Config, pass []byte, log *slog.Logger) (*Offline, error) {
	n, err := Open(ctx, cfg, Options{Passphrase: pass, Log: log, Version: "offline"})
	if err != nil {
		return nil, err
	}
	if err := n.self.Rec.Look(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	logCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	return &Offline{n: n, stop: stop, log: start(logCtx, n.self.Rec.Run)}, nil
}

// Handler serves the HTTP API in process.
func (o *Offline) Handler() http.Handler { return o.n.Handler() }

// Token is the operator's bearer token.
func (o *Offline) Token() string { return o.n.Token() }

// Close brings what waits into the log and lets go of the directory.
func (o *Offline) Close() error {
	o.n.drain(context.Background(), closeWait)
	o.stop()
	<-o.log.done
	return errors.Join(o.log.err, o.n.Close())
}
