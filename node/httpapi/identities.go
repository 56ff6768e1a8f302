package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/node/fault"
)

func (s *server) identities(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/identities/{did}", "didShow", "An organization's identity as verified here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			DID string `path:"did" maxLength:"2048" doc:"a DID, or self"`
		}) (*struct{ Body Identity }, error) {
			out, err := s.identity(ctx, in.DID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Identity }{out}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/identities/rotate", "didRotate", "Replace this organization's issuer key", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Identity }, error) {
			if _, err := s.Rotate(ctx); err != nil {
				return nil, s.refuse(err)
			}
			out, err := s.identity(ctx, selfWord)
			return &struct{ Body Identity }{out}, s.refuse(err)
		})
	})
}

// selfWord names the own organization where a DID is asked for.
const selfWord = "self"

func (s *server) identity(ctx context.Context, who string) (Identity, error) {
	d := s.Node.Org
	if who != selfWord {
		parsed, err := did.Parse(who)
		if err != nil {
			return Identity{}, fault.Wrap(fault.Invalid, "did", err)
		}
		d = parsed
	}
	v, err := s.Node.Ring.Head(ctx, d)
	if err != nil {
		return Identity{}, fault.New(fault.NotFound, "", "%s is not held here", d).WithHint("a member's identity comes with the charter, or by sync")
	}
	out := Identity{ID: v.ID, DID: d.String(), State: v.State.String(), Version: v.ID, Fingerprint: keyring.Fingerprint(d, v.ID), Keys: []string{}}
	if !v.VerifiedAt.IsZero() {
		out.VerifiedAt = stamp(v.VerifiedAt)
	}
	keys, err := s.Node.Ring.At(d, v.ID)
	if err != nil {
		return out, nil // frozen: it has a head and no keys that count
	}
	for _, k := range keys {
		out.Keys = append(out.Keys, k.Multikey())
	}
	return out, nil
}
