package didweb

import (
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/weblocation"
)

// Method is the name of the method, as did.DID.Method returns it.
const Method = "web"

// ErrIdentifier is wrapped by every refusal of a did:web identifier.
var ErrIdentifier = errors.New("not a did:web identifier")

// Identifier is what a did:web DID says: the place of its document.
type Identifier struct{ weblocation.Location }

// ParseIdentifier reads the method-specific part of d (did:web, section "Method-specific identifier"); the rules are
// those of weblocation.Parse, and a host of one label is allowed. The DID itself is never rewritten: two spellings of one
// place are two DIDs. Every refusal wraps ErrIdentifier.
func ParseIdentifier(d did.DID) (Identifier, error) {
	if d.Method() != Method {
		return Identifier{}, fmt.Errorf("%w: the method is %q", ErrIdentifier, d.Method())
	}
	at, err := weblocation.Parse(d.ID())
	if err != nil {
		return Identifier{}, fmt.Errorf("%w: %w", ErrIdentifier, err)
	}
	return Identifier{at}, nil
}

// URL is where the document is published.
func (id Identifier) URL() string { return id.File("did.json") }
