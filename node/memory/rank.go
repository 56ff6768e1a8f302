package memory

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Bag is the words of one entry and how often each occurs in its statement.
type Bag struct {
	Words  map[string]int
	Length int // words in all
}

// Score is how well an entry answers a query; more is better, 0 is not at all.
type Score float64

// Ranker orders candidates that are in scope already. It sees nothing but them,
// so that a score tells nothing of the rest (04 section 1). It returns a score
// for each candidate, and keeps no state.
type Ranker interface {
	Rank(query string, candidates []Bag) []Score
}

// BM25 ranks by Okapi BM25 with k1 1.2 and b 0.75 (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009). Frequencies are those of the
// candidates alone.
type BM25 struct{}

var _ Ranker = BM25{}

// Rank implements Ranker.
func (BM25) Rank(query string, candidates []Bag) []Score {
	const k1, b = 1.2, 0.75
	out := make([]Score, len(candidates))
	words, total := slices.Sorted(maps.Keys(newBag(query).Words)), 0
	for _, c := range candidates {
		total += c.Length
	}
	if total == 0 {
		return out
	}
	mean, n := float64(total)/float64(len(candidates)), float64(len(candidates))
	for _, w := range words {
		have := 0.0
		for _, c := range candidates {
			if c.Words[w] > 0 {
				have++
			}
		}
		idf := math.Log(1 + (n-have+0.5)/(have+0.5))
		for i, c := range candidates {
			f := float64(c.Words[w])
			out[i] += Score(idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(c.Length)/mean)))
		}
	}
	return out
}

// maxWord is where a word is cut, in bytes.
const maxWord = 64

// newBag counts the words of a text: runs of letters and digits, NFKD with
// marks dropped, lower case.
func newBag(text string) Bag {
	b := Bag{Words: map[string]int{}}
	plain := strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	for w := range strings.FieldsFuncSeq(plain, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		b.Words[w[:min(len(w), maxWord)]]++
		b.Length++
	}
	return b
}

// bytes is the stored form: words in order, each a length, its bytes and a count.
func (b Bag) bytes() []byte {
	var out []byte
	for _, w := range slices.Sorted(maps.Keys(b.Words)) {
		out = append(append(out, byte(len(w))), w...)
		out = binary.AppendUvarint(out, uint64(b.Words[w]))
	}
	return out
}

func parseBag(stored []byte) (Bag, error) {
	b := Bag{Words: map[string]int{}}
	for len(stored) > 0 {
		n := int(stored[0])
		if len(stored) < 1+n {
			return Bag{}, errBag
		}
		w := string(stored[1 : 1+n])
		c, k := binary.Uvarint(stored[1+n:])
		if k <= 0 || c == 0 || c > MaxStatement {
			return Bag{}, errBag
		}
		b.Words[w] = int(c)
		b.Length += int(c)
		stored = stored[1+n+k:]
	}
	return b, nil
}
