package envelope

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"trustnode/did"
)

// Preimage is what a signature covers. Only this package makes one, in three shapes that cannot be taken for one
// another: an object of this project (Envelope.Preimage), a Data Integrity proof, a checkpoint note. A Signer can
// therefore sign nothing else. The zero value is none.
type Preimage struct{ b []byte }

// Bytes returns the bytes to sign, nil for the zero value. The caller must not change them.
func (p Preimage) Bytes() []byte { return p.b }

// pae is the DSSE v1 pre-authentication encoding.
func pae(t Type, body []byte) Preimage {
	b := make([]byte, 0, len("DSSEv1")+len(t)+len(body)+2*21+2)
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(t)), 10)
	b = append(b, ' ')
	b = append(b, t...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, ' ')
	return Preimage{append(b, body...)}
}

// DataIntegrity is the pre-image of an eddsa-jcs-2022 proof (VC Data Integrity EdDSA 1.0, section 3.3.4): SHA-256 of the
// canonical proof configuration, then SHA-256 of the canonical document.
func DataIntegrity(hash [64]byte) Preimage { return Preimage{hash[:]} }

// ErrNote says that a text is not one of the two kinds of note text that may be signed.
var ErrNote = errors.New("not the text of a checkpoint note or cosignature")

// Note is the pre-image of a C2SP signed note or cosignature: text starts with "did:", the origin of one of our logs, or
// with "cosignature/v1\n", so that it can never be read as an object. It must end in a line feed. Error: ErrNote.
func Note(text []byte) (Preimage, error) {
	if !bytes.HasSuffix(text, []byte("\n")) ||
		!bytes.HasPrefix(text, []byte("did:")) && !bytes.HasPrefix(text, []byte("cosignature/v1\n")) {
		return Preimage{}, ErrNote
	}
	return Preimage{bytes.Clone(text)}, nil
}

// Signer signs with one Ed25519 key that it holds. Safe for concurrent use. It never releases the private key.
type Signer interface {
	Public() did.PublicKey
	Sign(ctx context.Context, p Preimage) (did.Signature, error)
}
