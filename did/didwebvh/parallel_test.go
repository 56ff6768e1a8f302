package didwebvh_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"trustnode/did/didwebvh"
)

// TestProcessorsChangeNoVerdict: the refusal is that of the first broken entry,
// and what verifies is the same, on however many processors.
func TestProcessorsChangeNoVerdict(t *testing.T) {
	const n = 150 // more than one batch of 128
	log, _ := chainOf(t, n)
	lines := bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	spoil := func(entry int, old, next string) func([][]byte) {
		return func(all [][]byte) { all[entry-1] = bytes.Replace(all[entry-1], []byte(old), []byte(next), 1) }
	}
	hash := func(entry int) func([][]byte) { return spoil(entry, "acme.example/api", "evil.example/api") }
	signature := func(entry int) func([][]byte) {
		return spoil(entry, `"created":"2026-12-01T10`, `"created":"2026-12-01T11`)
	}
	form := func(entry int) func([][]byte) { return spoil(entry, "{", "[") }
	document := func(entry int) func([][]byte) { return spoil(entry, `"id":"did:webvh`, `"id":"did:WEBVH`) }
	for _, c := range []struct {
		name  string
		spoil []func([][]byte)
		first int
		want  didwebvh.Reason
	}{
		{"nothing is broken", nil, n + 1, 0},
		{"a signature before a hash", []func([][]byte){signature(5), hash(7)}, 5, didwebvh.ReasonProof},
		{"a hash before a signature", []func([][]byte){hash(5), signature(7)}, 5, didwebvh.ReasonHash},
		{"a signature right before what is no entry", []func([][]byte){signature(50), form(51)}, 50, didwebvh.ReasonProof},
		{"what is no entry before a signature", []func([][]byte){form(50), signature(51)}, 50, didwebvh.ReasonForm},
		{"two signatures", []func([][]byte){signature(90), signature(20)}, 20, didwebvh.ReasonProof},
		{"a signature and a hash in one entry", []func([][]byte){signature(20), hash(20)}, 20, didwebvh.ReasonHash},
		{"a document", []func([][]byte){document(33), signature(34)}, 33, didwebvh.ReasonDocument},
		{"the last signature of the first batch", []func([][]byte){signature(128), hash(129)}, 128, didwebvh.ReasonProof},
		{"the first entry of the second batch", []func([][]byte){signature(129), form(150)}, 129, didwebvh.ReasonProof},
		{"the last entry", []func([][]byte){signature(150)}, 150, didwebvh.ReasonProof},
	} {
		all := slices.Clone(lines)
		for _, s := range c.spoil {
			s(all)
		}
		bad := bytes.Join(all, nil)
		one, oneErr := onProcessors(1, bad)
		four, fourErr := onProcessors(4, bad)
		if fmt.Sprint(oneErr) != fmt.Sprint(fourErr) || !bytes.Equal(one.Log(), four.Log()) {
			t.Errorf("%s: on one %d entries, %v; on four %d entries, %v", c.name, one.Len(), oneErr, four.Len(), fourErr)
		}
		var e *didwebvh.Error
		if errors.As(oneErr, &e); didwebvh.ReasonOf(oneErr) != c.want || e != nil && e.Number != c.first {
			t.Errorf("%s: got %v, want entry %d refused for its %v", c.name, oneErr, c.first, c.want)
		}
		if part, _ := didwebvh.VerifyPart(bad, nil, present); part.Len() != c.first-1 {
			t.Errorf("%s: %d entries verify, want %d", c.name, part.Len(), c.first-1)
		}
	}
}

// TestBitFlips is I-9: it changes every bit of four logs and expects no change
// to verify. Where the race detector makes that long, and with -short, it takes
// every 31st byte, unless TRUSTNODE_LONG is set.
func TestBitFlips(t *testing.T) {
	stride := 1
	if (raceDetector || testing.Short()) && os.Getenv("TRUSTNODE_LONG") == "" {
		stride = 31
	}
	total := 0
	for _, name := range []string{"multi-update/python", "witness-threshold/ts", "pre-rotation-consume/ts", "portable-move/java"} {
		v := find(t, name)
		total += len(v.log) * 8
		for part := range 8 {
			t.Run(fmt.Sprintf("%s/%d", name, part), func(t *testing.T) {
				t.Parallel()
				flipBits(t, v, part, stride)
			})
		}
	}
	if total != 100_360 {
		t.Errorf("%d bits, want 100,360", total)
	}
}

// flipBits changes each bit of one weight, in every byte that the stride meets.
func flipBits(t *testing.T, v vector, weight, stride int) {
	log := bytes.Clone(v.log)
	for i := weight % stride; i < len(log); i += stride {
		log[i] ^= 1 << weight
		if h, err := didwebvh.Verify(log, v.witness, present); err == nil {
			t.Errorf("byte %d, bit %d flipped, and it verifies: %s", i, weight, h.Head().ID)
		}
		log[i] ^= 1 << weight
	}
}
