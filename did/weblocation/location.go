// Package weblocation answers: which https address does a DID name that is kept
// on a web server?
//
// did:web and did:webvh write a host, an optional port and path segments in the
// same way: separated by colons, percent-encoded where a DID does not allow the
// character. This package reads that text once for both (did:web, section
// "Read (Resolve)"; did:webvh 1.0, "The DID to HTTPS Transformation").
// Everything is judged in the form an HTTP client would connect to, so that no
// encoding hides an address or a path step.
//
// It does not look a name up and does not dial: what the name resolves to is
// judged by whoever connects.
package weblocation

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrLocation is wrapped by every refusal of Parse.
var ErrLocation = errors.New("not a web location")

// Location is a host, a port and a path as a DID names them. Made by Parse.
type Location struct {
	Host string   // ASCII form, lower case, never an address
	Port int      // 0: none named
	Path []string // decoded segments; empty: the host's .well-known
}

// Parse reads "host", "host%3Aport" or either with ":segment" after it, the part of
// a DID that names its place. A host of one label is accepted; see Qualified. Every
// refusal wraps ErrLocation.
func Parse(text string) (Location, error) {
	if len(text) > maxText {
		return Location{}, fmt.Errorf("%w: %d bytes, more than %d", ErrLocation, len(text), maxText)
	}
	parts := strings.Split(text, ":")
	if len(parts)-1 > maxSegments {
		return Location{}, fmt.Errorf("%w: more than %d path segments", ErrLocation, maxSegments)
	}
	var l Location
	var err error
	if l.Host, l.Port, err = parseHost(parts[0]); err != nil {
		return Location{}, err
	}
	for _, p := range parts[1:] {
		segment, err := parseSegment(p)
		if err != nil {
			return Location{}, err
		}
		l.Path = append(l.Path, segment)
	}
	return l, nil
}

// File returns the https URL of the file called name at this place; name is a
// constant of the method, such as "did.json".
func (l Location) File(name string) string {
	var b strings.Builder
	b.WriteString("https://" + l.Host)
	if l.Port != 0 {
		b.WriteString(":" + strconv.Itoa(l.Port))
	}
	if len(l.Path) == 0 {
		b.WriteString("/.well-known")
	}
	for _, p := range l.Path {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String() + "/" + name
}

// Qualified reports whether the host has more than one label, so that it means the
// same machine in every network.
func (l Location) Qualified() bool { return strings.Contains(l.Host, ".") }

// hosts maps a name as browsers do and refuses what is no DNS name.
var hosts = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

func parseHost(s string) (string, int, error) {
	decoded, err := unescape(s)
	if err != nil {
		return "", 0, err
	}
	name, portText, hasPort := strings.Cut(decoded, ":")
	port := 0
	if hasPort {
		if port, err = parsePort(portText); err != nil {
			return "", 0, err
		}
	}
	ascii, err := hosts.ToASCII(name)
	if err != nil {
		return "", 0, fmt.Errorf("%w: host %q: %v", ErrLocation, name, err)
	}
	if err := checkHost(ascii); err != nil {
		return "", 0, err
	}
	return ascii, port, nil
}

func parsePort(s string) (int, error) {
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != s {
		return 0, fmt.Errorf("%w: port %q", ErrLocation, s)
	}
	return int(port), nil
}

// checkHost refuses every spelling of an address: a name whose last label is a
// number, decimal or hex, is dialed as IPv4 by many clients.
func checkHost(host string) error {
	if len(host) > maxHost {
		return fmt.Errorf("%w: host longer than %d bytes", ErrLocation, maxHost)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return fmt.Errorf("%w: host %q ends in a dot", ErrLocation, host)
	}
	if strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("%w: host %q is an address", ErrLocation, host)
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" {
		return fmt.Errorf("%w: host %q is an address", ErrLocation, host)
	}
	return nil
}

func parseSegment(s string) (string, error) {
	segment, err := unescape(s)
	if err != nil {
		return "", err
	}
	if segment == "" || segment == "." || segment == ".." {
		return "", fmt.Errorf("%w: path segment %q", ErrLocation, segment)
	}
	for _, r := range segment {
		if strings.ContainsRune(`/\%?#:@`, r) || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return "", fmt.Errorf("%w: path segment %q", ErrLocation, segment)
		}
	}
	return segment, nil
}

func unescape(s string) (string, error) {
	out, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrLocation, err)
	}
	if !utf8.ValidString(out) {
		return "", fmt.Errorf("%w: %q is not UTF-8", ErrLocation, s)
	}
	return out, nil
}
