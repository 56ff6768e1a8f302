package keys

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/google/tink/go/tink"

	"trustnode/did"
	"trustnode/did/envelope"
)

// signer signs with one open key. Safe for concurrent use.
type signer struct {
	pub did.PublicKey
	key atomic.Pointer[tink.Signer] // nil once the key is deleted or the store closed
}

var _ envelope.Signer = (*signer)(nil)

// newSigner makes sure once that private and public key belong together: localkms stores both and compares neither.
func newSigner(pub did.PublicKey, key tink.Signer) (*signer, error) {
	g := &signer{pub: pub}
	g.key.Store(&key)
	probe := []byte("trustnode keys v1 probe") // no pre-image of any signed object begins like this
	sig, err := g.sign(probe)
	if err != nil {
		return nil, err
	}
	if err := pub.Verify(probe, sig); err != nil {
		return nil, fmt.Errorf("%w: private and public key of %v do not belong together", ErrDamaged, g)
	}
	return g, nil
}

// Public returns the public key.
func (g *signer) Public() did.PublicKey { return g.pub }

// Sign signs a pre-image of package envelope. Error: ErrNoKey once the key is deleted.
func (g *signer) Sign(ctx context.Context, p envelope.Preimage) (did.Signature, error) {
	if err := ctx.Err(); err != nil {
		return did.Signature{}, err
	}
	return g.sign(p.Bytes())
}

func (g *signer) sign(msg []byte) (did.Signature, error) {
	key := g.key.Load()
	if key == nil {
		return did.Signature{}, fmt.Errorf("%w: %v", ErrNoKey, g)
	}
	sig, err := (*key).Sign(msg)
	if err != nil {
		return did.Signature{}, fmt.Errorf("keys: %v", err)
	}
	if len(sig) != len(did.Signature{}) {
		return did.Signature{}, fmt.Errorf("keys: signature of %d bytes", len(sig))
	}
	return did.Signature(sig), nil
}

func (g *signer) end() { g.key.Store(nil) }

// String returns the key's public name, "[key z6Mk…]".
func (g *signer) String() string { return "[key " + g.pub.Multikey() + "]" }

// GoString is String.
func (g *signer) GoString() string { return g.String() }

// Format is String for every verb: %d and %p, too, would walk through the fields.
func (g *signer) Format(f fmt.State, _ rune) { io.WriteString(f, g.String()) }

// LogValue is String.
func (g *signer) LogValue() slog.Value { return slog.StringValue(g.String()) }

// MarshalText is String, for JSON.
func (g *signer) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// String says how many keys are open and no more.
func (s *Store) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("[key store, %d open]", len(s.opened))
}

// GoString is String.
func (s *Store) GoString() string { return s.String() }

// Format is String for every verb.
func (s *Store) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// LogValue is String.
func (s *Store) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String, for JSON.
func (s *Store) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the key's public name.
func (r *Recovery) String() string { return r.signer.String() }

// GoString is String.
func (r *Recovery) GoString() string { return r.String() }

// Format is String for every verb.
func (r *Recovery) Format(f fmt.State, _ rune) { io.WriteString(f, r.String()) }

// LogValue is String.
func (r *Recovery) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText is String, for JSON.
func (r *Recovery) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
