package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/didjwk"
	"trustnode/did/didkey"
	"trustnode/did/didpeer"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/scripts/benchtest"
)

// largest is the size of input that I-11 of the identity specification speaks of, in bytes.
const largest = 64 << 10

// perKiB is the time I-11 allows for each KiB of input.
const perKiB = time.Millisecond

// parser reads foreign bytes and says nothing about them.
type parser struct {
	name string
	read func([]byte)
}

func parsers(t testing.TB) []parser {
	want := did.MustParse("did:web:acme.example")
	line := firstLine(t)
	h, err := didwebvh.Verify(line, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return []parser{
		{"DecodeKey", func(b []byte) { _, _ = did.DecodeKey(string(b)) }},
		{"Multikey", func(b []byte) { _, _ = did.DecodeMultikey(string(b)) }},
		{"JWK", func(b []byte) { _, _ = did.DecodeJWK(b) }},
		{"DID", func(b []byte) { _, _ = did.Parse(string(b)) }},
		{"DID URL", func(b []byte) { _, _ = did.ParseURL(string(b)) }},
		{"document", func(b []byte) { _, _ = did.ParseDocument(b, want) }},
		{"DIDs that are their document", resolveAny},
		{"log line", func(b []byte) { _, _ = h.Check(b, now) }},
		{"log", func(b []byte) { _, _ = didwebvh.Verify(b, b, now) }},
		{"witness file", func(b []byte) { _, _ = h.Extend(line, b, now) }},
		{"bundle", readBundle},
		{"bundle line", func(b []byte) { _, _ = bundle.ParseLine(b) }},
		{"agent object", func(b []byte) { openAgent(b) }},
		{"pins", pinsFile(t)},
	}
}

func firstLine(t testing.TB) []byte {
	_, line, err := didwebvh.Create(context.Background(), didwebvh.CreateRequest{Domain: "acme.example", Update: envelopetest.Repeat(1),
		Next: envelopetest.Repeat(2).Public(), Recovery: envelopetest.Repeat(3).Public(), Issuer: issuer.Public(), At: now})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func resolveAny(b []byte) {
	d, err := did.Parse(string(b))
	if err != nil {
		return
	}
	for _, r := range []did.Resolver{didkey.Resolver{}, didjwk.Resolver{}, didpeer.Resolver{}, didweb.Resolver{}} {
		_, _ = r.Resolve(context.Background(), d, did.Material{Log: b}, did.Options{Now: now})
	}
}

func readBundle(b []byte) {
	r, err := bundle.NewReader(bytes.NewReader(b))
	for err == nil {
		_, err = r.Next()
		var fault *bundle.LineError
		if errors.As(err, &fault) && !errors.Is(err, bundle.ErrTooLong) && !errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil // reading goes on after a faulty line
		}
	}
}

func openAgent(b []byte) {
	e, err := envelope.ParseDSSE(b, envelope.MaxBytes[keyring.Agent]())
	if err != nil {
		e = envelope.Envelope{Type: keyring.AgentType, Body: b, Signatures: make([]envelope.Signature, 2)}
	}
	_, _ = keyring.OpenAgent(context.Background(), e, envelopetest.Keys{orgDID: {issuer.Public().Multikey(): issuer.Public()}})
	_, _ = keyring.OpenRequest(e)
}

// pinsFile opens a file of pins that holds the bytes.
func pinsFile(t testing.TB) func([]byte) {
	name := filepath.Join(t.TempDir(), "pins")
	return func(b []byte) {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := pins.Open(name, time.Now); err == nil {
			f.Close()
		}
	}
}

// wellFormed are inputs that every parser has something to say about.
func wellFormed(t testing.TB) [][]byte {
	kid := agent.Public().Multikey()
	d := func(s string) []byte { return []byte(s) }
	e, err := keyring.SealAgent(context.Background(), keyring.Agent{Agent: agentID, Capabilities: []keyring.Capability{"borrow"}, DIDVersion: version, IssuedAt: at,
		Key: keyring.AgentKey{Kid: kid, Pub: agent.Public()}, Kid: issuer.Public().Multikey(), Kind: "agent", Name: "billing",
		NotAfter: envelope.TimeOf(now.Add(24 * time.Hour)), NotBefore: at, Org: orgDID, Serial: 1}, issuer, agent)
	if err != nil {
		t.Fatal(err)
	}
	line := firstLine(t)
	var carried []bundle.Line
	for _, l := range bundle.DIDLogs(orgDID, 1, append(line, '\n'), nil) {
		carried = append(carried, l)
	}
	file, err := bundle.Encode(bundle.Header{}, carried...)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{
		d(kid), d(agentID.String()), d(orgDID.String() + "?versionId=1-a#" + kid), line, e.DSSE(), e.Body, file,
		d(`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`),
		d(`{"id":"did:web:acme.example","verificationMethod":[{"id":"#k","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"` + kid + `"}],"assertionMethod":["#k"]}`),
		d("did:peer:2.Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc.SeyJ0IjoiZG0ifQ"),
		d("did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJFZDI1NTE5IiwieCI6IjExcVlBWUt4Q3JmVlNfN1R5V1FIT2c3aGN2UGFwaU1scndJYWFQY0hVUm8ifQ"),
		d("did " + orgDID.String() + " 2 2-QmR 2026-12-15T09:00:04Z 6b0d9c67\n"),
	}
}

// hostile are inputs that cost a careless parser its stack, its memory or its time.
func hostile(t testing.TB) map[string][]byte {
	full := func(unit string) []byte { return []byte(strings.Repeat(unit, largest/len(unit))) }
	around := func(head, unit, tail string) []byte {
		return []byte(head + strings.Repeat(unit, (largest-len(head)-len(tail))/len(unit)) + tail)
	}
	var names, lines bytes.Buffer
	names.WriteString(`{`)
	for i := 0; names.Len() < largest-20; i++ {
		fmt.Fprintf(&names, `"m%d":0,`, i)
	}
	names.WriteString(`"z":0}`)
	for i := 0; lines.Len() < largest-20; i++ {
		fmt.Fprintf(&lines, "{\"v\":%d}\n", i)
	}
	first := firstLine(t)
	return map[string][]byte{
		"nothing": nil, "zeros": make([]byte, largest), "0xff": bytes.Repeat([]byte{0xff}, largest),
		"open arrays": full("["), "open objects": full(`{"a":`), "closed arrays": append(bytes.Repeat([]byte("["), largest/2), bytes.Repeat([]byte("]"), largest/2)...),
		"base58 digits": around("z", "2", ""), "base58 zeros": around("z", "1", ""), "base64url": around("u", "_", ""),
		"did:key": around("did:key:z", "z", ""), "did:jwk": around("did:jwk:", "e", ""), "did:peer:2": around("did:peer:2", ".Vz6Mkj3PUd1WjvaDhNZhhhXQdz5UnZXmS7ehtx8bsPpD47kKc", ""),
		"did:peer:4": around("did:peer:4zQm:z", "8", ""), "did:peer:2 services": around("did:peer:2", ".SeyJ0IjoiZG0ifQ", ""),
		"colons": around("did:web:a", ":", "b"), "percents": around("did:web:a", "%41", ""), "a query": around("did:web:a.example?", "a=%41&", "b=1"),
		"a string": around(`"`, `a`, `"`), "escapes": around(`{"a":"`, `\ud83d\ude00`, `"}`), "half surrogates": around(`["`, `\ud83d`, `"]`), "quotes": full(`"\"`),
		"a number": full("9"), "a fraction": around("0.", "1", ""), "an exponent": around("1e", "9", ""), "numbers": around("[", "1e308,", "0]"),
		"many members": names.Bytes(), "one member many times": around("{", `"a":0,`, `"a":0}`), "white space": full(" \t\r\n"), "line feeds": full("\n"), "lines": lines.Bytes(),
		"a log of one line": bytes.Repeat(append(first, '\n'), largest/(len(first)+1)),
		"methods":           around(`{"id":"did:web:acme.example","verificationMethod":[`, `{"id":"#k","type":"Multikey","controller":"did:web:acme.example","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},`, `{}]}`),
		"references":        around(`{"id":"did:web:acme.example","assertionMethod":[`, `"#k",`, `"#k"]}`),
		"bundle header":     around(`{"about":["`, "z", "\"],\"trustnode\":\"bundle\",\"v\":1}\n"),
		"bundle lines":      around("{\"trustnode\":\"bundle\",\"v\":1}\n", "{}\n", ""),
		"bundle payload":    around("{\"trustnode\":\"bundle\",\"v\":1}\n{\"payload\":\"", "A", "\"}\n"),
		"DSSE":              around(`{"payload":"`, "A", `","payloadType":"application/vnd.trustnode.agent.v1+json","signatures":[]}`),
		"signatures":        around(`{"payload":"e30=","payloadType":"application/vnd.trustnode.agent.v1+json","signatures":[`, `{"keyid":"a","sig":""},`, `{"keyid":"a","sig":""}]}`),
		"pins":              full("did d 2 v 2026-12-15T09:00:04Z 00000000\n"),
	}
}

// read lets a parser read, and names the input that it panics at.
func (p parser) mustRead(t interface{ Fatalf(string, ...any) }, what string, b []byte) {
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("%s panics at %s, %.200q: %v\n%s", p.name, what, b, r, debug.Stack())
		}
	}()
	p.read(b)
}

// TestI11NoInputPanicsAParser (identity I-11): hostile inputs, pieces of well-formed ones put
// together anew, and bytes at random, all up to 64 KiB, are refused or read.
func TestI11NoInputPanicsAParser(t *testing.T) {
	all := parsers(t)
	bad := hostile(t)
	for _, p := range all {
		for what, b := range bad {
			if len(b) > largest {
				t.Fatalf("%s has %d bytes", what, len(b))
			}
			p.mustRead(t, what, b)
			p.mustRead(t, what+", cut", b[:len(b)/2])
		}
	}
	var pieces [][]byte
	for _, b := range wellFormed(t) {
		pieces = append(pieces, b)
		for _, sep := range []string{",", ":", "\n", ".", `"`} {
			pieces = append(pieces, bytes.SplitAfter(b, []byte(sep))...)
		}
	}
	for _, b := range bad {
		pieces = append(pieces, b[:min(len(b), 300)])
	}
	piece := rapid.Custom(func(rt *rapid.T) []byte {
		b := slices.Clone(rapid.SampledFrom(pieces).Draw(rt, "piece"))
		if len(b) > 0 && rapid.Bool().Draw(rt, "change") {
			b[rapid.IntRange(0, len(b)-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "to")
		}
		return b
	})
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(piece, piece, rapid.SliceOfN(rapid.Byte(), 0, 40)), 1, 30).Draw(rt, "parts")
		b := bytes.Join(parts, nil)
		b = b[:min(len(b), largest)]
		for _, p := range all {
			p.mustRead(rt, "pieces", b)
		}
	})
}

// slowest measures each parser on each hostile input, the best of n, and returns the worst
// time for a KiB.
func slowest(t testing.TB, n int) (worst time.Duration, name string) {
	bad := hostile(t)
	for _, p := range parsers(t) {
		for what, b := range bad {
			if len(b) < 1<<10 {
				continue
			}
			best := time.Hour
			for range n {
				start := time.Now()
				p.read(b)
				best = min(best, time.Since(start))
			}
			if each := best * 1024 / time.Duration(len(b)); each > worst {
				worst, name = each, p.name+" of "+what
			}
		}
	}
	return worst, name
}

// TestI11NoParserTakesForEver bounds what the figure below measures by fifty times its
// target: no busy machine reaches that, and a parser that takes time quadratic in 64 KiB does.
func TestI11NoParserTakesForEver(t *testing.T) {
	if worst, name := slowest(t, 3); worst > 50*perKiB {
		t.Errorf("%s takes %s for each KiB", name, worst)
	} else {
		t.Logf("%s takes %s for each KiB", name, worst)
	}
}

// BenchmarkFigureParsers is the slowest parser on the worst of the hostile inputs, for each
// KiB; its floor is one look at each byte.
func BenchmarkFigureParsers(b *testing.B) {
	worst, name := slowest(b, 5)
	b.Log(name)
	input := make([]byte, largest)
	_, floor := benchtest.Turns(b, 200, 1, func() error { return nil }, func() error {
		if bytes.IndexByte(input, 1) >= 0 {
			return errors.New("found")
		}
		return nil
	})
	benchtest.Latency(b, "did: slowest parser on hostile input, each KiB", benchtest.Spread{P50: worst, P99: worst}, floor.Each(largest>>10), "one pass over the bytes", benchtest.Target{P50: perKiB})
}
