package keys

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/hyperledger/aries-framework-go/pkg/kms"
	"github.com/hyperledger/aries-framework-go/pkg/secretlock"
	"golang.org/x/crypto/chacha20poly1305"
)

// box seals with XChaCha20-Poly1305 under one key: a random nonce of 24 bytes, then the ciphertext with its tag.
type box struct{ aead hidden[cipher.AEAD] }

// hidden keeps a secret behind a function, which package fmt, JSON and slog cannot look into. A Format method would not do: fmt
// does not call it for a field without export, and walks a pointer there under %s.
type hidden[T any] func() T

func hide[T any](v T) hidden[T] { return func() T { return v } }

func newBox(key []byte) box {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		panic(err) // only for a key that is not 32 bytes
	}
	return box{hide(aead)}
}

func (x box) seal(plain, ad []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	rand.Read(nonce)
	return x.aead().Seal(nonce, nonce, plain, ad)
}

func (x box) open(sealed, ad []byte) ([]byte, error) {
	if len(sealed) < chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead {
		return nil, ErrDamaged
	}
	plain, err := x.aead().Open(nil, sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:], ad)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// sealed stores each blob sealed under its id. localkms tells its lock no id, so without this whoever writes to the directory
// could swap two keys: the node would sign as another.
type sealed struct {
	blobs Blobs
	box   box
}

var _ kms.Store = sealed{}

func (s sealed) Put(id string, b []byte) error { return s.blobs.Put(id, s.box.seal(b, []byte(id))) }

func (s sealed) Get(id string) ([]byte, error) {
	b, err := s.blobs.Get(id)
	if errors.Is(err, ErrNoBlob) {
		return nil, fmt.Errorf("%w: %w", ErrNoKey, kms.ErrKeyNotFound)
	}
	if err != nil {
		return nil, err
	}
	plain, err := s.box.open(b, []byte(id))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, id)
	}
	return plain, nil
}

func (s sealed) Delete(id string) error { return s.blobs.Delete(id) }

// secretLock wraps the key that localkms makes for each keyset. Requests and answers are strings, as aries has them, so what
// passes here stays in memory until it is collected.
type secretLock struct{ box box }

var _ secretlock.Service = secretLock{}

func lockData(uri, ad string) []byte { return []byte(uri + "\x00" + ad) }

func (l secretLock) Encrypt(uri string, r *secretlock.EncryptRequest) (*secretlock.EncryptResponse, error) {
	c := l.box.seal([]byte(r.Plaintext), lockData(uri, r.AdditionalAuthenticatedData))
	return &secretlock.EncryptResponse{Ciphertext: wrapText.EncodeToString(c)}, nil
}

func (l secretLock) Decrypt(uri string, r *secretlock.DecryptRequest) (*secretlock.DecryptResponse, error) {
	c, err := wrapText.DecodeString(r.Ciphertext)
	if err != nil {
		return nil, ErrDamaged
	}
	p, err := l.box.open(c, lockData(uri, r.AdditionalAuthenticatedData))
	if err != nil {
		return nil, err
	}
	return &secretlock.DecryptResponse{Plaintext: string(p)}, nil
}
