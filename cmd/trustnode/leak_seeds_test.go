package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/tink/go/aead"
	"github.com/google/tink/go/insecurecleartextkeyset"
	"github.com/google/tink/go/keyset"
	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// seedsIn opens a key store by did/keys/SPEC.md alone and returns the seed of each key by its id: package keys gives
// nobody a private key, and a test that asked it for one would believe what it is to check.
func seedsIn(t *testing.T, dir, passphrase string) map[string][]byte {
	t.Helper()
	blob, lock := subkeysOf(t, dir, passphrase)
	files, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d keys in %s, %v", len(files), dir, err)
	}
	seeds := map[string][]byte{}
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".key")
		sealed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content, err := unseal(blob, sealed, id)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if id != "host" {
			content = seedOf(t, id, content, lock)
		}
		if len(content) != ed25519.SeedSize {
			t.Fatalf("%s: seed of %d bytes", file, len(content))
		}
		seeds[id] = content
	}
	return seeds
}

// subkeysOf derives the subkeys blob and lock.
func subkeysOf(t *testing.T, dir, passphrase string) (blob, lock []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var l struct {
		T, P        uint32
		M           uint32 `json:"m_kib"`
		Salt, Check string
	}
	if err := json.Unmarshal(b, &l); err != nil {
		t.Fatal(err)
	}
	salt, err := base64.RawURLEncoding.DecodeString(l.Salt)
	if err != nil {
		t.Fatal(err)
	}
	master := argon2.IDKey([]byte(passphrase), salt, l.T, l.M, uint8(l.P), 32)
	subkey := func(name string) []byte {
		k, err := hkdf.Key(sha256.New, master, nil, "trustnode keys v1 "+name, 32)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if base64.RawURLEncoding.EncodeToString(subkey("check")) != l.Check {
		t.Fatalf("%s: the passphrase does not open it", dir)
	}
	return subkey("blob"), subkey("lock")
}

func unseal(key, sealed []byte, ad string) ([]byte, error) {
	x, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < x.NonceSize() {
		return nil, errors.New("no nonce")
	}
	return x.Open(nil, sealed[:x.NonceSize()], sealed[x.NonceSize():], []byte(ad))
}

// wrapped is the lock under which the key of a keyset is wrapped.
type wrapped []byte

func (w wrapped) Decrypt(sealed, ad []byte) ([]byte, error) {
	text, err := unseal(w, sealed, "trustnode/keys\x00"+base64.URLEncoding.EncodeToString(ad))
	if err != nil {
		return nil, err
	}
	return base64.URLEncoding.DecodeString(string(text))
}

func (w wrapped) Encrypt(_, _ []byte) ([]byte, error) { return nil, errors.New("only opens") }

// seedOf opens a keyset and makes sure that its seed is that of the key its id names.
func seedOf(t *testing.T, id string, content, lock []byte) []byte {
	t.Helper()
	h, err := keyset.Read(keyset.NewJSONReader(bytes.NewReader(content)), aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), wrapped(lock)))
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	for _, k := range insecurecleartextkeyset.KeysetMaterial(h).GetKey() {
		// Ed25519PrivateKey is a protocol buffer; its field 2 is the seed.
		_, rest, ok := bytes.Cut(k.GetKeyData().GetValue(), []byte{2<<3 | 2, ed25519.SeedSize})
		if ok && len(rest) >= ed25519.SeedSize && thumbprint(rest[:ed25519.SeedSize]) == id {
			return rest[:ed25519.SeedSize]
		}
	}
	t.Fatalf("%s: no seed in its keyset", id)
	return nil
}

// thumbprint is the id of the key with this seed (RFC 7638).
func thumbprint(seed []byte) string {
	pub := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(pub) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
