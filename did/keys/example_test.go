package keys_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"trustnode/did/envelope"
	"trustnode/did/keys"
)

// A person's keys have a store and a passphrase of their own. It is opened for one command.
func Example() {
	ctx := context.Background()
	tmp, err := os.MkdirTemp("", "keys")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "people", "ada")

	// Ada's key is made. Cheap parameters keep the example short; without them DefaultParams hold.
	s, err := keys.Create(dir, []byte("first passphrase"), keys.Params{Time: 1, MemoryKiB: 8, Threads: 1})
	if err != nil {
		panic(err)
	}
	made, err := s.Generate(ctx)
	if err != nil {
		panic(err)
	}
	s.Close()

	// She changes her passphrase.
	if err := keys.Rekey(dir, []byte("first passphrase"), []byte("second passphrase"), keys.Params{Time: 1, MemoryKiB: 8, Threads: 1}); err != nil {
		panic(err)
	}
	_, err = keys.Open(dir, []byte("first passphrase"))
	fmt.Println(errors.Is(err, keys.ErrPassphrase))

	// She signs. Package envelope makes what is signed; here it is 64 bytes of hashes.
	s, err = keys.Open(dir, []byte("second passphrase"))
	if err != nil {
		panic(err)
	}
	defer s.Close()
	signer, err := s.Signer(ctx, made.Public())
	if err != nil {
		panic(err)
	}
	p := envelope.DataIntegrity([64]byte{1})
	sig, err := signer.Sign(ctx, p)
	if err != nil {
		panic(err)
	}
	fmt.Println(made.Public().Verify(p.Bytes(), sig))

	there, err := keys.Exists(filepath.Join(tmp, "people", "eve"))
	fmt.Println(there, err)
	// Output:
	// true
	// <nil>
	// false <nil>
}
