package httpapi

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/fault"
)

// backupKind is the media type of a backup.
const backupKind = "application/vnd.trustnode.backup"

// BackupWith says which keys go into a backup, each sealed under its passphrase as it is.
type BackupWith struct {
	Keys       bool `query:"keys" doc:"also the keys of the node and of its persons, still encrypted"`
	UpdateKeys bool `query:"update_keys" doc:"also the store of the keys of the next DID entry, still encrypted"`
}

// backupRoute streams a backup of the node while it runs. An answer that breaks off is no
// backup: its last bytes are the hash of all before.
func (s *server) backupRoute(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/backup", "backup", "A consistent backup of the running node, streamed", http.StatusOK, func(op huma.Operation) {
		op.Responses = map[string]*huma.Response{"200": {Description: "the backup", Content: map[string]*huma.MediaType{backupKind: {}}}}
		huma.Register(api, op, func(_ context.Context, in *struct {
			BackupWith
		}) (*huma.StreamResponse, error) {
			if s.Backup == nil {
				return nil, s.refuse(fault.New(fault.Unavailable, "backup", "no node runs here"))
			}
			return &huma.StreamResponse{Body: func(ctx huma.Context) { s.streamBackup(ctx, in.BackupWith) }}, nil
		})
	})
}

// streamBackup breaks the connection off where the backup fails, so that nobody takes what
// was sent for a whole answer.
func (s *server) streamBackup(ctx huma.Context, with BackupWith) {
	w := &begun{ctx: ctx}
	err := s.Lender.BackupBegins(ctx.Context()) // what is forgotten later may still be in it
	if err == nil {
		err = s.Backup(ctx.Context(), w, with)
	}
	if err == nil {
		return
	}
	s.log.WarnContext(ctx.Context(), "a backup was not finished", "err", err)
	if w.wrote {
		panic(http.ErrAbortHandler)
	}
	writeProblem(nil, ctx, err)
}

// begun writes the head of the answer with its first byte.
type begun struct {
	ctx   huma.Context
	wrote bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.wrote {
		b.wrote = true
		b.ctx.SetHeader("Content-Type", backupKind)
		b.ctx.SetStatus(http.StatusOK)
	}
	return b.ctx.BodyWriter().Write(p)
}

// Download writes the bytes of an answer to w as they come. A refusal of the node is a
// *fault.Denied; an answer that breaks off is an error.
func (c *Client) Download(ctx context.Context, method, path string, w io.Writer) error {
	res, err := c.do(ctx, method, path, "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := refusedBy(res); err != nil {
		return err
	}
	_, err = io.Copy(w, res.Body)
	return err
}
