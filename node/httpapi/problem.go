package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did/keyring"
	"trustnode/node/fault"
)

// problem is a refusal as huma sends it.
type problem struct{ fault.Problem }

// Error implements error.
func (p *problem) Error() string { return p.Title }

// GetStatus implements huma.StatusError.
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *problem) ContentType(string) string { return "application/problem+json" }

// MarshalJSON writes the problem object alone.
func (p *problem) MarshalJSON() ([]byte, error) { return json.Marshal(p.Problem) }

// refuse turns an error of a use case into what the caller may see of it.
func (s *server) refuse(err error) error {
	if err == nil {
		return nil
	}
	p := &problem{fault.ProblemOf(err)}
	var below *keyring.Below
	if errors.As(err, &below) && s.Info != nil && len(s.Info().P2P) > 0 {
		p.Hint = "this node fetches it from peers, as soon as one is in reach; or restore a newer backup"
	}
	if p.Code == fault.Internal {
		s.log.Error("request failed", "err", err)
	}
	return p
}

func init() {
	// What huma itself refuses (a body that does not fit, a missing parameter) has the
	// same form as every other refusal.
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return &problem{fault.ProblemOf(ofStatus(status, msg, errs))}
	}
}

func ofStatus(status int, msg string, errs []error) *fault.Denied {
	parts := []string{}
	if msg != "" {
		parts = append(parts, msg)
	}
	for _, err := range errs {
		var own *problem
		if errors.As(err, &own) {
			continue
		}
		if err != nil {
			parts = append(parts, withoutValue(err))
		}
	}
	text := strings.Join(parts, ": ")
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return fault.New(fault.TooLarge, "body", "%s", text)
	case status == http.StatusNotFound:
		return fault.New(fault.NotFound, "", "%s", text)
	case status >= 500:
		return fault.New(fault.Internal, "", "%s", text)
	}
	return fault.New(fault.Invalid, "form", "%s", text)
}

// withoutValue says what is wrong with a body, and where, but not what stands there: it may
// be a passphrase.
func withoutValue(err error) string {
	var d *huma.ErrorDetail
	switch {
	case !errors.As(err, &d):
		return err.Error()
	case d.Location == "":
		return d.Message
	}
	return d.Message + " (" + d.Location + ")"
}

// writeProblem sends a refusal from a middleware or a stream.
func writeProblem(_ huma.API, ctx huma.Context, err error) {
	p := fault.ProblemOf(err)
	b, merr := json.Marshal(p)
	if merr != nil {
		ctx.SetStatus(http.StatusInternalServerError)
		return
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(p.Status)
	_, _ = ctx.BodyWriter().Write(b)
}
