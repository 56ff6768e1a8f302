package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/resolver/resolvertest"
	"trustnode/testnet/ports"
)

// page is a https server called localhost, whose certificate a file vouches for.
type page struct {
	mu    sync.Mutex
	serve http.HandlerFunc // guarded by mu
	hits  int              // guarded by mu
	port  string
	cert  string
}

func (p *page) set(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serve = h
}

func (p *page) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

func newPage(t *testing.T) *page {
	t.Helper()
	if addrs, err := net.LookupHost("localhost"); err != nil || len(addrs) == 0 {
		t.Skip("no host is called localhost here")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{cert: filepath.Join(t.TempDir(), "ca.pem")}
	if err := os.WriteFile(p.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.hits++
		h := p.serve
		p.mu.Unlock()
		h(w, r)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	_, p.port, err = net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A did:web from the first look to changed keys, over TLS, with the program as it is.
func TestAWebDIDOverTLS(t *testing.T) {
	f := newFolk(t)
	p := newPage(t)
	run := func(want int, args ...string) answer {
		t.Helper()
		cmd := f.command(args...)
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+p.cert, "SSL_CERT_DIR=/nonexistent", "TRUSTNODE_DATA="+filepath.Join(f.dir, "acme"))
		var out, err bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &err
		_ = cmd.Run()
		a := answer{args, cmd.ProcessState.ExitCode(), out.String(), err.String()}
		if a.code != want {
			t.Fatalf("want exit %d: %s", want, a)
		}
		return a
	}
	port, err := ports.Claim(2)
	if err != nil {
		t.Fatal(err)
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port[0])
	run(exitDone, "init", "--name", "Acme", "--domain", "acme.example", "--http", listen, "--p2p", fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port[1]))
	d := did.MustParse("did:web:localhost%3A" + p.port + ":api:v1")
	doc, next := resolvertest.WebDocument(d, 1, "x"), resolvertest.WebDocument(d, 2, "x")
	says := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/did.json" {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(b)
		}
	}
	p.set(says(doc))

	// A private address is not dialed unless the operator allows it.
	if a := run(exitFailed, "did", "resolve", d.String()); !strings.Contains(a.err, "fetch_allow_cidrs") || p.count() != 0 {
		t.Errorf("a loopback address: %d requests: %s", p.count(), a)
	}
	file := filepath.Join(f.dir, "acme", "config.toml")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte("fetch_allow_cidrs = []"), []byte(`fetch_allow_cidrs = ["127.0.0.0/8", "::1/128"]`), 1), 0o600); err != nil {
		t.Fatal(err)
	}

	// The operator's look is told and forgotten.
	if a := run(exitDone, "did", "resolve", d.String()); !strings.Contains(a.out, "nothing of it is kept") || !strings.Contains(a.out, d.String()+"\n") {
		t.Errorf("%s", a)
	}
	run(exitFailed, "did", "resolve", "--offline", d.String())

	// It is pinned by his word, for the bytes he compared, and followed by his word alone.
	run(exitRefused, "did", "resolve", "--accept-head", envelope.IDOf(next).String(), "--reason", "read out by their office", d.String())
	if a := run(exitDone, "did", "resolve", "--accept-head", envelope.IDOf(doc).String(), "--reason", "read out by their office", d.String()); !strings.Contains(a.out, "is pinned as the first version") {
		t.Errorf("%s", a)
	}
	run(exitDone, "did", "resolve", "--offline", d.String())
	p.set(says(next))
	a := run(exitRefused, "did", "resolve", "--fresh", d.String())
	if !strings.Contains(a.err, "serves other keys than the pinned snapshot; not trusted") || !strings.Contains(a.err, "--accept-head "+envelope.IDOf(next).String()) || !strings.Contains(a.out, resolvertest.Key(d.String(), "web", 1).Public().Multikey()) {
		t.Errorf("%s", a)
	}
	if a = run(exitDone, "did", "resolve", "--accept-head", envelope.IDOf(next).String(), "--reason", "their key was lost", d.String()); !strings.Contains(a.out, "in place of "+envelope.IDOf(doc).String()) {
		t.Errorf("%s", a)
	}

	// B-5: a redirect to another DID's document is not followed.
	p.set(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://localhost:"+p.port+"/elsewhere/did.json", http.StatusFound)
	})
	before := p.count()
	if a = run(exitFailed, "did", "resolve", "did:web:localhost%3A"+p.port+":redirector"); !strings.Contains(a.err, "redirect") || p.count() != before+1 {
		t.Errorf("%d requests: %s", p.count()-before, a)
	}

	// While the node runs nobody without its token causes a request, and with it the operator does.
	f.start("acme")
	f.until("the node answers", func() bool {
		res, err := http.Get("http://" + listen + "/healthz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	before = p.count()
	base := "http://" + listen + "/1.0/identifiers/"
	for _, id := range []string{d.String(), "did:web:localhost%3A" + p.port + ":redirector", "did%3A" + url.PathEscape(strings.TrimPrefix(d.String(), "did:")) + "?noCache=true"} {
		res, err := http.Get(base + id)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if want := map[bool]int{true: 200, false: 404}[id == d.String()]; res.StatusCode != want && res.StatusCode != 501 {
			t.Errorf("%s: %d", id, res.StatusCode)
		}
	}
	if p.count() != before {
		t.Errorf("strangers caused %d requests", p.count()-before)
	}
	p.set(says(next))
	if a = run(exitDone, "did", "resolve", d.String()); !strings.Contains(a.out, resolvertest.Key(d.String(), "web", 2).Public().Multikey()) {
		t.Errorf("%s", a)
	}
	if code, _ := f.stop("acme"); code != 0 {
		t.Errorf("the node ended with %d", code)
	}
}
