package didpeer

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// longNames are the member names that numalgo 2 writes short.
var longNames = map[string]string{"a": "accept", "r": "routingKeys", "s": "serviceEndpoint", "t": "type"}

// The one type of service that numalgo 2 writes short.
const (
	shortDIDComm = "dm"
	longDIDComm  = "DIDCommMessaging"
)

// serviceText adds the service that text is: unpadded base64url of a JSON object. Before the specification was clarified in
// 2023, writers put all services of a DID into one element, as an array; that is read too.
func (f *draft) serviceText(text string) error {
	// Not strict, the decoder would ignore bits at the end, and one service would have many texts.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return fmt.Errorf("%w: service is not unpadded base64url", ErrForm)
	}
	v, err := strictjson.Parse(raw, maxServiceDepth)
	if err != nil {
		return fmt.Errorf("%w: service: %v", ErrForm, err)
	}
	if v.Kind() != strictjson.Array {
		return f.service(v)
	}
	for _, e := range v.Elements() {
		if err := f.service(e); err != nil {
			return err
		}
	}
	return nil
}

// service adds one service, with its names written out and an id.
func (f *draft) service(v strictjson.Value) error {
	if v.Kind() != strictjson.Object {
		return fmt.Errorf("%w: service is %v, expected object", ErrForm, v.Kind())
	}
	if len(f.services) == did.MaxServices {
		return fmt.Errorf("more than %d services: %w", did.MaxServices, did.ErrTooLarge)
	}
	v = expand(v)
	if id, ok := v.Get("id"); !ok {
		v = v.With("id", strictjson.StringOf(f.nextServiceID()))
	} else if ref, _ := id.Text(); ref == "" || ref[0] != '#' || !did.IsFragment(ref[1:]) {
		return fmt.Errorf("%w: id of a service is not # and a fragment", ErrForm)
	}
	f.services = append(f.services, v)
	return nil
}

// nextServiceID counts the services without an id: #service, #service-1, #service-2.
func (f *draft) nextServiceID() string {
	id := "#service"
	if f.unnamed > 0 {
		id += "-" + strconv.Itoa(f.unnamed)
	}
	f.unnamed++
	return id
}

// expand writes out the short names at every depth, and the short type. Where a name then stands twice, the document
// has no canonical form and is refused.
func expand(v strictjson.Value) strictjson.Value {
	switch v.Kind() {
	case strictjson.Object:
		members := make([]strictjson.Member, len(v.Members()))
		for i, m := range v.Members() {
			members[i] = expandMember(m)
		}
		return strictjson.ObjectOf(members...)
	case strictjson.Array:
		elems := make([]strictjson.Value, len(v.Elements()))
		for i, e := range v.Elements() {
			elems[i] = expand(e)
		}
		return strictjson.ArrayOf(elems...)
	}
	return v
}

func expandMember(m strictjson.Member) strictjson.Member {
	if long, ok := longNames[m.Name]; ok {
		m.Name = long
	}
	if text, _ := m.Value.Text(); m.Name == "type" && text == shortDIDComm {
		m.Value = strictjson.StringOf(longDIDComm)
		return m
	}
	m.Value = expand(m.Value)
	return m
}
