package weblocation_test

import (
	"errors"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"trustnode/did/weblocation"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want weblocation.Location
		file string
	}{
		"a bare host keeps its files under .well-known": {"acme.example",
			weblocation.Location{Host: "acme.example"}, "https://acme.example/.well-known/f"},
		"a path stands in its place": {"acme.example:api:v1",
			weblocation.Location{Host: "acme.example", Path: []string{"api", "v1"}}, "https://acme.example/api/v1/f"},
		"a host of one label with a port": {"domain%3A1100:api:v1",
			weblocation.Location{Host: "domain", Port: 1100, Path: []string{"api", "v1"}}, "https://domain:1100/api/v1/f"},
		"upper case in a host means the same host": {"ACME.Example%3a443",
			weblocation.Location{Host: "acme.example", Port: 443}, "https://acme.example:443/.well-known/f"},
		"letters beyond ASCII are mapped as browsers map them": {"b%C3%BCcher.example",
			weblocation.Location{Host: "xn--bcher-kva.example"}, "https://xn--bcher-kva.example/.well-known/f"},
		"letters beyond ASCII in a path are escaped": {"acme.example:%C3%A9",
			weblocation.Location{Host: "acme.example", Path: []string{"é"}}, "https://acme.example/%C3%A9/f"},
		"dots within a segment are no step": {"acme.example:...:.a",
			weblocation.Location{Host: "acme.example", Path: []string{"...", ".a"}}, "https://acme.example/.../.a/f"},
	} {
		got, err := weblocation.Parse(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) || got.File("f") != c.file {
			t.Errorf("%s: got %+v at %s, %v; want %+v at %s", name, got, got.File("f"), err, c.want, c.file)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                              "",
		"an address":                           "127.0.0.1",
		"an address with escaped dots":         "127%2E0%2E0%2E1",
		"an address of one number":             "2130706433",
		"an address in octal":                  "0177.0.0.01",
		"an address in hex":                    "0x7f000001",
		"an address whose last part is hex":    "127.0.0.0x1",
		"an address whose last part is 0x":     "127.0.0.0x",
		"an address in fullwidth digits":       "%EF%BC%91.%EF%BC%91.%EF%BC%91.%EF%BC%91",
		"an address with an ideographic stop":  "127%E3%80%820%E3%80%820%E3%80%821",
		"an IPv6 address":                      "%5B%3A%3A1%5D",
		"a trailing dot":                       "acme.example.",
		"an empty label":                       "acme..example",
		"an underscore":                        "a_b.example",
		"a leading hyphen":                     "-acme.example",
		"user information":                     "a%40evil.example",
		"a password":                           "a%3Ab%40evil.example",
		"a path behind an escape":              "acme.example%2Fevil",
		"a query behind an escape":             "acme.example%3Fq",
		"a port of zero":                       "acme.example%3A0",
		"a port with a leading zero":           "acme.example%3A080",
		"a port above 65535":                   "acme.example%3A65536",
		"a port that is a word":                "acme.example%3Auser",
		"a port without digits":                "acme.example%3A",
		"two ports":                            "acme.example%3A1%3A2",
		"an empty segment":                     "acme.example::a",
		"a segment at the end without text":    "acme.example:",
		"a step up":                            "acme.example:..",
		"a step up behind escapes":             "acme.example:%2e%2E",
		"an escaped escape":                    "acme.example:%252e%252e",
		"a slash in a segment":                 "acme.example:a%2Fb",
		"a backslash in a segment":             "acme.example:a%5Cb",
		"a NUL in a segment":                   "acme.example:a%00b",
		"a line break in a segment":            "acme.example:a%0Ab",
		"an invisible character in a segment":  "acme.example:a%E2%80%8Bb",
		"bytes that are not UTF-8":             "acme.example:%FF",
		"a host whose bytes are not UTF-8":     "%FF.example",
		"an escape cut short":                  "acme.example:%2",
		"more segments than any identifier":    "acme.example" + strings.Repeat(":a", 33),
		"more bytes than a DID has":            "acme.example:" + strings.Repeat("a", 2048),
		"a label of 64 bytes":                  strings.Repeat("a", 64) + ".example",
		"a name of more than 253 bytes":        strings.Repeat("aaaaaaaaa.", 25) + "example",
		"a soft hyphen that leaves no host":    "%C2%AD",
		"a right-to-left label that breaks it": "%D7%90a.example",
	} {
		got, err := weblocation.Parse(text)
		if !errors.Is(err, weblocation.ErrLocation) || !reflect.DeepEqual(got, weblocation.Location{}) {
			t.Errorf("%s: %s gives %+v, %v; want ErrLocation", name, text, got, err)
		}
	}
}

func TestQualified(t *testing.T) {
	for text, want := range map[string]bool{"localhost": false, "localhost%3A1:a.b": false, "acme.example": true} {
		if l, err := weblocation.Parse(text); err != nil || l.Qualified() != want {
			t.Errorf("%s: got %v, %v, want %v", text, l.Qualified(), err, want)
		}
	}
}

// FuzzParse asks that whatever is accepted leads an HTTP client to that host and that file, and nowhere else.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"acme.example", "domain%3A1100:api:v1", "b%C3%BCcher.example", "a.b:%2e%2e", "0x7f.1", "127%2E0%2E0%2E1",
		"a.example:%E2%80%AE", "a%E3%80%82b", "a.example%3A65535:x:y", "%EF%BC%91.%EF%BC%91", "xn--a.example", "a.example:;p=1&x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := weblocation.Parse(s)
		if err != nil {
			if !errors.Is(err, weblocation.ErrLocation) {
				t.Fatalf("%q: %v is no ErrLocation", s, err)
			}
			return
		}
		u, err := url.Parse(l.File("did.json"))
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil || u.Hostname() != l.Host {
			t.Fatalf("%q leads to %s, not %s", s, u.Hostname(), l.Host)
		}
		path := strings.Join(l.Path, "/")
		if path == "" {
			path = ".well-known"
		}
		if u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "/"+path+"/did.json" {
			t.Fatalf("%q leads to %s", s, u)
		}
		if clean := u.JoinPath(); clean.String() != u.String() {
			t.Fatalf("%q leads to %s, which a client shortens to %s", s, u, clean)
		}
	})
}
