package did

import (
	"fmt"

	"github.com/multiformats/go-multibase"
)

// Base58 returns the base58btc text of b without a multibase prefix, "" for no bytes.
func Base58(b []byte) string { return Multibase(b)[1:] }

// Multibase returns the base58btc multibase text of b: "z", then Base58.
func Multibase(b []byte) string {
	s, err := multibase.Encode(multibase.Base58BTC, b)
	if err != nil {
		panic("did: base58btc is not supported: " + err.Error())
	}
	return s
}

// ParseBase58 reads base58btc text without a prefix. Each byte string has exactly one such text, so ParseBase58 and
// Base58 are inverse. Decoding takes quadratic time: text above MaxMultibase bytes is ErrTooLarge, empty or foreign
// characters are ErrKeyText.
func ParseBase58(text string) ([]byte, error) { return ParseMultibase("z" + text) }

// ParseMultibase reads base58btc multibase text, which starts with "z"; errors as for ParseBase58.
func ParseMultibase(text string) ([]byte, error) {
	if len(text) > MaxMultibase {
		return nil, fmt.Errorf("multibase text of %d bytes: %w", len(text), ErrTooLarge)
	}
	if len(text) < 2 || text[0] != 'z' {
		return nil, fmt.Errorf("not base58btc: %w", ErrKeyText)
	}
	_, b, err := multibase.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("not base58btc: %w", ErrKeyText)
	}
	return b, nil
}
