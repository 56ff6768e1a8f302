package daemon

import (
	"net/http"

	"trustnode/node/mcp"
)

// withMCP puts the endpoint of agents' tools beside the API, whose paths stay as they are.
func withMCP(api, tools http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mcp.Path {
			tools.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
