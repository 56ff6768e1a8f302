package verifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didjwk"
	"trustnode/did/didkey"
	"trustnode/did/didpeer"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
	"trustnode/node/casefile"
)

// credential verifies a Verifiable Credential under what the material has of its issuer.
func (s *session) credential(b []byte) error {
	s.clock = s.at
	var issuer did.DID
	res, err := credential.Verify(s.ctx, b, credential.Options{At: s.at, Resolve: func(ctx context.Context, d did.DID) (did.Resolution, error) {
		issuer = d
		return s.resolve(ctx, d)
	}})
	switch {
	case errors.Is(err, credential.ErrUnsupported), errors.Is(err, errMethod):
		return &refusal{outcome: Unsupported, what: err.Error(), hint: "eddsa-jcs-2022 on VC 2.0 is what is read here"}
	case errors.Is(err, did.ErrAbsent):
		return s.refuse(s.lacks("the credential", issuer))
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(issuer)
	case err != nil:
		return s.refuse(s.credentialRefusal(b, issuer, err))
	}
	s.sayCredential(res)
	return nil
}

var errMethod = errors.New("the issuer's DID method is not supported")

// credentialRefusal tells a key that the issuer's document has no more from one that it never had. Of the first nothing
// in the files says whether it signed while it counted.
func (s *session) credentialRefusal(raw []byte, issuer did.DID, err error) error {
	var key *credential.KeyError
	if !errors.As(err, &key) || issuer.Method() != didwebvh.Method {
		return broken("%v", err)
	}
	if n, ok := s.left(issuer, key.Kid); ok {
		if err := s.once(raw, issuer, key.Kid, n-1); err != nil {
			return broken("%v", err)
		}
		return pending("%s left the document of %s in entry %d, and a credential is in no log that says when it was signed", key.Kid, s.short(issuer), n).
			hinted("the issuer signs it anew under its key of now: fetch it again from where it came")
	}
	if errors.Is(err, did.ErrNoMethod) {
		return pending("%v: no version here of %s lists it, and a newer one may", err, s.short(issuer)).
			hinted("give a newer DID log of %s with --with FILE; if it is the newest, the credential is not by this issuer", s.short(issuer))
	}
	return broken("%v", err)
}

// once refuses a credential that does not verify under the last version of its issuer's document, up to one, that listed its
// key and speaks for the name that the credential has for the issuer, whatever else is missing. Where there is none the key
// never signed under that name.
func (s *session) once(raw []byte, issuer did.DID, kid string, version int) error {
	h, err := s.ring.History(s.ctx, issuer)
	for n := version; n > 0 && err == nil; n-- {
		if v, _ := h.At(n); !v.Document.Lists(kid, did.AssertionMethod) {
			continue
		}
		_, err := credential.Verify(s.ctx, raw, credential.Options{At: s.at, Resolve: func(ctx context.Context, d did.DID) (did.Resolution, error) {
			return s.ring.Resolve(ctx, d, did.Options{Now: s.at, VersionNumber: uint64(n)})
		}})
		if !errors.Is(err, credential.ErrIssuer) {
			return err
		}
	}
	return cmp.Or(err, fmt.Errorf("%w: %s never listed %s", credential.ErrIssuer, issuer, kid))
}

// resolve answers from the material, or from the DID itself.
func (s *session) resolve(ctx context.Context, d did.DID) (did.Resolution, error) {
	switch o := (did.Options{Now: s.at}); d.Method() {
	case didpeer.Method:
		return didpeer.Resolver{}.Resolve(ctx, d, did.Material{}, o)
	case didjwk.Method:
		return didjwk.Resolver{}.Resolve(ctx, d, did.Material{}, o)
	case didkey.Method, didwebvh.Method, "web":
		return s.ring.Resolve(ctx, d, o)
	}
	return did.Resolution{}, errMethod
}

func (s *session) sayCredential(c credential.Result) {
	s.line("ok", "signed by %s under key %s%s", c.Issuer, c.Kid, ofVersion(staticAsNone(c.Version)))
	for _, subject := range c.Subjects {
		who := "a subject without an id"
		if subject != "" {
			who = quote(subject)
		}
		s.line("claim", "%s says this of %s: %s%s%s", s.short(c.Issuer), who, quote(typesOf(c.Types)), agentWords(c), span(c))
	}
	for _, w := range c.Warnings {
		s.line("unsaid", "%s: %s", quote(w.Where), w.What)
	}
	s.line("unsaid", "whether what it says is true, and whether this issuer may say it")
	s.orgVoucher(c.Issuer)
	s.unsaidHead(c.Issuer)
}

func staticAsNone(v string) string {
	if v == did.StaticVersion {
		return ""
	}
	return v
}

// typesOf joins the types beyond the one each credential has.
func typesOf(types []string) string {
	out := ""
	for _, t := range types {
		if t != "VerifiableCredential" {
			out += t + " "
		}
	}
	if out == "" {
		return "VerifiableCredential"
	}
	return out[:len(out)-1]
}

// agentWords says what a credential that is made of an agent object grants; "" of any other.
func agentWords(c credential.Result) string {
	subject, _ := c.Document.Get("credentialSubject")
	list, _ := subject.Get("capabilities")
	if !slices.Contains(c.Types, "AgentCredential") || list.Kind() != strictjson.Array {
		return ""
	}
	can := "nothing"
	for i, e := range list.Elements() {
		text, _ := e.Text()
		if i == 0 {
			can = quote(text)
		} else {
			can += ", " + quote(text)
		}
	}
	name, _ := subject.Get("name")
	kind, _ := subject.Get("kind")
	called, _ := name.Text()
	what, _ := kind.Text()
	return fmt.Sprintf(", %s %s, who may %s", quote(what), quote(called), can)
}

// span says from when until when the issuer stands by it.
func span(c credential.Result) string {
	out := ""
	if !c.ValidFrom.IsZero() {
		out += ", from " + casefile.Stamp(c.ValidFrom)
	}
	if !c.ValidUntil.IsZero() {
		out += ", until " + casefile.Stamp(c.ValidUntil)
	}
	return out
}
