package resolution

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"trustnode/did"
)

// Request is one DID or DID URL asked for, with its options. Immutable; the zero value asks for nothing. Made by Parse and
// ParseHTTP.
type Request struct {
	id   did.DID
	frag string // of a verification method or service; "" for the document
	opts did.Options
	rel  did.Relationship // that the method must be listed under; "" for any
	form form
	hash bool // the DID holds %23, as one does that was meant to have a fragment
}

// DID returns the DID to resolve, byte for byte as it was asked for.
func (r Request) DID() did.DID { return r.id }

// Fragment returns the fragment to look up in the document, without its number sign; "" asks for the document itself.
func (r Request) Fragment() string { return r.frag }

// Options returns the version asked for. Now is zero: a request has no clock.
func (r Request) Options() did.Options { return r.opts }

// Parse reads a DID or DID URL as a person writes it; options stand in its query. Its answer will be a resolution result,
// or a dereferencing result if there is a fragment. Errors are *did.ResolutionError: INVALID_DID, INVALID_DID_URL,
// INVALID_OPTIONS for an option that is unknown, malformed, given twice or in contradiction to another,
// FEATURE_NOT_SUPPORTED for a path, a service and options that this project does not follow.
func Parse(text string) (Request, error) {
	r, err := parse(text, "", "")
	return whole(r, err)
}

// ParseHTTP reads a GET request of DID Resolution 1.0, section 12.1. The identifier is what follows the endpoint in the
// path, not decoded; query is the raw query, and accept all Accept fields joined by commas. An identifier that starts with
// "did:" is taken byte for byte, so that did:web:host%3A8080 keeps its escape; one that starts with "did%3A" was encoded
// as a whole and is decoded once; only there can a fragment stand, as %23. There is no third spelling. An accept option in the query goes before the field. Errors
// are those of Parse, and REPRESENTATION_NOT_SUPPORTED if nothing acceptable can be sent.
func ParseHTTP(identifier, query, accept string) (Request, error) {
	r, err := parseHTTP(identifier, query, accept)
	return whole(r, err)
}

func whole(r Request, err error) (Request, error) {
	if err != nil {
		return Request{}, err
	}
	return r, nil
}

// parseHTTP is ParseHTTP; its request holds the form of the answer even beside an error.
func parseHTTP(identifier, query, accept string) (Request, error) {
	text, err := decode(identifier)
	if err != nil {
		text = "" // only the form of the refusal is still to be found
	}
	r, parseErr := parse(text, query, accept)
	r.hash = strings.Contains(r.id.String(), "%23")
	if err != nil {
		return r, err
	}
	return r, parseErr
}

func decode(identifier string) (string, error) {
	if len(identifier) > maxIdentifier {
		return "", refuse(did.InvalidDID, fmt.Sprintf("identifier of %d bytes", len(identifier)), did.ErrTooLarge)
	}
	const encoded = "did%3a"
	if len(identifier) < len(encoded) || !strings.EqualFold(identifier[:len(encoded)], encoded) {
		return identifier, nil
	}
	text, err := url.PathUnescape(identifier)
	if err != nil {
		return "", refuse(did.InvalidDID, "bad percent-encoding", did.ErrSyntax)
	}
	return text, nil
}

// parse reads everything, so that the form of the answer is known, and returns what is wrong in the order of DID
// Resolution 1.0, section 4.4: the DID, then the options.
func parse(text, query, accept string) (Request, error) {
	u, urlErr := parseURL(text)
	r := Request{form: formResult}
	var o options
	optErr := o.read(query)
	if urlErr == nil {
		r.id, r.frag = u.DID(), u.Fragment()
		optErr = errors.Join(optErr, o.read(u.Query()))
	}
	if o.accept != nil {
		accept = *o.accept
	}
	f, acceptErr := negotiate(accept, r.frag != "")
	r.form, r.rel, r.opts = f, o.rel, o.version
	for _, err := range []error{urlErr, optErr, o.contradiction(r.frag), acceptErr} {
		if err != nil {
			return r, first(err)
		}
	}
	return r, nil
}

// parseURL reads a DID or DID URL without path. A text that has the marks of a URL is refused as one.
func parseURL(text string) (did.URL, error) {
	name := did.InvalidDID
	if strings.ContainsAny(text, "/?#") {
		name = did.InvalidDIDURL
	}
	u, err := did.ParseURL(text)
	switch {
	case err != nil:
		return did.URL{}, refuse(name, "", err)
	case u.Path() != "":
		return did.URL{}, refuse(did.FeatureNotSupported, "paths are not dereferenced", nil)
	case strings.HasSuffix(text, "#"):
		return did.URL{}, refuse(did.InvalidDIDURL, "empty fragment", did.ErrSyntax)
	}
	return u, nil
}

func refuse(n did.ErrorName, detail string, err error) *did.ResolutionError {
	return &did.ResolutionError{Name: n, Detail: detail, Err: err}
}

// first returns the first resolution error in err.
func first(err error) error {
	var r *did.ResolutionError
	if errors.As(err, &r) {
		return r
	}
	return err
}
