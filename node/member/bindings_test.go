package member

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation"
)

func TestDialable(t *testing.T) {
	host := func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::1")}
	}
	none := func() []netip.Addr { return nil }
	cases := []struct {
		name   string
		listen []string
		host   func() []netip.Addr
		want   []string
	}{
		{"a plain address stays", []string{"/ip4/127.0.0.1/tcp/8601"}, host, []string{"/ip4/127.0.0.1/tcp/8601"}},
		{"a name stays", []string{"/dns4/node.acme.example/udp/8421/quic-v1"}, host, []string{"/dns4/node.acme.example/udp/8421/quic-v1"}},
		{"a wildcard becomes the host's addresses", []string{"/ip4/0.0.0.0/tcp/8421", "/ip4/0.0.0.0/udp/8421/quic-v1"}, host,
			[]string{"/ip4/10.1.2.3/tcp/8421", "/ip4/192.0.2.7/tcp/8421", "/ip4/10.1.2.3/udp/8421/quic-v1", "/ip4/192.0.2.7/udp/8421/quic-v1"}},
		{"of its own family", []string{"/ip6/::/tcp/8421"}, host, []string{"/ip6/2001:db8::1/tcp/8421"}},
		{"or is left out", []string{"/ip4/0.0.0.0/tcp/8421"}, none, []string{}},
		{"a port that is chosen later is left out", []string{"/ip4/127.0.0.1/tcp/0"}, host, []string{}},
		{"each once", []string{"/ip4/127.0.0.1/tcp/1", "/ip4/127.0.0.1/tcp/1"}, host, []string{"/ip4/127.0.0.1/tcp/1"}},
		{"what is no address is left out", []string{"", "tcp/1", "/ip4/127.0.0.1", "/ip4/127.0.0.1/tcp/1/"}, host, []string{}},
	}
	for _, c := range cases {
		if got := dialable(c.listen, c.host); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOwnBindingIsRenewed(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	serial := func() uint64 {
		e, ok := acme.OwnBinding()
		b, err := envelope.Decode[federation.Binding](e)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return b.Serial
	}
	first := serial()
	steps := []struct {
		name string
		do   func() error
		want uint64
	}{
		{"not while it is young", func() error { return acme.Renew(ctx, clock.Now()) }, first},
		{"not for the same addresses", func() error { return acme.Relisten(ctx, []string{"/ip4/127.0.0.1/tcp/8601"}) }, first},
		{"for other addresses", func() error { return acme.Relisten(ctx, []string{"/ip4/127.0.0.1/tcp/9999"}) }, first + 1},
		{"when a third of its life is left", func() error {
			clock.turn(60 * 24 * time.Hour)
			return acme.Renew(ctx, clock.Now())
		}, first + 2},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got := serial(); got != s.want {
			t.Errorf("%s: serial %d, want %d", s.name, got, s.want)
		}
	}
	e, _ := acme.OwnBinding()
	if fresh, err := vendor.OfferBinding(ctx, e); err != nil || !fresh {
		t.Errorf("vendor: %v, %v", fresh, err)
	}
	if fresh, err := vendor.OfferBinding(ctx, e); err != nil || fresh {
		t.Errorf("again: %v, %v", fresh, err)
	}
	p := vendor.Member.Peers(clock.Now())
	if i := slices.IndexFunc(p, func(p federation.Peer) bool { return p.Org == acme.did }); i < 0 || p[i].Addrs[0] != "/ip4/127.0.0.1/tcp/9999" {
		t.Errorf("peers are %v", p)
	}
	clock.turn(91 * 24 * time.Hour)
	if p := vendor.Member.Peers(clock.Now()); len(p) != 0 {
		t.Errorf("past their end: %v", p)
	}
}

func TestBindingsThatAreRefused(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	e, _ := vendor.OwnBinding()
	body, err := envelope.Decode[federation.Binding](e)
	if err != nil {
		t.Fatal(err)
	}
	issuer, _, err := vendor.node.Signers.Issuer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	with := func(org, node envelope.Signer, change func(*federation.Binding)) envelope.Envelope {
		b := body
		b.Serial = 9
		b.PeerID, _ = federation.PeerIDOf(node.Public())
		change(&b)
		e, err := federation.SealBinding(ctx, b, org, node)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	same := func(*federation.Binding) {}
	thief := key(t, acme.keys)
	cases := []struct {
		name string
		e    envelope.Envelope
		want error
	}{
		{"signed by another organization's key", with(thief, vendor.cfg.HostKey, same), envelope.ErrSignature},
		{"an older serial", with(issuer, vendor.cfg.HostKey, func(b *federation.Binding) { b.Serial = 1; b.Addrs = []string{} }), ErrOld},
		{"of another federation", with(issuer, vendor.cfg.HostKey, func(b *federation.Binding) { b.Federation = e.ID() }), ErrForeign},
		{"of an earlier life", with(issuer, vendor.cfg.HostKey, func(b *federation.Binding) {
			b.NotBefore, b.ExpiresAt = b.NotBefore.Add(-48*time.Hour), b.NotBefore
		}), ErrOld},
		{"of a relay", with(issuer, vendor.cfg.HostKey, func(b *federation.Binding) { b.Roles = []federation.Role{federation.RoleRelay} }), ErrOld},
	}
	for _, c := range cases {
		if fresh, err := acme.OfferBinding(ctx, c.e); fresh || !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, fresh, err, c.want)
		}
	}
	// A node that two organizations bind is linked by neither name.
	if fresh, err := acme.OfferBinding(ctx, with(issuer, acme.cfg.HostKey, same)); err != nil || !fresh {
		t.Fatalf("%v, %v", fresh, err)
	}
	for _, p := range acme.Member.Peers(clock.Now()) {
		if p.Org == vendor.did {
			t.Errorf("%v is still linked", p)
		}
	}
	// An own binding of a greater serial elsewhere: the next one goes above it.
	own, _, err := acme.node.Signers.Issuer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mine, _ := acme.OwnBinding()
	b, _ := envelope.Decode[federation.Binding](mine)
	b.Serial = 70
	shown, err := federation.SealBinding(ctx, b, own, acme.cfg.HostKey)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acme.OfferBinding(ctx, shown); err != nil {
		t.Fatal(err)
	}
	if err := acme.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	next, _ := acme.OwnBinding()
	if b, _ := envelope.Decode[federation.Binding](next); b.Serial != 71 {
		t.Errorf("serial %d after 70 was shown", b.Serial)
	}
}
