package keys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/tink/go/aead"
	"github.com/google/tink/go/keyset"
	"github.com/google/tink/go/tink"
	"github.com/hyperledger/aries-framework-go/pkg/secretlock"
)

// stagedSuffix ends the name of a key that is sealed for a lock.json yet to come: ID.TAG.next.
const stagedSuffix = ".next"

// tagSize is what of a lock.json's SHA-256 names it, in bytes.
const tagSize = 8

// tagOf names a lock.json by its bytes. A new salt makes a new name.
func tagOf(lockJSON []byte) string {
	sum := sha256.Sum256(lockJSON)
	return hex.EncodeToString(sum[:tagSize])
}

func stagedName(tag string) string { return "." + tag + stagedSuffix }

// isStaged says whether a file is named ID.TAG.next.
func isStaged(name string) bool {
	rest, staged := strings.CutSuffix(name, stagedSuffix)
	id, tag, dot := strings.Cut(rest, ".")
	b, err := hex.DecodeString(tag)
	return staged && dot && checkID(id) == nil && err == nil && len(b) == tagSize
}

// Rekey changes the passphrase of the store in dir: all keys are sealed anew, under a new salt, so that an old copy of
// lock.json with the old passphrase opens nothing that is written later. At most one params may be given; none means
// DefaultParams. The caller keeps both passphrases and clears them, and sees to it that nobody has the store open: a
// Store that is says ErrRekeyed when it is to store a key.
//
// A crash at any point, and an error, leave a store that opens with the old passphrase or with the new one, with all its
// keys. Stores in subdirectories are not touched. Errors: ErrAbsent, ErrPassphrase for the old one, ErrEmpty for the new one, ErrLock,
// ErrDamaged for a key that does not open, and those of the file system.
func Rekey(dir string, old, new []byte, params ...Params) error {
	return rekey(disk{}, dir, old, new, params...)
}

func rekey(d disk, dir string, old, new []byte, params ...Params) error {
	from, err := openOn(d, dir, old)
	if err != nil {
		return err
	}
	defer from.Close()
	lockJSON, master, err := makeLock(new, params)
	if err != nil {
		return err
	}
	defer clear(master)
	to, err := newStore(&dirBlobs{disk: d, dir: dir, suffix: stagedName(tagOf(lockJSON))}, master)
	if err != nil {
		return err
	}
	defer to.Close()
	err = from.sealFor(to)
	if err == nil {
		// All keys are durable beside the old ones. This rename decides which of them count.
		err = d.replace(filepath.Join(dir, lockName), lockJSON)
	}
	return errors.Join(err, d.settle(dir))
}

// sealFor stores all keys of s in to, and sees to it that each opens there.
func (s *Store) sealFor(to *Store) error {
	ids, err := s.sealed.blobs.List()
	if err != nil {
		return err
	}
	for _, id := range ids {
		content, err := s.sealed.Get(id)
		if err != nil {
			return err
		}
		if id == hostID {
			err = to.sealed.Put(id, content)
			clear(content)
		} else {
			err = s.rewrap(to, id, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrap seals one of localkms' keysets for to.
func (s *Store) rewrap(to *Store, id string, content []byte) error {
	handle, err := keyset.Read(keyset.NewJSONReader(bytes.NewReader(content)), s.lock.keysets())
	if err != nil {
		return fmt.Errorf("%w: %s: %v", ErrDamaged, id, err)
	}
	var b bytes.Buffer
	if err := handle.Write(keyset.NewJSONWriter(&b), to.lock.keysets()); err != nil {
		return fmt.Errorf("keys: %v", err)
	}
	if err := to.sealed.Put(id, b.Bytes()); err != nil {
		return err
	}
	_, err = to.read(id)
	return err
}

// settle brings a Rekey that a crash cut short to its end: keys sealed for the lock.json that stands take the place of the
// old ones, keys sealed for another are removed.
func (d disk) settle(dir string) error {
	staged, err := filesIn(dir, isStaged)
	if err != nil || len(staged) == 0 {
		return err
	}
	lockJSON, err := readFile(filepath.Join(dir, lockName), maxLock)
	if err != nil {
		return err
	}
	// The lock.json just read may not be durable yet. Were the old one to come back after a power cut, the keys that are
	// replaced here would be lost.
	if err := d.syncDir(dir); err != nil {
		return err
	}
	mine := stagedName(tagOf(lockJSON))
	for _, name := range staged {
		path := filepath.Join(dir, name)
		if id, ok := strings.CutSuffix(name, mine); ok {
			err = d.rename(path, filepath.Join(dir, id+blobSuffix))
		} else {
			err = d.remove(path)
		}
		if err != nil {
			return err
		}
	}
	return d.syncDir(dir)
}

// keysets is the AEAD under which localkms writes keysets, so that they can be moved to another lock without their keys
// being looked at.
func (l secretLock) keysets() tink.AEAD {
	return aead.NewKMSEnvelopeAEAD2(aead.AES256GCMKeyTemplate(), wrapper{l})
}

// wrapper calls the lock as localkms does: all texts in base64url, the key named by the URI without its scheme.
type wrapper struct{ lock secretLock }

var wrapURI = strings.TrimPrefix(lockURI, "local-lock://")

func (w wrapper) Encrypt(plain, ad []byte) ([]byte, error) {
	r, err := w.lock.Encrypt(wrapURI, &secretlock.EncryptRequest{
		Plaintext: wrapText.EncodeToString(plain), AdditionalAuthenticatedData: wrapText.EncodeToString(ad)})
	if err != nil {
		return nil, err
	}
	return wrapText.DecodeString(r.Ciphertext)
}

func (w wrapper) Decrypt(sealed, ad []byte) ([]byte, error) {
	r, err := w.lock.Decrypt(wrapURI, &secretlock.DecryptRequest{
		Ciphertext: wrapText.EncodeToString(sealed), AdditionalAuthenticatedData: wrapText.EncodeToString(ad)})
	if err != nil {
		return nil, err
	}
	return wrapText.DecodeString(r.Plaintext)
}
