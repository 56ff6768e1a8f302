package member

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"trustnode/federation"
)

// dialable turns the addresses a node listens on into those another can dial: a wildcard
// becomes the addresses of this host, and what nobody could dial (no port, no address) is
// left out. At most maxAddrs, in the order given, each once.
func dialable(listen []string, host func() []netip.Addr) []string {
	out := []string{}
	for _, a := range listen {
		for _, d := range expand(strings.Split(a, "/"), host) {
			if len(d) <= federation.MaxAddr && len(out) < maxAddrs && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// expand gives the dialable spellings of one multiaddr, split at its slashes.
func expand(parts []string, host func() []netip.Addr) []string {
	if len(parts) < 5 || parts[0] != "" || slices.Contains(parts[1:], "") || parts[4] == "0" || slices.Contains(parts, "p2p") {
		return nil
	}
	wild := parts[1] == "ip4" && parts[2] == "0.0.0.0" || parts[1] == "ip6" && parts[2] == "::"
	if !wild {
		return []string{strings.Join(parts, "/")}
	}
	var out []string
	for _, ip := range host() {
		if ip.Is4() == (parts[1] == "ip4") {
			out = append(out, strings.Join(append([]string{"", parts[1], ip.String()}, parts[3:]...), "/"))
		}
	}
	return out
}

// hostAddrs lists the addresses of this host that another host may reach, IPv4 first.
func hostAddrs() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		if ip := p.Addr().Unmap(); ip.IsGlobalUnicast() && ip.Zone() == "" {
			out = append(out, ip)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}
