package resolution

import (
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// part returns the exact bytes of the method or service that a request names by fragment: the one whose absolute id is the
// DID of the document, '#', and the fragment: that of a log which moved has another than the one asked for. With a relationship it must be a method of this DID that is usable at the given time and
// listed there: DID Resolution 1.0, section 5.4.2.
func part(r did.Resolution, frag string, rel did.Relationship, at time.Time) ([]byte, error) {
	v, err := strictjson.Parse(r.Raw, did.MaxDocumentDepth)
	if err != nil {
		return nil, refuse(did.InternalError, "", err)
	}
	found, ok := element(v, r.Document.ID(), r.Document.ID().String()+"#"+frag)
	if !ok {
		return nil, refuse(did.NotFound, "no verification method or service has this id", nil)
	}
	if rel != "" {
		if err := authorized(r.Document, frag, rel, at); err != nil {
			return nil, err
		}
	}
	return found.Raw(), nil
}

func authorized(d did.Document, frag string, rel did.Relationship, at time.Time) error {
	_, err := d.KeyAt(frag, rel, at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, did.ErrRelationship):
		return refuse(did.InvalidRelationship, "", err)
	}
	return refuse(did.InvalidVerificationMethod, "", err)
}

// lists are the members that hold what a fragment can name, methods before services. Those after the first may hold
// references too; they are passed over.
var lists = append([]string{"verificationMethod"}, append(relationshipNames(), "service")...)

func relationshipNames() []string {
	out := make([]string, len(relationships))
	for i, r := range relationships {
		out[i] = string(r)
	}
	return out
}

func element(doc strictjson.Value, base did.DID, id string) (strictjson.Value, bool) {
	for _, name := range lists {
		list, _ := doc.Get(name)
		for _, e := range list.Elements() {
			v, _ := e.Get("id")
			if text, ok := v.Text(); ok && absolute(base, text) == id {
				return e, true
			}
		}
	}
	return strictjson.Value{}, false
}

// absolute makes a bare fragment absolute; no other relative reference can name what has the DID before its fragment.
func absolute(base did.DID, ref string) string {
	if ref != "" && ref[0] == '#' {
		return base.String() + ref
	}
	return ref
}
