package lending

import "testing"

// The decision runs inside the one committer, so its time bounds the rate of
// all reads.
func BenchmarkDecide(b *testing.B) {
	c := newCall(b)
	c.f.Refs = nil
	for range 20 {
		c.f.Refs = append(c.f.Refs, Ref{"eQtocYooukJ5AQqCkZsHcHY", 2})
	}
	rq, p := c.sealed(b)
	for b.Loop() {
		if n, err := Decide(c.st, rq, p, c.f, c.at); err != nil || n.Verdict != Granted {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	s := MustParse("tag:terminal:north any(berth:7,berth:8) -tag:customs:hold age<30d")
	at := clock("2026-12-02T09:15:30Z")
	tags := []string{"berth:7", "class:internal", "terminal:north"}
	for b.Loop() {
		if !s.Matches(tags, at, at, at) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkParseAnswer(b *testing.B) {
	view := read(b, "view")
	var views [][]byte
	for range 20 {
		views = append(views, view)
	}
	c, err := Join(views, salt(1))
	if err != nil {
		b.Fatal(err)
	}
	text, err := Reply(c, "a.b", "", stamp("2026-12-02T09:15:30Z"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ParseAnswer(text); err != nil {
			b.Fatal(err)
		}
	}
}
