package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Config is what an operator may set. The zero value dials public addresses only and trusts the system's roots.
type Config struct {
	AllowCIDRs []netip.Prefix // identity.fetch_allow_cidrs: addresses dialed although they are not public
	RootCAs    *x509.CertPool // who may certify a host; nil for the system's roots

	testingOnlyResolver *net.Resolver
	testingOnlyJudged   func(address string)
	testingOnlyBudget   time.Duration
}

// budget is how long a whole Fetch may take, and a connection of it.
func (c Config) budget() time.Duration {
	if c.testingOnlyBudget > 0 {
		return c.testingOnlyBudget
	}
	return budget
}

// errPlain refuses what is not https.
var errPlain = errors.New("only https is spoken")

// HandshakeError says that a server was reached and TLS with it failed: an old version, or a certificate that is not
// valid for the host.
type HandshakeError struct{ Err error }

// Error returns the cause.
func (e *HandshakeError) Error() string { return "TLS: " + e.Err.Error() }

// Unwrap returns what crypto/tls or crypto/x509 said.
func (e *HandshakeError) Unwrap() error { return e.Err }

// NewTransport returns a transport for requests whose URL others have a say in. It speaks https only, HTTP/1.1 over TLS
// 1.2 or newer, refuses addresses that are not public unless c allows them (the error then holds an *AddressError),
// uses no proxy, keeps no connection and does not decompress. Connecting takes 5 s at most. Names with a dot are looked
// up as they are: no search domain is put behind them. A transport follows no redirect; a client that uses it must set
// http.Client.CheckRedirect if it is to follow none either, and bound the whole request by its context. Safe for
// concurrent use.
func NewTransport(c Config) *http.Transport {
	d := dialer{config: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.RootCAs, NextProtos: []string{"http/1.1"}}, limit: c.budget()}
	d.net.Control = guard{c.AllowCIDRs, c.testingOnlyJudged}.control
	d.net.KeepAlive = -1
	// The resolver written in Go stops with its context; the system's would hold a thread until it has an answer.
	if d.net.Resolver = c.testingOnlyResolver; d.net.Resolver == nil {
		d.net.Resolver = &net.Resolver{PreferGo: true}
	}
	return &http.Transport{
		Proxy:                  nil, // no environment may put a third party in between
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return nil, errPlain },
		DialTLSContext:         d.dial,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
}

type dialer struct {
	net    net.Dialer
	config *tls.Config
	limit  time.Duration
}

// dial connects to host:port and shakes hands. Its context outlives the request, which net/http lets go of a dial it no
// longer needs, so it has a limit of its own.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	raw, err := d.net.DialContext(ctx, network, net.JoinHostPort(absolute(host), port))
	if err != nil {
		return nil, err
	}
	config := d.config.Clone()
	config.ServerName = host
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &HandshakeError{err}
	}
	return conn, nil
}

// absolute ends a name with the root's dot. Without it a resolver may put the search domains of its configuration
// behind the name, and a.b would be answered from inside the network of this node. A single label has no meaning but a
// local one, in the hosts file as in a search domain, and stays as it is.
func absolute(host string) string {
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return host
	}
	return host + "."
}
