package didwebvh

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Method is the name of the method, as did.DID.Method returns it.
const Method = "webvh"

// Identifier is what a did:webvh DID says: its SCID and the place of its log.
type Identifier struct {
	SCID string   // base58btc multihash of the first entry
	Host string   // ASCII form, lower case, never an address
	Port int      // 0: none named
	Path []string // decoded segments; empty: the host's .well-known
}

// ParseIdentifier reads the method-specific part of d: did:webvh 1.0, section
// "Method-Specific Identifier". Everything is judged in the form an HTTP client
// would connect to, so that no encoding hides an address or a path step. Every
// refusal wraps ErrIdentifier.
func ParseIdentifier(d did.DID) (Identifier, error) {
	rest, ok := strings.CutPrefix(d.String(), "did:"+Method+":")
	if !ok {
		return Identifier{}, fmt.Errorf("%w: the method is %q", ErrIdentifier, d.Method())
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 {
		return Identifier{}, fmt.Errorf("%w: no host", ErrIdentifier)
	}
	if len(parts)-2 > maxSegments {
		return Identifier{}, fmt.Errorf("%w: more than %d path segments", ErrIdentifier, maxSegments)
	}
	if !isHash(parts[0]) {
		return Identifier{}, fmt.Errorf("%w: the SCID is not a sha2-256 multihash", ErrIdentifier)
	}
	id := Identifier{SCID: parts[0]}
	var err error
	if id.Host, id.Port, err = parseHost(parts[1]); err != nil {
		return Identifier{}, err
	}
	for _, p := range parts[2:] {
		segment, err := parseSegment(p)
		if err != nil {
			return Identifier{}, err
		}
		id.Path = append(id.Path, segment)
	}
	return id, nil
}

// URL is where the log is published.
func (id Identifier) URL() string { return id.file("did.jsonl") }

// WitnessURL is where the witness proofs are published.
func (id Identifier) WitnessURL() string { return id.file("did-witness.json") }

func (id Identifier) file(name string) string {
	var b strings.Builder
	b.WriteString("https://" + id.Host)
	if id.Port != 0 {
		b.WriteString(":" + strconv.Itoa(id.Port))
	}
	if len(id.Path) == 0 {
		b.WriteString("/.well-known")
	}
	for _, p := range id.Path {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String() + "/" + name
}

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
		return "", 0, fmt.Errorf("%w: host %q: %v", ErrIdentifier, name, err)
	}
	if err := checkHost(ascii); err != nil {
		return "", 0, err
	}
	return ascii, port, nil
}

func parsePort(s string) (int, error) {
	port, err := strconv.ParseUint(s, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != s {
		return 0, fmt.Errorf("%w: port %q", ErrIdentifier, s)
	}
	return int(port), nil
}

// checkHost refuses every spelling of an address: a name whose last label is a
// number, decimal or hex, is dialed as IPv4 by many clients.
func checkHost(host string) error {
	if len(host) > maxHost {
		return fmt.Errorf("%w: host longer than %d bytes", ErrIdentifier, maxHost)
	}
	labels := strings.Split(host, ".")
	if len(labels) < 2 {
		return fmt.Errorf("%w: host %q is not a fully qualified name", ErrIdentifier, host)
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("%w: host %q is an address", ErrIdentifier, host)
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok && strings.Trim(hex, "0123456789abcdef") == "" {
		return fmt.Errorf("%w: host %q is an address", ErrIdentifier, host)
	}
	return nil
}

func parseSegment(s string) (string, error) {
	segment, err := unescape(s)
	if err != nil {
		return "", err
	}
	if segment == "" || segment == "." || segment == ".." {
		return "", fmt.Errorf("%w: path segment %q", ErrIdentifier, segment)
	}
	for _, r := range segment {
		if strings.ContainsRune(`/\%?#:@`, r) || !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return "", fmt.Errorf("%w: path segment %q", ErrIdentifier, segment)
		}
	}
	return segment, nil
}

func unescape(s string) (string, error) {
	out, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrIdentifier, err)
	}
	if !utf8.ValidString(out) {
		return "", fmt.Errorf("%w: %q is not UTF-8", ErrIdentifier, s)
	}
	return out, nil
}

// escapeSegment writes a path segment, or a host with its port, as it stands in a DID.
func escapeSegment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '-' || c == '.' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// isHash reports whether s is base58btc of a sha2-256 multihash in its one spelling.
func isHash(s string) bool {
	id, err := envelope.ParseID("z" + s)
	return err == nil && id.String() == "z"+s
}

// hashText is base58btc of the multihash of sum.
func hashText(sum [32]byte) string { return did.Base58(append([]byte{0x12, 0x20}, sum[:]...)) }
