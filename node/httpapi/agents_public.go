package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"trustnode/node/fault"
	"trustnode/node/self"
)

// Media types of an agent's credential.
const (
	typeVC   = "application/vc"
	typeDSSE = "application/vnd.dsse+json"
)

// maxAccept is the longest Accept header that is looked at, in bytes.
const maxAccept = 1024

// agentFile hosts what anyone may know of an own agent.
func (s *server) agentFile(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("file") {
	case "credential":
		s.credential(w, r)
	case "did.json", "did.jsonl":
		problemOf(w, 0, fault.New(fault.NotFound, "method", "no agent of this organization has a DID that lives here: each is the did:key that its agent object names").
			WithHint("/agents/%s/credential names it", r.PathValue("name")))
	default:
		noRoute(w, r)
	}
}

// credential answers with the signed object, or the Verifiable Credential made of it: the
// bytes of the day it was issued.
func (s *server) credential(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	kind, err := accepted(r.Header.Values("Accept"))
	if err != nil {
		problemOf(w, notAcceptable(err), err)
		return
	}
	c, err := s.Member.Credential(r.Context(), r.PathValue("name"))
	body := c.VC
	if kind == typeDSSE {
		body = c.DSSE
	}
	switch {
	case errors.Is(err, self.ErrNoAgent), err == nil && (c.State == self.AgentEnded || c.State == self.AgentNotYet):
		problemOf(w, 0, fault.New(fault.NotFound, "agent", "no live agent of this organization has that name"))
	case err != nil:
		problemOf(w, 0, s.refuse(err))
	case c.State == self.AgentRevoked:
		problemOf(w, http.StatusGone, fault.New(fault.Revoked, "agent_ended", "the agent was revoked").WithHint("its organization's log says when"))
	case body == nil:
		problemOf(w, 0, fault.New(fault.NotFound, "credential", "this agent has no Verifiable Credential").WithHint("its signed object is served as %s", typeDSSE))
	default:
		serveTagged(w, r, kind, c.ID.String(), body)
	}
}

// serveTagged answers with a body under its tag, or that it did not change.
func serveTagged(w http.ResponseWriter, r *http.Request, kind, tag string, body []byte) {
	tag = `"` + tag + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache") // kept, and asked for again each time: it may be revoked by now
	for _, had := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(had), "W/") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body)
}

// errNotServed says that nothing of what a caller accepts is served.
var errNotServed = errors.New("neither " + typeVC + " nor " + typeDSSE + " is accepted")

func notAcceptable(err error) int {
	if errors.Is(err, errNotServed) {
		return http.StatusNotAcceptable
	}
	return 0
}

// accepted picks the media type by RFC 9110, section 12.5.1; without a wish it is the
// Verifiable Credential.
func accepted(headers []string) (string, error) {
	text := strings.Join(headers, ",")
	if len(text) > maxAccept || strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return "", fault.New(fault.Invalid, "accept", "the Accept header is not at most %d bytes of ASCII", maxAccept)
	}
	if strings.TrimSpace(text) == "" {
		return typeVC, nil
	}
	best, most := "", 0.0
	for _, part := range strings.Split(text, ",") {
		kind, params, _ := strings.Cut(part, ";")
		served, ok := map[string]string{"*/*": typeVC, "application/*": typeVC, typeVC: typeVC, typeDSSE: typeDSSE}[strings.ToLower(strings.TrimSpace(kind))]
		if q := quality(params); ok && q > most {
			best, most = served, q
		}
	}
	if best == "" {
		return "", fault.Wrap(fault.Invalid, "accept", errNotServed)
	}
	return best, nil
}

// quality is the weight among a media range's parameters, 1 without one.
func quality(params string) float64 {
	for _, p := range strings.Split(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}

// problemOf sends a refusal; status overrides its code's, where not 0.
func problemOf(w http.ResponseWriter, status int, err error) {
	p := fault.ProblemOf(err)
	var own *problem
	if errors.As(err, &own) {
		p = own.Problem
	}
	if status != 0 {
		p.Status, p.Title = status, http.StatusText(status)
	}
	b, merr := json.Marshal(p)
	if merr != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(b)
}

// expiring is the gauge of own agents that end soon, -1 while it cannot be told.
func (s *server) expiring() float64 {
	list, err := s.Member.Expiring(context.Background(), time.Now())
	if err != nil {
		return -1
	}
	return float64(len(list))
}
