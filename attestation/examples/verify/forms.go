package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"math/bits"
	"strings"
)

// need ends the verification unless ok.
func need(ok bool, format string, a ...any) {
	if !ok {
		panic(fmt.Sprintf(format, a...))
	}
}

// at, text and list look into parsed JSON; text and list are empty where nothing fits.
func at(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		need(ok, "no object holds %q", k)
		v = m[k]
	}
	return v
}
func text(v any, keys ...string) string { s, _ := at(v, keys...).(string); return s }
func list(v any, keys ...string) []any  { l, _ := at(v, keys...).([]any); return l }

// std and url read base64 in its one spelling: with padding, and as base64url without.
func std(s string) []byte { return unbase(base64.StdEncoding, s) }
func url(s string) []byte { return unbase(base64.RawURLEncoding, s) }
func unbase(e *base64.Encoding, s string) []byte {
	b, err := e.DecodeString(s)
	need(err == nil && e.EncodeToString(b) == s, "%.40q is no base64 in its one spelling", s)
	return b
}

// jcs writes RFC 8785, for what occurs here: ASCII keys and integers.
func jcs(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	need(e.Encode(v) == nil, "no JSON")
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// parse reads one object that is its own canonical form, so that no member stands twice.
func parse(raw []byte) (o map[string]any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	need(d.Decode(&o) == nil && bytes.Equal(jcs(o), raw), "not a canonical JSON object: %.60q", raw)
	return o
}

const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// text58 writes base58btc.
func text58(b []byte) (s string) {
	n, mod := new(big.Int).SetBytes(b), new(big.Int)
	for n.Sign() > 0 {
		n.DivMod(n, big.NewInt(58), mod)
		s = string(digits[mod.Int64()]) + s
	}
	return strings.Repeat("1", len(b)-len(bytes.TrimLeft(b, "\x00"))) + s
}

// bytes58 reads size bytes in multibase base58btc, in their one spelling.
func bytes58(s string, size int) []byte {
	n := new(big.Int)
	for _, r := range strings.TrimPrefix(s, "z") {
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(strings.IndexRune(digits, r))))
	}
	need(n.Sign() > 0 && n.BitLen() <= 8*size, "%.60q is not base58 of %d bytes", s, size)
	b := n.FillBytes(make([]byte, size))
	need("z"+text58(b) == s, "%.60q is not base58 of %d bytes", s, size)
	return b
}

func sum(b ...[]byte) []byte     { h := sha256.Sum256(bytes.Join(b, nil)); return h[:] }
func hashText(sum []byte) string { return text58(append([]byte{0x12, 0x20}, sum...)) } // of a multihash
func idOf(b []byte) string       { return "z" + hashText(sum(b)) }

// keyBytes are those of an Ed25519 multikey.
func keyBytes(multikey string) ed25519.PublicKey {
	b := bytes58(multikey, 34)
	need(b[0] == 0xed && b[1] == 1, "%s is no Ed25519 key", multikey)
	return b[2:]
}

// signed says whether a key signed a message; nobody's key signs nothing.
func signed(multikey string, message, sig []byte) bool {
	return multikey != "" && len(sig) == 64 && ed25519.Verify(keyBytes(multikey), message, sig)
}

// pae is the pre-image of a signed object: DSSE v1.
func pae(typ string, body []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(typ), typ, len(body), body)
}

// half is the number of leaves in the left subtree of size, RFC 6962, section 2.1.
func half(size uint64) uint64 { return 1 << (bits.Len64(size-1) - 1) }

// rootOf is the root over leaf hashes.
func rootOf(l [][]byte) []byte {
	if len(l) == 1 {
		return l[0]
	}
	k := half(uint64(len(l)))
	return sum([]byte{1}, rootOf(l[:k]), rootOf(l[k:]))
}

// climb is the root that an inclusion path leads to, RFC 6962, section 2.1.1.
func climb(leaf []byte, n, size uint64, path []byte) []byte {
	if size == 1 && n == 0 && len(path) == 0 {
		return leaf
	}
	need(n < size && len(path) >= 32, "an inclusion path of another length")
	rest, top := path[:len(path)-32], path[len(path)-32:]
	if k := half(size); n >= k {
		return sum([]byte{1}, top, climb(leaf, n-k, size-k, rest))
	}
	return sum([]byte{1}, climb(leaf, n, half(size), rest), top)
}
