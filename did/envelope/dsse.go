package envelope

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"trustnode/did"
)

// DSSE JSON is written in one way only, with these pieces between the values.
const (
	dsseBody  = `{"payload":"`
	dsseType  = `","payloadType":"`
	dsseSigs  = `","signatures":[`
	dsseKeyID = `{"keyid":"`
	dsseSig   = `","sig":"`
	dsseNext  = `"}`
	dsseEnd   = `]}`
)

// sigTextLen is the length of a signature in base64 with padding, in bytes.
const sigTextLen = 88

// DSSE returns the object as DSSE JSON, in the canonical form, without a line feed at the end.
func (e Envelope) DSSE() []byte {
	n := base64.StdEncoding.EncodedLen(len(e.Body))
	b := make([]byte, 0, n+len(e.Type)+64+len(e.Signatures)*(sigTextLen+96))
	b = append(b, dsseBody...)
	b = base64.StdEncoding.AppendEncode(b, e.Body)
	b = append(append(append(b, dsseType...), e.Type...), dsseSigs...)
	for i, s := range e.Signatures {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, dsseKeyID...), s.KeyID...), dsseSig...)
		b = base64.StdEncoding.AppendEncode(b, s.Sig[:])
		b = append(b, dsseNext...)
	}
	return append(b, dsseEnd...)
}

// ParseDSSE reads what DSSE writes and nothing else, so that one document is one byte string: members in that order, no
// white space, padded canonical base64, signatures in order and without repetition. There may be none: a draft. max is
// the cap of the body in bytes; its form is not looked at. Errors are *FormError and ErrTooLarge.
func ParseDSSE(b []byte, max int) (Envelope, error) {
	limit := base64.StdEncoding.EncodedLen(max) + maxType + 64 + MaxSignatures*(MaxKeyID+sigTextLen+32)
	if len(b) > limit {
		return Envelope{}, fmt.Errorf("DSSE of %d bytes: %w", len(b), ErrTooLarge)
	}
	p := dsseParser{rest: string(b)}
	e, f := p.envelope()
	if f != nil {
		return Envelope{}, f
	}
	if len(e.Body) > max {
		return Envelope{}, fmt.Errorf("body of %d bytes, at most %d: %w", len(e.Body), max, ErrTooLarge)
	}
	return e, nil
}

type dsseParser struct{ rest string }

func (p *dsseParser) envelope() (Envelope, *FormError) {
	var e Envelope
	payload, f := p.quoted(dsseBody, "payload")
	if f != nil {
		return e, f
	}
	if e.Body, f = base64Of(base64.StdEncoding, payload, "payload"); f != nil {
		return e, f
	}
	typ, f := p.quoted(dsseType, "payloadType")
	if f != nil {
		return e, f
	}
	if e.Type = Type(typ); !e.Type.valid() {
		return e, &FormError{Path: "payloadType", What: "not a type of this project"}
	}
	if !p.literal(dsseSigs) {
		return e, p.unexpected("signatures")
	}
	if e.Signatures, f = p.signatures(); f != nil {
		return e, f
	}
	if p.rest != "" {
		return e, &FormError{What: "bytes after the end"}
	}
	return e, nil
}

func (p *dsseParser) literal(s string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, s)
	return ok
}

// quoted reads the bytes between a literal that ends in a quotation mark and the next one.
func (p *dsseParser) quoted(before, name string) (string, *FormError) {
	if !p.literal(before) {
		return "", p.unexpected(name)
	}
	n := strings.IndexByte(p.rest, '"')
	if n < 0 {
		return "", &FormError{Path: name, What: "unexpected end of string"}
	}
	s := p.rest[:n]
	p.rest = p.rest[n:]
	return s, nil
}

func (p *dsseParser) unexpected(name string) *FormError {
	return &FormError{Path: name, What: "missing, repeated, or not where the one form of DSSE JSON has it"}
}

func (p *dsseParser) signatures() ([]Signature, *FormError) {
	if p.literal(dsseEnd) {
		return nil, nil
	}
	var sigs []Signature
	for {
		path := "signatures[" + strconv.Itoa(len(sigs)) + "]"
		if len(sigs) == MaxSignatures {
			return nil, &FormError{Path: path, What: "more than 128 signatures"}
		}
		s, f := p.signature()
		if f != nil {
			return nil, f.under(path)
		}
		if len(sigs) > 0 && sigs[len(sigs)-1].compare(s) >= 0 {
			return nil, &FormError{Path: path, What: "out of order, or a repetition"}
		}
		sigs = append(sigs, s)
		switch {
		case p.literal(","):
		case p.literal(dsseEnd):
			return sigs, nil
		default:
			return nil, &FormError{Path: path, What: "expected a comma or the end"}
		}
	}
}

func (p *dsseParser) signature() (Signature, *FormError) {
	kid, f := p.quoted(dsseKeyID, "keyid")
	if f != nil {
		return Signature{}, f
	}
	if !validKeyID(kid) {
		return Signature{}, &FormError{Path: "keyid", What: whatKeyID}
	}
	text, f := p.quoted(dsseSig, "sig")
	if f != nil {
		return Signature{}, f
	}
	sig, f := signatureOf(base64.StdEncoding, text)
	if f != nil {
		return Signature{}, f
	}
	if !p.literal(dsseNext) {
		return Signature{}, p.unexpected("sig")
	}
	return Signature{KeyID: kid, Sig: sig}, nil
}

func signatureOf(enc *base64.Encoding, text string) (did.Signature, *FormError) {
	b, f := base64Of(enc, text, "sig")
	if f != nil {
		return did.Signature{}, f
	}
	if len(b) != len(did.Signature{}) {
		return did.Signature{}, &FormError{Path: "sig", What: fmt.Sprintf("%d bytes, expected 64", len(b))}
	}
	return did.Signature(b), nil
}

// base64Of decodes the one spelling of some bytes: the standard decoder skips line breaks, which would be others.
func base64Of(enc *base64.Encoding, text, name string) ([]byte, *FormError) {
	b, err := enc.Strict().DecodeString(text)
	if err != nil || enc.EncodedLen(len(b)) != len(text) {
		return nil, &FormError{Path: name, What: "not canonical base64"}
	}
	return b, nil
}

// Compact returns base64url(body) "." base64url(signature), without padding, for headers and tool arguments. Only an
// object with exactly one signature has this form.
func (e Envelope) Compact() (string, error) {
	if len(e.Signatures) != 1 {
		return "", fmt.Errorf("object with %d signatures has no compact form", len(e.Signatures))
	}
	enc := base64.RawURLEncoding
	b := make([]byte, 0, enc.EncodedLen(len(e.Body))+1+enc.EncodedLen(64))
	b = append(enc.AppendEncode(b, e.Body), '.')
	return string(enc.AppendEncode(b, e.Signatures[0].Sig[:])), nil
}

// ParseCompact reads what Compact writes. The form does not name the type: the place where it stands does. max is the
// cap of the body in bytes. The keyid is the body's kid, so the body must be canonical. Errors are *FormError and
// ErrTooLarge.
func ParseCompact(s string, t Type, max int) (Envelope, error) {
	enc := base64.RawURLEncoding
	if len(s) > enc.EncodedLen(max)+1+enc.EncodedLen(64) {
		return Envelope{}, fmt.Errorf("compact object of %d bytes: %w", len(s), ErrTooLarge)
	}
	payload, tail, ok := strings.Cut(s, ".")
	if !ok {
		return Envelope{}, &FormError{What: "no full stop between body and signature"}
	}
	body, f := base64Of(enc, payload, "payload")
	if f != nil {
		return Envelope{}, f
	}
	sig, f := signatureOf(enc, tail)
	if f != nil {
		return Envelope{}, f
	}
	return Join(t, body, sig)
}
