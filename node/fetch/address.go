package fetch

import (
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// AddressError says that a connection to Addr was refused before a packet left, and to which kind of network that
// address belongs.
type AddressError struct {
	Addr netip.Addr
	Kind string // "loopback", "private", …
}

// Error names the address and its kind.
func (e *AddressError) Error() string {
	return fmt.Sprintf("address %s is %s", e.Addr, e.Kind)
}

// block is a range of addresses that are not dialed, and what they are for.
type block struct {
	prefix netip.Prefix
	kind   string
}

// blocks4 are the IPv4 ranges that are not public unicast: IANA IPv4 Special-Purpose Address Registry (RFC 6890),
// multicast (RFC 5771) and what is reserved.
var blocks4 = blocksOf(
	"0.0.0.0/8", "unspecified",
	"10.0.0.0/8", "private",
	"100.64.0.0/10", "shared by a carrier's customers", // RFC 6598
	"127.0.0.0/8", "loopback",
	"169.254.0.0/16", "link-local", // metadata services of clouds, too
	"172.16.0.0/12", "private",
	"192.0.0.0/24", "for protocol assignments",
	"192.0.2.0/24", "for documentation",
	"192.88.99.0/24", "a 6to4 relay",
	"192.168.0.0/16", "private",
	"198.18.0.0/15", "for benchmarks",
	"198.51.100.0/24", "for documentation",
	"203.0.113.0/24", "for documentation",
	"224.0.0.0/4", "multicast",
	"240.0.0.0/4", "reserved", // and limited broadcast
)

// blocks6 are the IPv6 ranges that are not public unicast: IANA IPv6 Special-Purpose Address Registry. Addresses that
// carry an IPv4 address within are refused whatever it is: a translator near this node could lead to its own network.
var blocks6 = blocksOf(
	"::/128", "unspecified",
	"::1/128", "loopback",
	"::ffff:0:0/96", "IPv4-mapped",
	"::/96", "IPv4-compatible",
	"64:ff9b::/96", "translated to IPv4", // RFC 6052
	"64:ff9b:1::/48", "translated to IPv4", // RFC 8215
	"100::/64", "discarded",
	"2001::/23", "for protocol assignments", // Teredo, ORCHID, benchmarks
	"2001:db8::/32", "for documentation",
	"2002::/16", "6to4",
	"3fff::/20", "for documentation", // RFC 9637
	"fc00::/7", "private",
	"fe80::/10", "link-local",
	"fec0::/10", "site-local",
	"ff00::/8", "multicast",
)

// global6 is all that is assigned as global unicast so far; whatever else there is, is refused.
var global6 = netip.MustParsePrefix("2000::/3")

// blocksOf pairs prefixes with kinds. ParsePrefix does not take ::ffff:0:0/96 apart, so it stays an IPv6 prefix.
func blocksOf(pairs ...string) []block {
	var out []block
	for p := range slices.Chunk(pairs, 2) {
		out = append(out, block{netip.MustParsePrefix(p[0]), p[1]})
	}
	return out
}

// kindOf returns why an address is not public, "" if it is.
func kindOf(a netip.Addr) string {
	a = a.WithZone("")
	blocks := blocks6
	if a.Is4() {
		blocks = blocks4
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.kind
		}
	}
	if a.Is4() || global6.Contains(a) {
		return ""
	}
	return "not global unicast"
}

// guard decides which addresses may be connected to.
type guard struct {
	allow             []netip.Prefix
	testingOnlyJudged func(address string)
}

// control is net.Dialer.Control: it is called for each address that is about to be connected to, after all names are
// looked up, and its error keeps the socket from being connected.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	if g.testingOnlyJudged != nil {
		g.testingOnlyJudged(address)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &AddressError{Kind: "unreadable"}
	}
	return g.judge(to.Addr())
}

func (g guard) judge(a netip.Addr) error {
	for _, p := range g.allow {
		if p.Contains(a.WithZone("")) {
			return nil
		}
	}
	if kind := kindOf(a); kind != "" {
		return &AddressError{a, kind}
	}
	return nil
}
