package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// count says how many of something there are: "1 read", "2 reads".
func count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxLine is how much of a text one line shows, in characters.
const maxLine = 160

// oneLine shortens a text to one line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxLine {
		return string(r[:maxLine-1]) + "…"
	}
	return s
}

// orgWord is an organization in a list: its domain, and the beginning of what makes its
// DID its own.
func orgWord(did string) string {
	p := strings.SplitN(did, ":", 4)
	if len(p) != 4 || p[1] != "webvh" || len(p[2]) < 8 {
		return did
	}
	return p[3] + "[" + p[2][:8] + "]"
}

// haveOf says how many there are of how many that are asked for; more than that are said by themselves.
func haveOf(have, need int) string {
	if have > need && need > 0 {
		return fmt.Sprintf("by %d, where %d is asked for", have, need)
	}
	return fmt.Sprintf("%d of %d", have, need)
}

// witnessedWords says how many organizations cosigned of how many that the charter asks for, and which.
func witnessedWords(by []string, need int) string {
	out := "witnessed " + haveOf(len(by), need)
	for i, d := range by {
		out += map[bool]string{true: ": ", false: ", "}[i == 0] + orgWord(d)
	}
	return out
}

// printable passes text on without what could move a cursor or reorder what is read:
// much of what is shown was written by others.
type printable struct{ w writer }

func (p printable) Write(b []byte) (int, error) {
	if _, err := p.w.Write([]byte(strings.Map(shown, string(b)))); err != nil {
		return 0, err
	}
	return len(b), nil
}

func shown(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		return -1
	}
	return r
}
