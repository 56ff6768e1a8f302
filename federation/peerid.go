package federation

import (
	"bytes"
	"errors"
	"fmt"

	"trustnode/did"
)

// ErrPeerID: a text is not the name of an Ed25519 node key.
var ErrPeerID = errors.New("not a peer id")

// PeerID names a node by its Ed25519 key: base58btc of the libp2p identity
// multihash of the key, 52 characters that begin 12D3KooW. It is comparable; the
// zero value names nobody. Peer ids, section "Peer ids" of the libp2p specs.
type PeerID struct{ s string }

// peerPrefix is what stands before the 32 bytes of the key: identity multihash,
// 36 bytes; key type Ed25519; 32 bytes of data.
var peerPrefix = []byte{0x00, 0x24, 0x08, 0x01, 0x12, 0x20}

const peerIDLen = 52

// ParsePeerID reads the text form of a peer id. It returns ErrPeerID where the
// text is not the one spelling of a usable Ed25519 key.
func ParsePeerID(text string) (PeerID, error) {
	if len(text) != peerIDLen {
		return PeerID{}, fmt.Errorf("%w: %d characters instead of %d", ErrPeerID, len(text), peerIDLen)
	}
	raw, err := did.ParseBase58(text)
	if err != nil {
		return PeerID{}, fmt.Errorf("%w: %v", ErrPeerID, err)
	}
	key, ok := bytes.CutPrefix(raw, peerPrefix)
	if !ok {
		return PeerID{}, fmt.Errorf("%w: not an Ed25519 key", ErrPeerID)
	}
	pub, err := did.NewEd25519(key)
	if err != nil {
		return PeerID{}, fmt.Errorf("%w: %v", ErrPeerID, err)
	}
	if id := idOf(pub); id.s != text {
		return PeerID{}, fmt.Errorf("%w: another spelling of %s", ErrPeerID, id.s)
	}
	return PeerID{s: text}, nil
}

// PeerIDOf returns the peer id of an Ed25519 node key, ErrPeerID for a key of
// another kind.
func PeerIDOf(pub did.PublicKey) (PeerID, error) {
	if pub.Algorithm() != did.Ed25519 {
		return PeerID{}, fmt.Errorf("%w: not an Ed25519 key", ErrPeerID)
	}
	return idOf(pub), nil
}

func idOf(pub did.PublicKey) PeerID {
	return PeerID{s: did.Base58(append(bytes.Clone(peerPrefix), pub.Raw()...))}
}

// Key returns the node key p names. The zero PeerID has none and returns ErrPeerID.
func (p PeerID) Key() (did.PublicKey, error) {
	raw, err := did.ParseBase58(p.s)
	if err != nil || len(raw) != len(peerPrefix)+32 {
		return did.PublicKey{}, ErrPeerID
	}
	return did.NewEd25519(raw[len(peerPrefix):])
}

// String returns the text form, empty for the zero value.
func (p PeerID) String() string { return p.s }

// IsZero reports whether p names nobody.
func (p PeerID) IsZero() bool { return p.s == "" }

// MarshalText returns the text form; the zero value has none.
func (p PeerID) MarshalText() ([]byte, error) {
	if p.IsZero() {
		return nil, ErrPeerID
	}
	return []byte(p.s), nil
}

// UnmarshalText is ParsePeerID.
func (p *PeerID) UnmarshalText(b []byte) error {
	id, err := ParsePeerID(string(b))
	if err != nil {
		return err
	}
	*p = id
	return nil
}
