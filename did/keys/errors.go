package keys

import "errors"

var (
	// ErrPassphrase says that the passphrase does not open the store.
	ErrPassphrase = errors.New("wrong passphrase")
	// ErrEmpty says that a store was to be made with an empty passphrase.
	ErrEmpty = errors.New("passphrase is empty")
	// ErrExists says that the directory holds a store already, or keys of one.
	ErrExists = errors.New("key store exists")
	// ErrAbsent says that the directory holds no store.
	ErrAbsent = errors.New("no key store")
	// ErrLock is wrapped by the error for a lock.json that is not in its form.
	ErrLock = errors.New("lock.json is not valid")
	// ErrNoKey says that the store does not hold the key, or holds it no more.
	ErrNoKey = errors.New("no such key")
	// ErrDamaged says that what is stored for a key does not open: altered, or moved from another key's place.
	ErrDamaged = errors.New("stored key is damaged")
	// ErrSeed says that a seed is not 32 bytes.
	ErrSeed = errors.New("seed is not 32 bytes")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("key store is closed")
	// ErrRekeyed says that the passphrase was changed after the store was opened, so that it can take no key.
	ErrRekeyed = errors.New("passphrase of the key store was changed, open it again")
	// ErrNoBlob is what Blobs.Get returns for an id it does not hold.
	ErrNoBlob = errors.New("no such blob")
	// ErrBlobID says that an id is not 1 to 64 characters of A-Z a-z 0-9 - _.
	ErrBlobID = errors.New("not a blob id")
)
