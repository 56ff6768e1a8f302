package casefile

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

func verify(b []byte, o Options) Report { return Verify(context.Background(), bytes.NewReader(b), o) }

func text(r Report) string {
	var out strings.Builder
	for _, l := range r.Lines {
		out.WriteString(l.Kind + "\t" + l.Text + "\n")
	}
	return out.String()
}

func TestTheFileOfAWholeCaseVerifies(t *testing.T) {
	w := story(t)
	b := w.build()
	r := verify(b, Options{Name: "case.tnb"})
	if !r.OK || r.Broken != "" {
		t.Fatalf("does not verify: %s\n%s", r.Broken, text(r))
	}
	t.Log(text(r))
}
