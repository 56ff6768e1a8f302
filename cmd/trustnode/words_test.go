package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(0, "entry"):                 "0 entries",
		count(1, "entry"):                 "1 entry",
		count(uint64(2), "read"):          "2 reads",
		oneLine(" a\n b\t\tc "):           "a b c",
		oneLine(strings.Repeat("é", 200)): strings.Repeat("é", 159) + "…",
		orgWord("did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:acme.example:a"): "acme.example:a[QmZpf94j]",
		orgWord("did:key:z6Mk"):  "did:key:z6Mk",
		orgWord("did:webvh:x:y"): "did:webvh:x:y",
		orgWord(""):              "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What others wrote cannot steer the terminal.
func TestPrintable(t *testing.T) {
	var b bytes.Buffer
	in := "a\x1b[31mb\u202ec\x00d\r\u2028e\tf\n\u0085\xff世界 −"
	if n, err := (printable{&b}).Write([]byte(in)); n != len(in) || err != nil {
		t.Errorf("got %d %v", n, err)
	}
	if want := "a[31mbcde\tf\n世界 −"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	s := &streams{out: &b}
	b.Reset()
	if err := s.result(nil, func(w writer) { _, _ = io.WriteString(w, "x\x1by") }); err != nil || b.String() != "xy" {
		t.Errorf("got %q %v", b.String(), err)
	}
	if _, err := (printable{failing{}}).Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestProgress(t *testing.T) {
	// Anywhere but on a terminal it is silent.
	r := strings.NewReader("text")
	if got := progress(&streams{err: &bytes.Buffer{}}, r); got != io.Reader(r) {
		t.Errorf("got %T", got)
	}
	var out bytes.Buffer
	c := &counted{r: iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 2048))), out: &out, size: 4096, next: time.Now()}
	if n, err := io.Copy(io.Discard, c); n != 2048 || err != nil {
		t.Errorf("got %d %v", n, err)
	}
	if got := out.String(); !strings.HasPrefix(got, "\r0 of 4 KiB (0 %)") || !strings.HasSuffix(got, "\n") {
		t.Errorf("got %q", got)
	}
}
