package log_test

import (
	"context"
	"fmt"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope/envelopetest"
)

// An organization signs the head of its log, a peer cosigns it, and anyone
// proves one entry under it.
func Example() {
	ctx := context.Background()
	acme, beta := did.MustParse("did:web:acme.example"), did.MustParse("did:web:beta.example")
	leaves := attlog.Leaves([][]byte{[]byte("first"), []byte("second"), []byte("third")})
	head := attestation.Head{Size: 3, Root: attlog.RootOf(leaves)}

	note, err := attlog.Sign(ctx, envelopetest.Repeat(1), acme, head)
	if err != nil {
		panic(err)
	}
	line, err := attlog.Cosign(ctx, envelopetest.Repeat(2), beta, note, time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC))
	if err != nil {
		panic(err)
	}
	path, err := attlog.PathOf(leaves, 1)
	if err != nil {
		panic(err)
	}
	text := attlog.Proof{Index: 1, Path: path, Note: note.With(line)}.Bytes()

	proof, err := attlog.ParseProof(text)
	if err != nil {
		panic(err)
	}
	seen, _ := proof.Note.Cosignatures(func(did.DID) []did.PublicKey { return []did.PublicKey{envelopetest.Repeat(2).Public()} })
	fmt.Println(proof.Check(leaves[1]), proof.Note.Verify(envelopetest.Repeat(1).Public()))
	fmt.Println(seen[0].Witness, "saw it by", seen[0].At)
	fmt.Println(proof.Check(leaves[2]))
	// Output:
	// <nil> <nil>
	// did:web:beta.example saw it by 2026-12-01T10:00:00Z
	// proof does not verify: index 1 is not under the root of size 3
}
