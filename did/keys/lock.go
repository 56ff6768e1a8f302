package keys

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/crypto/argon2"

	"trustnode/did/envelope"
)

const (
	lockName = "lock.json"
	kdfName  = "argon2id"
	saltSize = 16
	keySize  = 32
)

// Params is what argon2id (RFC 9106) costs. It is recorded in lock.json when a store is made.
type Params struct {
	Time      uint32 // passes, 1 to 64
	MemoryKiB uint32 // KiB, 8 × Threads to 1,048,576
	Threads   uint8  // lanes, 1 to 16
}

// DefaultParams takes some tenths of a second on one core.
var DefaultParams = Params{Time: 3, MemoryKiB: 64 << 10, Threads: 1}

func (p Params) check() error {
	switch {
	case p.Time < 1 || p.Time > maxTime:
		return fmt.Errorf("%w: t is not 1 to %d", ErrLock, maxTime)
	case p.Threads < 1 || p.Threads > maxThreads:
		return fmt.Errorf("%w: p is not 1 to %d", ErrLock, maxThreads)
	case p.MemoryKiB < 8*uint32(p.Threads) || p.MemoryKiB > maxMemoryKiB:
		return fmt.Errorf("%w: m_kib is not 8 × p to %d", ErrLock, maxMemoryKiB)
	}
	return nil
}

// lock is what lock.json says: how to make the master key from the passphrase, and how to tell a wrong one.
type lock struct {
	params Params
	salt   [saltSize]byte
	check  [keySize]byte
}

// lockFile is the wire form of lock, canonical JSON. Frozen.
type lockFile struct {
	Check string `json:"check"` // base64url of 32 bytes
	KDF   string `json:"kdf"`   // "argon2id"
	M     uint64 `json:"m_kib"`
	P     uint64 `json:"p"`
	Salt  string `json:"salt"` // base64url of 16 bytes
	T     uint64 `json:"t"`
	V     uint64 `json:"v"` // 1
}

// newLock makes a lock for a passphrase and returns the master key with it.
func newLock(passphrase []byte, p Params) (lock, []byte, error) {
	if len(passphrase) == 0 {
		return lock{}, nil, ErrEmpty
	}
	if err := p.check(); err != nil {
		return lock{}, nil, err
	}
	l := lock{params: p}
	rand.Read(l.salt[:])
	master := l.derive(passphrase)
	l.check = [keySize]byte(subkey(master, "check"))
	return l, master, nil
}

// makeLock returns the lock.json of a passphrase and the master key; no params are DefaultParams.
func makeLock(passphrase []byte, params []Params) (lockJSON, master []byte, err error) {
	p := DefaultParams
	if len(params) > 0 {
		p = params[0]
	}
	l, master, err := newLock(passphrase, p)
	if err != nil {
		return nil, nil, err
	}
	if lockJSON, err = l.marshal(); err != nil {
		clear(master)
		return nil, nil, err
	}
	return lockJSON, master, nil
}

// open returns the master key, or ErrPassphrase.
func (l lock) open(passphrase []byte) ([]byte, error) {
	master := l.derive(passphrase)
	if subtle.ConstantTimeCompare(subkey(master, "check"), l.check[:]) != 1 {
		clear(master)
		return nil, ErrPassphrase
	}
	return master, nil
}

func (l lock) derive(passphrase []byte) []byte {
	return argon2.IDKey(passphrase, l.salt[:], l.params.Time, l.params.MemoryKiB, l.params.Threads, keySize)
}

// subkey derives the key for one purpose, so that no two uses of the master key can meet.
func subkey(master []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, master, nil, "trustnode keys v1 "+purpose, keySize)
	if err != nil {
		panic(err) // only for a length above 8,160 bytes, or a FIPS mode that forbids the hash
	}
	return k
}

func (l lock) marshal() ([]byte, error) {
	return envelope.Marshal(lockFile{
		Check: base64.RawURLEncoding.EncodeToString(l.check[:]),
		KDF:   kdfName,
		M:     uint64(l.params.MemoryKiB),
		P:     uint64(l.params.Threads),
		Salt:  base64.RawURLEncoding.EncodeToString(l.salt[:]),
		T:     uint64(l.params.Time),
		V:     1,
	})
}

// parseLock reads lock.json. Every error wraps ErrLock.
func parseLock(b []byte) (lock, error) {
	var w lockFile
	if len(b) > maxLock {
		return lock{}, fmt.Errorf("%w: longer than %d bytes", ErrLock, maxLock)
	}
	if err := envelope.Unmarshal(b, &w); err != nil {
		return lock{}, fmt.Errorf("%w: %v", ErrLock, err)
	}
	if w.V != 1 || w.KDF != kdfName {
		return lock{}, fmt.Errorf("%w: version %d with kdf %q is not known", ErrLock, w.V, w.KDF)
	}
	if w.T > maxTime || w.M > maxMemoryKiB || w.P > maxThreads {
		return lock{}, fmt.Errorf("%w: t, m_kib or p is too large", ErrLock)
	}
	l := lock{params: Params{Time: uint32(w.T), MemoryKiB: uint32(w.M), Threads: uint8(w.P)}}
	if err := l.params.check(); err != nil {
		return lock{}, err
	}
	if err := decode(l.salt[:], w.Salt); err != nil {
		return lock{}, fmt.Errorf("%w: salt: %v", ErrLock, err)
	}
	if err := decode(l.check[:], w.Check); err != nil {
		return lock{}, fmt.Errorf("%w: check: %v", ErrLock, err)
	}
	return l, nil
}

// decode fills dst with exactly its length from unpadded base64url.
func decode(dst []byte, text string) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return err
	}
	if len(b) != len(dst) {
		return fmt.Errorf("%d bytes instead of %d", len(b), len(dst))
	}
	copy(dst, b)
	return nil
}

// readLock returns lock.json and what it says.
func readLock(dir string) ([]byte, lock, error) {
	b, err := readFile(filepath.Join(dir, lockName), maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lock{}, fmt.Errorf("%w in %s", ErrAbsent, dir)
	}
	if err != nil {
		return nil, lock{}, err
	}
	l, err := parseLock(b)
	return b, l, err
}
