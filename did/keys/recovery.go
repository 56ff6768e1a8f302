package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// ErrRecovery says that a text is not a recovery key, or not as it was shown: a character is missing or wrong.
var ErrRecovery = errors.New("not a recovery key")

const (
	recoveryPrefix = "rec1"
	recoverySum    = 4
)

var recoveryText = base32.StdEncoding.WithPadding(base32.NoPadding)

// Recovery is an Ed25519 key that is kept on paper: no store holds it. It signs one entry of a DID log, when the next update
// key is lost. Made by NewRecovery and ParseRecovery.
type Recovery struct {
	signer  *signer
	private hidden[ed25519.PrivateKey]
}

// paperKey is the open key of a Recovery; it has the shape of an open key of localkms.
type paperKey hidden[ed25519.PrivateKey]

func (k paperKey) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(k(), msg), nil }

// NewRecovery makes a recovery key.
func NewRecovery() (*Recovery, error) {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:])
	defer clear(seed[:])
	return newRecovery(seed)
}

func newRecovery(seed [ed25519.SeedSize]byte) (*Recovery, error) {
	private := ed25519.NewKeyFromSeed(seed[:])
	pub, err := did.NewEd25519(private[ed25519.SeedSize:])
	if err != nil {
		return nil, err
	}
	g, err := newSigner(pub, paperKey(hide(private)))
	if err != nil {
		return nil, err
	}
	return &Recovery{g, hide(private)}, nil
}

// ParseRecovery reads what Text wrote, in either case, with dashes or spaces where its writer put them. The caller clears
// text. Error: ErrRecovery, which quotes nothing.
func ParseRecovery(text []byte) (*Recovery, error) {
	if len(text) > maxRecovery {
		return nil, ErrRecovery
	}
	plain := strings.ToUpper(strings.NewReplacer("-", "", " ", "", "\n", "", "\r", "", "\t", "").Replace(string(text)))
	plain, ok := strings.CutPrefix(plain, strings.ToUpper(recoveryPrefix))
	b, err := recoveryText.DecodeString(plain)
	if !ok || err != nil || len(b) != ed25519.SeedSize+recoverySum || recoveryText.EncodeToString(b) != plain {
		return nil, ErrRecovery
	}
	defer clear(b)
	seed := [ed25519.SeedSize]byte(b[:ed25519.SeedSize])
	defer clear(seed[:])
	if subtle.ConstantTimeCompare(b[ed25519.SeedSize:], recoveryCheck(seed)) != 1 {
		return nil, ErrRecovery
	}
	return newRecovery(seed)
}

// Text returns the key itself, to be shown once and written down: rec1- and base32 of the seed and four bytes of checksum, in
// groups of four.
func (r *Recovery) Text() string {
	seed := [ed25519.SeedSize]byte(r.private())
	defer clear(seed[:])
	b := slices.Concat(seed[:], recoveryCheck(seed))
	defer clear(b)
	text := strings.ToLower(recoveryText.EncodeToString(b))
	groups := []string{recoveryPrefix}
	for len(text) > 4 {
		groups, text = append(groups, text[:4]), text[4:]
	}
	return strings.Join(append(groups, text), "-")
}

func recoveryCheck(seed [ed25519.SeedSize]byte) []byte {
	sum := sha256.Sum256(append([]byte("trustnode recovery v1"), seed[:]...))
	return sum[:recoverySum]
}

// Signer returns the signer of the key.
func (r *Recovery) Signer() envelope.Signer { return r.signer }

// Public returns the public key, whose hash stands in nextKeyHashes.
func (r *Recovery) Public() did.PublicKey { return r.signer.pub }

// Forget ends the signer and clears the key. The caller has no signature under way, and calls Text no more.
func (r *Recovery) Forget() {
	r.signer.end()
	clear(r.private())
}
