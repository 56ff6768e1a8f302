package strictjson

import (
	"fmt"

	"github.com/gowebpki/jcs"
)

// Canonicalize returns the RFC 8785 form of the JSON in b. It refuses what Parse refuses, with a *SyntaxError, before
// the transform sees a byte: the transform alone lets invalid UTF-8 through and leaves lone surrogates to chance.
func Canonicalize(b []byte, maxDepth int) ([]byte, error) {
	if _, err := Parse(b, maxDepth); err != nil {
		return nil, err
	}
	return transform(b)
}

// Canonical returns the RFC 8785 form of v. A value put together from strings that are not UTF-8, or from members
// with equal names, is an error.
func (v Value) Canonical() ([]byte, error) {
	b := v.Raw()
	if v.raw == "" {
		// Parts may come from Parse, but the whole never did: a member set twice would sign two readings.
		if _, err := Parse(b, builtDepth); err != nil {
			return nil, err
		}
	}
	return transform(b)
}

func transform(b []byte) ([]byte, error) {
	out, err := jcs.Transform(b)
	if err != nil {
		return nil, fmt.Errorf("no RFC 8785 form: %v", err)
	}
	return out, nil
}
