package resolution

import "trustnode/did"

// form is a shape of an answer.
type form uint8

const (
	formResult        form = iota + 1 // a DID resolution result
	formDocument                      // the document, or the method or service, alone
	formDereferencing                 // a DID URL dereferencing result
	formLegacyResult                  // a result as before DID Resolution 1.0: errors are bare words
	formLegacyLD                      // the document alone, under its JSON-LD media type of DID Core 1.0
	formLegacyJSON                    // the document alone, under its JSON media type of DID Core 1.0
)

// Media types of answers.
const (
	MediaResult        = "application/did-resolution"
	MediaDocument      = "application/did"
	MediaDereferencing = "application/did-url-dereferencing"
	MediaLegacyResult  = `application/ld+json;profile="https://w3id.org/did-resolution"`
	MediaLegacyLD      = "application/did+ld+json"
	MediaLegacyJSON    = "application/did+json"
)

// offer is what can be sent. Their order decides between what a client likes equally.
type offer struct {
	form         form
	typ, profile string
	media        string
	document     bool // can answer for a document
	part         bool // can answer for a method or service
}

var offers = [...]offer{
	{formResult, MediaResult, "", MediaResult, true, false},
	{formDereferencing, MediaDereferencing, "", MediaDereferencing, true, true},
	{formDocument, MediaDocument, "", MediaDocument, true, true},
	{formLegacyResult, "application/ld+json", "https://w3id.org/did-resolution", MediaLegacyResult, true, false},
	{formLegacyLD, MediaLegacyLD, "", MediaLegacyLD, true, true},
	{formLegacyJSON, MediaLegacyJSON, "", MediaLegacyJSON, true, true},
}

func (f form) legacy() bool { return f >= formLegacyResult }

// alone reports whether the document is sent without a result around it.
func (f form) alone() bool { return f == formDocument || f == formLegacyLD || f == formLegacyJSON }

func (f form) media() string {
	for _, o := range offers {
		if o.form == f {
			return o.media
		}
	}
	return MediaResult
}

// negotiate chooses the form of an answer by RFC 9110, section 12.5.1; part says that a fragment is asked for. An empty
// accept takes anything. Beside an error stands the form in which to say it.
func negotiate(accept string, part bool) (form, error) {
	best, quality := fallback(part), 0
	if accept == "" {
		return best, nil
	}
	ranges, err := parseAccept(accept)
	if err != nil {
		return best, err
	}
	for _, o := range offers {
		if part && !o.part || !part && !o.document {
			continue
		}
		if q := qualityOf(o, ranges); q > quality {
			best, quality = o.form, q
		}
	}
	if quality == 0 {
		return best, refuse(did.RepresentationNotSupported, "none of the accepted media types can be sent", nil)
	}
	return best, nil
}

func fallback(part bool) form {
	if part {
		return formDereferencing
	}
	return formResult
}

// qualityOf is the weight, in thousandths, that the most specific of the matching ranges gives to an offer.
func qualityOf(o offer, ranges []mediaRange) int {
	quality, specific := 0, -1
	for _, r := range ranges {
		if s := r.matches(o); s > specific {
			quality, specific = r.q, s
		}
	}
	return quality
}
