package did

import (
	"fmt"
	"strings"
)

// URL is a DID URL (DID Core 1.0, section 3.2): a DID with an optional path, query and fragment, kept byte for byte.
// Comparable; the zero value is no URL. Made by ParseURL.
type URL struct {
	s              string
	id, path, frag int // ends of the DID and of the path; where the fragment starts, after its '#', or 0
}

// ParseURL reads an absolute DID URL. A bare DID is one too. Errors are ErrSyntax and, beyond MaxURLTail bytes after
// the longest DID, ErrTooLarge.
func ParseURL(s string) (URL, error) {
	if len(s) > limitOf(s)+MaxURLTail {
		return URL{}, fmt.Errorf("DID URL of %d bytes: %w", len(s), ErrTooLarge)
	}
	n, err := scanDID(s)
	if err != nil {
		return URL{}, err
	}
	if n > limitOf(s) {
		return URL{}, fmt.Errorf("DID of %d bytes: %w", n, ErrTooLarge)
	}
	u := URL{s: s, id: n, path: n}
	if n < len(s) && s[n] == '/' {
		u.path = scanURL(s, n, "/")
	}
	end := u.path
	if end < len(s) && s[end] == '?' {
		end = scanURL(s, end+1, "/?")
	}
	if end < len(s) && s[end] == '#' {
		u.frag = end + 1
		end = scanURL(s, u.frag, "/?")
	}
	if end < len(s) {
		return URL{}, fmt.Errorf("byte 0x%02x at %d has no place in a DID URL: %w", s[end], end, ErrSyntax)
	}
	return u, nil
}

// scanURL steps over pchar (RFC 3986, section 3.3) and the bytes in also.
func scanURL(s string, i int, also string) int {
	const marks = "~!$&'()*+,;=:@"
	for i < len(s) {
		switch c := s[i]; {
		case isIDChar(c) || strings.IndexByte(marks, c) >= 0 || strings.IndexByte(also, c) >= 0:
			i++
		case isEscape(s, i):
			i += 3
		default:
			return i
		}
	}
	return i
}

// IsFragment reports whether s can stand after the '#' of a DID URL: 1 to 1,024 bytes of the characters that
// RFC 3986, section 3.5 allows. A kid in a signed body is such a fragment.
func IsFragment(s string) bool {
	return s != "" && len(s) <= maxFragment && scanURL(s, 0, "/?") == len(s)
}

// String returns the URL byte for byte as it was parsed.
func (u URL) String() string { return u.s }

// IsZero reports whether u is the zero value.
func (u URL) IsZero() bool { return u.s == "" }

// DID returns the DID that the URL starts with.
func (u URL) DID() DID { return DID{u.s[:u.id]} }

// Path returns the path with its leading slash, or "".
func (u URL) Path() string { return u.s[u.id:u.path] }

// Query returns the query without its question mark, or "".
func (u URL) Query() string {
	end := len(u.s)
	if u.frag > 0 {
		end = u.frag - 1
	}
	if u.path == end {
		return ""
	}
	return u.s[u.path+1 : end]
}

// Fragment returns the fragment without its number sign, or "".
func (u URL) Fragment() string {
	if u.frag == 0 {
		return ""
	}
	return u.s[u.frag:]
}
