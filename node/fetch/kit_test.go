package fetch

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"trustnode/did"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// dns answers names from a table. Whoever asks for "acme.example" gets its addresses; what is not there does not exist.
type dns struct {
	mu      sync.Mutex
	names   map[string][]string
	queries []string
}

func (d *dns) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go d.serve(ours)
		return theirs, nil
	}}
}

// serve speaks DNS over a stream (RFC 1035, section 4.2.2).
func (d *dns) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		raw := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, raw); err != nil {
			return
		}
		b := d.answer(raw)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)); err != nil {
			return
		}
	}
}

func (d *dns) answer(raw []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		panic(err)
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	d.mu.Lock()
	d.queries = append(d.queries, name)
	addrs, ok := d.names[name]
	d.mu.Unlock()
	m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true}, Questions: m.Questions}
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addrs {
		a := netip.MustParseAddr(text)
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

func (d *dns) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.queries)
}

// listener counts the connections that reach a server, and those that are open.
type listener struct {
	net.Listener
	accepted, open atomic.Int64
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
		l.open.Add(1)
		c = &counted{Conn: c, open: &l.open}
	}
	return c, err
}

type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// world is one https server that is "example.com" and every "*.example.com", and a Fetcher that finds it.
type world struct {
	t      testing.TB
	server *httptest.Server
	lis    *listener
	dns    *dns
	config Config
	judged atomic.Int64 // addresses that were about to be connected to
}

func newWorld(t testing.TB, h http.Handler) *world {
	t.Helper()
	return newWorldTLS(t, h, nil)
}

func newWorldTLS(t testing.TB, h http.Handler, config *tls.Config) *world {
	t.Helper()
	w := &world{t: t, dns: &dns{names: map[string][]string{
		"example.com": {"127.0.0.1"}, "a.example.com": {"127.0.0.1"}, "b.example.com": {"127.0.0.1"}}}}
	w.server = httptest.NewUnstartedServer(h)
	w.server.TLS = config
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.lis = &listener{Listener: w.server.Listener}
	w.server.Listener = w.lis
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	w.config = Config{AllowCIDRs: loopback, RootCAs: roots, testingOnlyResolver: w.dns.resolver(),
		testingOnlyJudged: func(string) { w.judged.Add(1) }}
	return w
}

// did is the server's DID of a method: did:web:HOST%3APORT:PATH.
func (w *world) did(host string, path ...string) did.DID {
	_, port, err := net.SplitHostPort(w.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	return did.MustParse(strings.Join(append([]string{"did:web:" + host + "%3A" + port}, path...), ":"))
}

const scid = "QmSnXeGYiUPY1GkwbQPoZtsi3g91RG13UXPqqZV64m6W49"

func webvh(d did.DID) did.DID { return did.MustParse("did:webvh:" + scid + ":" + d.ID()) }

func (w *world) fetcher() *Fetcher { return New(w.config) }

// quick is a Fetcher that gives up early.
func (w *world) quick() *Fetcher {
	w.config.testingOnlyBudget = 300 * time.Millisecond
	return New(w.config)
}

func document(d string) []byte {
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x11}, 32))
	k, err := did.NewEd25519(priv.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"id":"%s","verificationMethod":[{"id":"%s#a","type":"Multikey","controller":"%s","publicKeyMultibase":"%s"}],"assertionMethod":["#a"]}`, d, d, d, k)
}

// says is a handler with one answer.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}
