package casefile

import (
	"bytes"
	"context"
	"errors"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/interop"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/charter"
)

var errTrap = errors.New("the network was asked")

// trap puts a network in place that answers nothing and counts what it is asked.
type trap struct{ asked atomic.Int64 }

func setTrap(t *testing.T) *trap {
	tr := &trap{}
	resolver, transport := net.DefaultResolver, http.DefaultTransport
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		tr.asked.Add(1)
		return nil, errTrap
	}}
	http.DefaultTransport = tr
	t.Cleanup(func() { net.DefaultResolver, http.DefaultTransport = resolver, transport })
	return tr
}

func (tr *trap) RoundTrip(*http.Request) (*http.Response, error) {
	tr.asked.Add(1)
	return nil, errTrap
}

// TestI2NoVerifyPathAsksTheNetwork (identity I-2) runs every path that verifies, with what
// verifies and with what does not, over a network that fails the test when it is asked.
func TestI2NoVerifyPathAsksTheNetwork(t *testing.T) {
	tr := setTrap(t)
	// The trap works, or the rest shows nothing.
	_, get := http.Get("http://acme.example/.well-known/did.jsonl")
	_, lookup := net.DefaultResolver.LookupHost(t.Context(), "acme.example")
	if n := tr.asked.Load(); get == nil || lookup == nil || n < 2 {
		t.Fatalf("asked %d times, %v, %v", n, get, lookup)
	}
	w := story(t)
	p := &paths{t: t, trap: tr, w: w, now: w.now.Add(time.Minute)}
	p.ring = keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return p.now })
	p.identities()
	p.keys()
	p.objects()
	p.files()
}

// paths runs what verifies.
type paths struct {
	t    *testing.T
	trap *trap
	w    *world
	now  time.Time
	ring *keyring.Ring
}

// quiet runs one path, which must come to its verdict alone.
func (p *paths) quiet(what string, f func() error, refused bool) {
	p.t.Helper()
	before := p.trap.asked.Load()
	err := f()
	if n := p.trap.asked.Load() - before; n != 0 {
		p.t.Errorf("%s: the network was asked %d times", what, n)
	}
	if (err != nil) != refused || errors.Is(err, errTrap) {
		p.t.Errorf("%s: %v", what, err)
	}
}

func (p *paths) both(what string, good, bad func() error) {
	p.t.Helper()
	p.quiet(what, good, false)
	p.quiet(what+", spoiled", bad, true)
}

func spoil(b []byte) []byte {
	c := bytes.Clone(b)
	c[len(c)/2] ^= 1
	return c
}

// site is a did:web document with acme's key.
func (p *paths) site() (did.DID, []byte) {
	d := did.MustParse("did:web:beta.example")
	return d, []byte(`{"id":"did:web:beta.example","verificationMethod":[{"id":"#k","type":"Multikey","controller":"did:web:beta.example","publicKeyMultibase":"` +
		p.w.acme.kid() + `"}],"assertionMethod":["#k"]}`)
}

func (p *paths) identities() {
	log := func(b []byte) func() error {
		return func() error { _, err := didwebvh.Verify(b, nil, p.now); return err }
	}
	p.both("a DID log", log(p.w.acme.didLog), log(spoil(p.w.acme.didLog)))
	registry := interop.New(didkey.Resolver{}, didwebvh.Resolver{}, didweb.Resolver{})
	resolve := func(d string, m did.Material) func() error {
		return func() error { _, err := registry.Resolve(p.t.Context(), d, m, did.Options{Now: p.now}); return err }
	}
	acme := p.w.acme.did.String()
	web, site := p.site()
	p.both("resolving did:webvh", resolve(acme, did.Material{Log: p.w.acme.didLog}), resolve(acme, did.Material{}))
	p.both("resolving did:web", resolve(web.String(), did.Material{Log: site}), resolve(web.String(), did.Material{}))
	p.both("resolving did:key", resolve(p.w.quant.did.String(), did.Material{}), resolve("did:key:z6Mk", did.Material{}))
}

func (p *paths) keys() {
	ctx := p.t.Context()
	offer := func(o *org, b []byte) func() error {
		return func() error { _, err := p.ring.Offer(ctx, o.did, b, nil); return err }
	}
	p.both("offering a DID log", offer(p.w.acme, p.w.acme.didLog), offer(p.w.vendor, spoil(p.w.vendor.didLog)))
	web, site := p.site()
	p.quiet("offering a did:web", func() error { _, err := p.ring.OfferWeb(ctx, web, site, "join", p.now, ""); return err }, false)
	key := func(src envelope.KeySource, d did.DID, kid string) func() error {
		return func() error { _, err := src.Key(ctx, d, kid); return err }
	}
	for what, src := range map[string]envelope.KeySource{"at the head": p.ring.HeadSource(), "at a version": p.ring.AtSource(p.w.acme.version)} {
		p.both("a key "+what, key(src, p.w.acme.did, p.w.acme.kid()), key(src, p.w.acme.did, "key-1"))
		p.quiet("a key of who is not held, "+what, key(src, p.w.arbiter.did, p.w.arbiter.kid()), true)
	}
	p.both("a key of a did:web", key(p.ring.HeadSource(), web, "k"), key(p.ring.HeadSource(), did.MustParse("did:web:gone.example"), "k"))
}

func (p *paths) objects() {
	ctx, acme := p.t.Context(), p.w.acme
	agent := p.w.objects[p.w.research.object]
	spoiled := func(e envelope.Envelope) envelope.Envelope {
		return envelope.Envelope{Type: e.Type, Body: spoil(e.Body), Signatures: e.Signatures}
	}
	open := func(e envelope.Envelope) func() error {
		return func() error { _, err := keyring.OpenAgent(ctx, e, p.ring.HeadSource()); return err }
	}
	p.both("an agent object", open(agent), open(spoiled(agent)))

	vc := must(credential.Export(ctx, must(keyring.OpenAgent(ctx, agent, p.ring.HeadSource())), acme.key))
	check := func(raw []byte) func() error {
		return func() error {
			_, err := credential.Verify(ctx, raw, credential.Options{At: p.now, Resolve: func(ctx context.Context, d did.DID) (did.Resolution, error) {
				return didwebvh.Resolver{}.Resolve(ctx, d, did.Material{Log: acme.didLog}, did.Options{Now: p.now})
			}})
			return err
		}
	}
	p.both("a credential", check(vc), check(spoil(vc)))
	const elsewhere = `"credentialSchema":{"id":"https://acme.example/schema","type":"JsonSchema"},"credentialStatus":{"id":"https://acme.example/status","type":"BitstringStatusListEntry"},`
	p.quiet("a credential that names a schema and a status", check(bytes.Replace(vc, []byte(`"issuer":`), []byte(elsewhere+`"issuer":`), 1)), true)

	fact := acme.facts[len(acme.facts)-1]
	entry := func(e attestation.Entry) func() error {
		return func() error {
			env, _, err := e.Envelope()
			if err == nil {
				_, err = envelope.Open[attestation.Event](ctx, env, acme.keys.At(fact.Index))
			}
			return err
		}
	}
	p.both("an event", entry(acme.entries[fact.Index]), entry(spoil(acme.entries[fact.Index])))
	walk := func(e envelope.Envelope) func() error {
		return func() error { _, _, err := charter.Genesis(e, charter.NewRing(p.w.ring.Ring, nil), p.now); return err }
	}
	p.both("a charter", walk(p.w.charter[0]), walk(spoiled(p.w.charter[0])))
}

// files verifies a whole case, and it with each line spoiled: that reaches the walk along
// the charters, and everything that a file may hold.
func (p *paths) files() {
	file := p.w.build()
	whole := func(b []byte, o Options) func() error {
		return func() error {
			if r := Verify(p.t.Context(), bytes.NewReader(b), o); !r.OK {
				return errors.New(r.Broken)
			}
			return nil
		}
	}
	o := Options{Fingerprint: charter.Fingerprint(p.w.chain.Federation()), Strict: true}
	p.both("a case file", whole(file, o), whole(spoil(file), o))
	for i, l := range linesOf(file) {
		if i > 0 {
			p.quiet("a case file with line "+strconv.Itoa(i+1)+" spoiled", whole(bytes.Replace(file, l, spoil(l), 1), o), true)
		}
	}
}

// TestI2NoPackageThatVerifiesImportsTheNetwork (identity I-2): what could dial past the trap
// above is not there. did/resolution answers HTTP and asks nobody.
func TestI2NoPackageThatVerifiesImportsTheNetwork(t *testing.T) {
	files := 0
	for _, root := range []string{"did", "attestation", "mediation", "federation/charter", "federation/bundle", "federation/lending", "node/casefile"} {
		for _, pattern := range []string{"*.go", "*/*.go"} {
			names, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(root), pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "did/resolution/") {
					continue
				}
				files++
				f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
				if err != nil {
					t.Fatal(err)
				}
				for _, imp := range f.Imports {
					path, _ := strconv.Unquote(imp.Path.Value)
					if slices.Contains([]string{"net", "net/http", "net/rpc", "net/smtp", "crypto/tls", "os/exec", "syscall"}, path) {
						t.Errorf("%s imports %s", name, path)
					}
				}
			}
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}
