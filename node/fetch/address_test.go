package fetch

import (
	"errors"
	"net/netip"
	"testing"
)

func TestAddressesThatAreNotDialed(t *testing.T) {
	for addr, kind := range map[string]string{
		"0.0.0.0":                   "unspecified",
		"0.1.2.3":                   "unspecified",
		"10.0.0.1":                  "private",
		"100.64.0.1":                "shared by a carrier's customers",
		"100.127.255.255":           "shared by a carrier's customers",
		"127.0.0.1":                 "loopback",
		"127.255.255.254":           "loopback",
		"169.254.169.254":           "link-local",
		"172.16.0.1":                "private",
		"172.31.255.255":            "private",
		"192.0.0.8":                 "for protocol assignments",
		"192.0.2.1":                 "for documentation",
		"192.88.99.1":               "a 6to4 relay",
		"192.168.1.1":               "private",
		"198.18.0.1":                "for benchmarks",
		"198.19.255.255":            "for benchmarks",
		"198.51.100.7":              "for documentation",
		"203.0.113.7":               "for documentation",
		"224.0.0.1":                 "multicast",
		"239.255.255.250":           "multicast",
		"240.0.0.1":                 "reserved",
		"255.255.255.255":           "reserved",
		"::":                        "unspecified",
		"::1":                       "loopback",
		"::127.0.0.1":               "IPv4-compatible",
		"::ffff:127.0.0.1":          "IPv4-mapped",
		"::ffff:93.184.216.34":      "IPv4-mapped",
		"64:ff9b::7f00:1":           "translated to IPv4",
		"64:ff9b::5db8:d822":        "translated to IPv4",
		"64:ff9b:1::1":              "translated to IPv4",
		"100::1":                    "discarded",
		"2001::1":                   "for protocol assignments",
		"2001:20::1":                "for protocol assignments",
		"2001:db8::1":               "for documentation",
		"2002:7f00:1::1":            "6to4",
		"3fff::1":                   "for documentation",
		"fc00::1":                   "private",
		"fd12:3456::1":              "private",
		"fe80::1":                   "link-local",
		"fe80::1%lo":                "link-local",
		"febf::1":                   "link-local",
		"fec0::1":                   "site-local",
		"ff02::1":                   "multicast",
		"ff0e::1%eth0":              "multicast",
		"4000::1":                   "not global unicast",
		"5f00::1":                   "not global unicast",
		"::fffe:1.2.3.4":            "not global unicast",
		"0:0:0:0:ffff:0:7f00:1":     "not global unicast", // IPv4-translated, RFC 2765
		"fe80::5efe:127.0.0.1":      "link-local",         // ISATAP
		"2001:0:4136:e378::1":       "for protocol assignments",
		"fdff:ffff:ffff:ffff::ffff": "private",
	} {
		err := guard{}.control("tcp", netip.AddrPortFrom(netip.MustParseAddr(addr), 443).String(), nil)
		var refused *AddressError
		if !errors.As(err, &refused) || refused.Kind != kind {
			t.Errorf("%s: got %v, want %q", addr, err, kind)
		}
	}
}

func TestPublicAddressesAreDialed(t *testing.T) {
	for _, addr := range []string{"1.1.1.1", "93.184.216.34", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "2001:200::1", "2001:4860:4860::8888", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "3ffe::1"} {
		if err := (guard{}).judge(netip.MustParseAddr(addr)); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestAllowedNetworks(t *testing.T) {
	g := guard{allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"), netip.MustParsePrefix("64:ff9b::/96")}}
	for addr, allowed := range map[string]bool{
		"10.1.2.3":         true,
		"10.2.0.1":         false,
		"127.0.0.1":        false,
		"fd00:1::5":        true,
		"fd00:2::5":        false,
		"64:ff9b::101:101": true,
		"::ffff:10.1.2.3":  false, // an IPv4 range does not open its mapped twin
	} {
		if err := g.judge(netip.MustParseAddr(addr)); (err == nil) != allowed {
			t.Errorf("%s: got %v, want allowed %v", addr, err, allowed)
		}
	}
	if err := g.control("tcp", "10.1.2.3", nil); err == nil {
		t.Error("an address without a port is let through")
	}
}

// FuzzControl asks that no text makes the guard panic, and that what it lets through is public.
func FuzzControl(f *testing.F) {
	for _, s := range []string{"1.1.1.1:443", "[::1]:443", "[fe80::1%lo]:443", "127.0.0.1:0", "[::ffff:1.2.3.4]:1", "x", "", "[2001:4860::1]:65536"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if (guard{}).control("tcp", s, nil) != nil {
			return
		}
		a := netip.MustParseAddrPort(s).Addr()
		if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is4In6() {
			t.Fatalf("%s is let through", s)
		}
	})
}
