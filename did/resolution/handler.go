package resolution

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// Endpoint is where Handler is mounted; what follows it in the path is the DID or DID URL.
const Endpoint = "/1.0/identifiers/"

// Handler serves the GET binding of DID Resolution 1.0, section 12.1, at Endpoint, or at / once that was stripped. HEAD is
// answered as GET without the body, any other method with 405. A refusal is never to be stored; how long a document may be
// is left to the caller, who sets Cache-Control before. A Service without Resolve or Now is a mistake of the program: it
// panics.
func Handler(s Service) http.Handler {
	if s.Resolve == nil || s.Now == nil {
		panic("resolution: Service lacks Resolve or Now")
	}
	return handler{s}
}

type handler struct{ service Service }

// ServeHTTP answers one request.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	a := h.service.Get(ctx, identifier(r), r.URL.RawQuery, strings.Join(r.Header.Values("Accept"), ","))
	header := w.Header()
	header.Set("Content-Type", a.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(a.Body)))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept")
	if a.Err != nil {
		header.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(a.Status)
	if r.Method == http.MethodGet {
		w.Write(a.Body)
	}
}

// identifier is the DID or DID URL as it was sent. A path that was decoded, as r.URL.Path is, would make another DID of
// did:web:host%3A8080.
func identifier(r *http.Request) string {
	path := r.URL.EscapedPath()
	if id, ok := strings.CutPrefix(path, Endpoint); ok {
		return id
	}
	return strings.TrimPrefix(path, "/")
}
