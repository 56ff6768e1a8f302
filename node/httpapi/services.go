package httpapi

import (
	"context"
	"io"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/client"
	"trustnode/node/lender"
	"trustnode/node/member"
	"trustnode/node/oracle"
	"trustnode/node/party"
	"trustnode/node/recorder"
	"trustnode/node/resolver"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Services are the use cases behind the routes.
type Services struct {
	Node   *self.Node
	Events *store.Events
	Member *member.Member
	Lender *lender.Lender
	Client *client.Client
	Party  *party.Party
	Oracle *oracle.Oracle
	// Resolver answers for DIDs, and for what is hosted of the own one.
	Resolver *resolver.Resolver
	Info     func() Info   // what the process itself knows
	Counts   func() Counts // what it counts; nil: nothing
	Custody  Custody
	// PublicEvents opens events and logs to anyone; bodies for named readers stay closed.
	PublicEvents bool
	Doctor       func(ctx context.Context) []Check
	// Backup streams a backup of the running node; nil where none runs.
	Backup func(ctx context.Context, w io.Writer, with BackupWith) error
	// Erase erases something private of the own organization; waits says that it is durable
	// and the log has not taken it yet.
	Erase func(ctx context.Context, id envelope.ID) (e recorder.Erased, waits bool, err error)
	// Repair makes the logs held here what their signed roots say, with what peers give.
	Repair func(ctx context.Context) ([]store.Repaired, error)
	// Stopping is closed when the node begins to stop: who waits for a state is answered. Nil: never.
	Stopping <-chan struct{}
}

// Info is what the process knows of itself and its links.
type Info struct {
	HTTP    string
	Version string
	P2P     []string         // addresses with the peer id; none while the node does not run
	Linked  map[did.DID]bool // by organization
}
