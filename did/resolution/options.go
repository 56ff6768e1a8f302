package resolution

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
)

// options collects what the queries of a request ask for.
type options struct {
	seen    []string
	version did.Options
	rel     did.Relationship
	accept  *string
}

var relationships = []did.Relationship{
	did.Authentication, did.AssertionMethod, did.KeyAgreement, did.CapabilityInvocation, did.CapabilityDelegation,
}

// read takes the options of one query in: name=value, joined by "&", percent-encoded (RFC 3986: a plus is a plus). DID
// parameters and resolution options share one space of names, since a request that is not encoded has one query for both.
func (o *options) read(query string) error {
	if query == "" {
		return nil
	}
	if len(query) > maxQuery {
		return refuse(did.InvalidOptions, fmt.Sprintf("query of %d bytes", len(query)), did.ErrTooLarge)
	}
	if strings.Count(query, "&") >= maxPairs {
		return refuse(did.InvalidOptions, fmt.Sprintf("more than %d options", maxPairs), did.ErrTooLarge)
	}
	for pair := range strings.SplitSeq(query, "&") {
		if err := o.pair(pair); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) pair(pair string) error {
	rawName, rawValue, ok := strings.Cut(pair, "=")
	name, nameErr := url.PathUnescape(rawName)
	value, valueErr := url.PathUnescape(rawValue)
	switch {
	case !ok || nameErr != nil || valueErr != nil:
		return refuse(did.InvalidOptions, "option is not name=value, percent-encoded", nil)
	case !visible(value):
		return refuse(did.InvalidOptions, fmt.Sprintf("%.32q is empty or not ASCII text", name), nil)
	case slices.Contains(o.seen, name):
		return refuse(did.InvalidOptions, fmt.Sprintf("%.32q is given twice", name), nil)
	}
	o.seen = append(o.seen, name)
	return o.set(name, value)
}

// visible reports whether s is printable ASCII, with spaces only inside, and not empty.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && s[0] != ' ' && s[len(s)-1] != ' '
}

func (o *options) set(name, value string) error {
	switch name {
	case "versionId":
		if len(value) > maxVersionID {
			return refuse(did.InvalidOptions, "versionId is too long", did.ErrTooLarge)
		}
		o.version.VersionID = value
	case "versionTime":
		return o.setTime(value)
	case "versionNumber":
		return o.setNumber(value)
	case "verificationRelationship":
		if !slices.Contains(relationships, did.Relationship(value)) {
			return refuse(did.InvalidOptions, "no such verificationRelationship", nil)
		}
		o.rel = did.Relationship(value)
	case "accept":
		o.accept = &value
	case "service", "serviceType", "relativeRef", "hl", "noCache", "expandRelativeUrls":
		return unsupported(name, value)
	default:
		return refuse(did.InvalidOptions, fmt.Sprintf("no option %.32q", name), nil)
	}
	return nil
}

// setTime reads a datetime of DID Resolution 1.0, section 3.1: UTC, whole seconds, one spelling.
func (o *options) setTime(value string) error {
	at, err := time.Parse(time.RFC3339, value)
	if err != nil || at.IsZero() || at.UTC().Format("2006-01-02T15:04:05Z") != value {
		return refuse(did.InvalidOptions, "versionTime is not as 2026-12-01T10:00:00Z", nil)
	}
	o.version.VersionTime = at
	return nil
}

func (o *options) setNumber(value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != value {
		return refuse(did.InvalidOptions, "versionNumber is no number from 1", nil)
	}
	o.version.VersionNumber = n
	return nil
}

// unsupported refuses options of the draft that are not followed here; the two flags may be named to be declined.
func unsupported(name, value string) error {
	if flag := name == "noCache" || name == "expandRelativeUrls"; flag {
		switch value {
		case "false":
			return nil
		case "true":
		default:
			return refuse(did.InvalidOptions, name+" is neither true nor false", nil)
		}
	}
	return refuse(did.FeatureNotSupported, name, nil)
}

// contradiction finds what no single option shows.
func (o *options) contradiction(frag string) error {
	n := 0
	for _, name := range []string{"versionId", "versionTime", "versionNumber"} {
		if slices.Contains(o.seen, name) {
			n++
		}
	}
	if n > 1 {
		return refuse(did.InvalidOptions, "more than one version is asked for", nil)
	}
	if o.rel != "" && frag == "" {
		return refuse(did.InvalidOptions, "verificationRelationship without the fragment of a method", nil)
	}
	return nil
}
