package didpeer

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/mr-tron/base58"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// jsonCodec is the multicodec number of JSON, 0x0200, as an unsigned varint.
var jsonCodec = []byte{0x80, 0x04}

// Short returns the short form of a numalgo 4 long form after its hash was checked: the DID under which a caller keeps
// the long form, since a peer may use only the short one from then on. Errors: ErrMethod, ErrNumalgo for a numalgo
// without two forms, ErrForm for a short form, ErrHash.
func Short(long did.DID) (did.DID, error) {
	if long.Method() != Method {
		return did.DID{}, fmt.Errorf("%w: method %q", ErrMethod, long.Method())
	}
	if long.ID()[0] != '4' {
		return did.DID{}, fmt.Errorf("%w %q has no short form", ErrNumalgo, long.ID()[0])
	}
	hash, text, ok := strings.Cut(long.ID()[1:], ":")
	if !ok {
		return did.DID{}, fmt.Errorf("%w: not a long form", ErrForm)
	}
	if hash != hashOf(text) {
		return did.DID{}, ErrHash
	}
	return did.Parse(strings.TrimSuffix(long.String(), ":"+text))
}

// ofDocument returns the document of numalgo 4: the carried one, with the DID asked for written into it.
func ofDocument(d did.DID, stored []byte) ([]byte, error) {
	long, err := longForm(d, stored)
	if err != nil {
		return nil, err
	}
	other, err := Short(long)
	if err != nil {
		return nil, err
	}
	if d == other {
		other = long
	}
	_, text, _ := strings.Cut(long.ID(), ":")
	v, err := decodeInput(text)
	if err != nil {
		return nil, err
	}
	if v, err = contextualize(v, d.String(), other.String()); err != nil {
		return nil, err
	}
	b, err := v.Canonical()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", did.ErrDocument, err)
	}
	return b, nil
}

// longForm returns d if it is the long form, else the stored one, which must be d's by name: a long form of another DID
// is as good as none.
func longForm(d did.DID, stored []byte) (did.DID, error) {
	hash, _, long := strings.Cut(d.ID()[1:], ":")
	if long {
		return d, nil
	}
	if !isHash(hash) {
		return did.DID{}, fmt.Errorf("%w: no sha2-256 multihash in base58btc", ErrForm)
	}
	if !bytes.HasPrefix(stored, []byte(d.String()+":")) {
		return did.DID{}, did.ErrAbsent
	}
	return did.Parse(string(stored))
}

func isHash(text string) bool {
	b, err := did.ParseMultibase(text)
	return err == nil && len(b) == 2+sha256.Size && b[0] == sha256Code && b[1] == sha256.Size
}

// decodeInput reads the input document: base58btc of the JSON codec and a JSON object that has no id yet. The text is no
// longer than a DID, which bounds the quadratic work of base58.
func decodeInput(text string) (strictjson.Value, error) {
	digits, ok := strings.CutPrefix(text, "z")
	if !ok {
		return strictjson.Value{}, fmt.Errorf("%w: document is not base58btc", ErrForm)
	}
	b, err := base58.Decode(digits)
	if err != nil {
		return strictjson.Value{}, fmt.Errorf("%w: document is not base58btc", ErrForm)
	}
	b, ok = bytes.CutPrefix(b, jsonCodec)
	if !ok {
		return strictjson.Value{}, fmt.Errorf("%w: document is not marked as JSON", ErrForm)
	}
	v, err := strictjson.Parse(b, did.MaxDocumentDepth)
	if err != nil {
		return strictjson.Value{}, fmt.Errorf("%w: %v", did.ErrDocument, err)
	}
	if v.Kind() != strictjson.Object {
		return strictjson.Value{}, fmt.Errorf("%w: document is %v, expected object", did.ErrDocument, v.Kind())
	}
	if _, ok := v.Get("id"); ok {
		return strictjson.Value{}, fmt.Errorf("%w: document has an id before it has a DID", did.ErrDocument)
	}
	return v, nil
}

// holders are the members of a document in which verification methods stand.
var holders = [...]string{
	"verificationMethod", string(did.Authentication), string(did.AssertionMethod), string(did.KeyAgreement),
	string(did.CapabilityInvocation), string(did.CapabilityDelegation),
}

// contextualize writes the DID into its document: as id, as the controller of each method that names none, and the other
// form as another name. A member of the wrong kind is left as it is for the reader of documents to refuse.
func contextualize(v strictjson.Value, id, other string) (strictjson.Value, error) {
	aka, ok := v.Get("alsoKnownAs")
	if ok && aka.Kind() != strictjson.Array {
		return strictjson.Value{}, fmt.Errorf("%w: alsoKnownAs is %v, expected array", did.ErrDocument, aka.Kind())
	}
	names := append(slices.Clone(aka.Elements()), strictjson.StringOf(other))
	v = v.With("id", strictjson.StringOf(id)).With("alsoKnownAs", strictjson.ArrayOf(names...))
	room := did.MaxDocument
	for _, name := range holders {
		list, ok := v.Get(name)
		if !ok || list.Kind() != strictjson.Array {
			continue
		}
		owned, err := own(list.Elements(), id, &room)
		if err != nil {
			return strictjson.Value{}, err
		}
		v = v.With(name, strictjson.ArrayOf(owned...))
	}
	return v, nil
}

// own sets the controller of the methods in list that have none. room is how many bytes of controllers may still be
// written: 16 KiB of empty methods would make 60 MiB otherwise.
func own(list []strictjson.Value, id string, room *int) ([]strictjson.Value, error) {
	list = slices.Clone(list)
	for i, m := range list {
		if _, ok := m.Get("controller"); ok || m.Kind() != strictjson.Object {
			continue
		}
		if *room -= len(id); *room < 0 {
			return nil, fmt.Errorf("document above %d bytes with its DID in it: %w", did.MaxDocument, did.ErrTooLarge)
		}
		list[i] = m.With("controller", strictjson.StringOf(id))
	}
	return list, nil
}
