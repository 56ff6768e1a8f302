package casefile

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// secrets are what this project's secrets begin with: the token of an operator, that of an agent, and recovery keys.
// The dashes of a recovery key may be left out.
var secrets = []string{"tno_", "tn1_", "rec1"}

// Secretive tells a text that may hold a secret: a word of it begins as one does, in either case. A report is read by others
// than whoever holds the file.
func Secretive(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(secrets, func(mark string) bool {
		for at := 0; ; {
			i := strings.Index(s[at:], mark)
			if i < 0 {
				return false
			}
			if at += i; at == 0 || !alphanumeric(s[at-1]) {
				return true
			}
			at++
		}
	})
}

func alphanumeric(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }

// Quote shows foreign text on one line, cut after most bytes, and nothing of one that may hold a secret.
func Quote(s string, most int) string {
	if Secretive(s) {
		return "(a text that looks like a secret)"
	}
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

func quote(s string) string { return Quote(s, maxText) }

// OneLine writes what cannot be printed as an escape: whoever words a line of a report takes names and texts of others, and
// no newline or direction mark in one may make another line.
func OneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if unseen(r) {
			q := strconv.QuoteRune(r)
			out.WriteString(q[1 : len(q)-1])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }

// Thousands writes a number with separators.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number with its noun; "one|many" names both forms.
func Count(n int, noun string) string {
	one, many, ok := strings.Cut(noun, "|")
	if !ok {
		many = noun + "s"
	}
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Stamp writes a time in UTC, to the second.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
