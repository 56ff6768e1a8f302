package pins

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	goldenD   = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"
	goldenDID = "did " + goldenD + " 2 2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR 2026-12-15T09:00:04Z 6b0d9c67"
	goldenLog = "log " + goldenD + " 4 zQmaEytmdopGDUzJt6uFskK2c9vPhNX7nPiDDNy5UAAZyCJ 2026-12-15T09:00:05Z e3f0e6ee"
)

func at(text string) time.Time {
	when, err := time.Parse(timeForm, text)
	if err != nil {
		panic(err)
	}
	return when
}

func TestGoldenLines(t *testing.T) {
	cases := []struct {
		name string
		pin  pin
		want string
	}{
		{"the head of a DID log", pin{slot: Slot{KindDID, goldenD, 2}, value: "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR", at: at("2026-12-15T09:00:04Z")}, goldenDID},
		{"a head of the own log", pin{slot: Slot{KindLog, goldenD, 4}, value: "zQmaEytmdopGDUzJt6uFskK2c9vPhNX7nPiDDNy5UAAZyCJ", at: at("2026-12-15T09:00:05Z")}, goldenLog},
	}
	for _, c := range cases {
		if got := string(c.pin.appendTo(nil)); got != c.want+"\n" {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want+"\n")
		}
		if got, err := parseLine([]byte(c.want)); err != nil || got != c.pin {
			t.Errorf("%s: parsed %v, %v, want %v", c.name, got, err, c.pin)
		}
	}
}

// TestEveryBitOfALineCounts is identity I-9 for a pin.
func TestEveryBitOfALineCounts(t *testing.T) {
	for i := range len(goldenDID) * 8 {
		line := []byte(goldenDID)
		line[i/8] ^= 1 << (i % 8)
		if p, err := parseLine(line); err == nil {
			t.Errorf("bit %d flipped: accepted as %v", i, p)
		}
	}
}

// sealed returns text with the checksum that belongs to it, so that a case fails for its own reason.
func sealed(text string) string {
	return text + " " + checksum([]byte(text))
}

func TestRefusedLines(t *testing.T) {
	cases := []struct{ name, line string }{
		{"nothing", ""},
		{"a checksum alone", checksum(nil)},
		{"five fields", sealed("did d 2 v")},
		{"seven fields", sealed("did d 2 v 2026-12-15T09:00:04Z x")},
		{"an empty key", sealed("did  2 v 2026-12-15T09:00:04Z")},
		{"an empty value", sealed("did d 2  2026-12-15T09:00:04Z")},
		{"an unknown kind", sealed("dod d 2 v 2026-12-15T09:00:04Z")},
		{"the word for the invalid kind", sealed("invalid d 2 v 2026-12-15T09:00:04Z")},
		{"a kind in capitals", sealed("DID d 2 v 2026-12-15T09:00:04Z")},
		{"a leading zero", sealed("did d 02 v 2026-12-15T09:00:04Z")},
		{"a sign", sealed("did d +2 v 2026-12-15T09:00:04Z")},
		{"a number past 64 bits", sealed("did d 18446744073709551616 v 2026-12-15T09:00:04Z")},
		{"a fraction of a second", sealed("did d 2 v 2026-12-15T09:00:04.5Z")},
		{"another time zone", sealed("did d 2 v 2026-12-15T09:00:04+00:00")},
		{"a date that is none", sealed("did d 2 v 2026-02-30T09:00:04Z")},
		{"a tab in the value", sealed("did d 2 v\tw 2026-12-15T09:00:04Z")},
		{"a carriage return", goldenDID + "\r"},
		{"a checksum in capitals", strings.ToUpper(goldenDID)},
		{"a checksum of another line", goldenDID[:len(goldenDID)-8] + "e3f0e6ee"},
		{"an endless line", strings.Repeat("x", maxLine+1)},
	}
	for _, c := range cases {
		if p, err := parseLine([]byte(c.line)); err == nil {
			t.Errorf("%s: accepted as %v", c.name, p)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	did := func(n, v string) string { return sealed("did d "+n+" "+v+" 2026-12-15T09:00:04Z") + "\n" }
	log := func(n, v string) string { return sealed("log d "+n+" "+v+" 2026-12-15T09:00:04Z") + "\n" }
	cases := []struct {
		name, file string
		line       int // 0: accepted
	}{
		{"an empty file", "", 0},
		{"a seen head that moved", did("1", "a") + did("1", "b"), 0},
		{"a number that falls", did("2", "a") + did("1", "b"), 2},
		{"two values signed for one slot", log("1", "a") + log("1", "b"), 2},
		{"a bad line before a good one", "bad\n" + log("1", "a"), 1},
		{"a bad last line that is not torn", log("1", "a") + "bad\n", 2},
		{"an empty line", log("1", "a") + "\n" + log("2", "a"), 2},
		{"a torn last line", log("1", "a") + "log d 2", 0},
	}
	for _, c := range cases {
		lines, _, err := parseFile([]byte(c.file))
		if err == nil {
			_, err = fold(lines)
		}
		var corrupt *CorruptError
		switch {
		case c.line == 0 && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.line != 0 && (!errors.As(err, &corrupt) || corrupt.Line != c.line || !errors.Is(err, ErrCorrupt)):
			t.Errorf("%s: got %v, want line %d", c.name, err, c.line)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(goldenDID))
	f.Add([]byte(goldenLog))
	f.Add([]byte(sealed("slot zQm 65 abandoned 2026-12-15T09:00:04Z")))
	f.Fuzz(func(t *testing.T, line []byte) {
		// The checksum keeps the fuzzer out of the fields, so each input is tried with its right one as well.
		for _, in := range [][]byte{line, []byte(sealed(string(line)))} {
			p, err := parseLine(in)
			if err != nil {
				continue
			}
			if got := p.appendTo(nil); !bytes.Equal(got, append(in, '\n')) {
				t.Errorf("read %q, writes %q", in, got)
			}
		}
	})
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(goldenDID + "\n" + goldenLog + "\n"))
	f.Add([]byte(goldenDID + "\n" + goldenLog))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, good, err := parseFile(file)
		if err != nil {
			return
		}
		var again []byte
		for _, p := range lines {
			again = p.appendTo(again)
		}
		if !bytes.Equal(again, file[:good]) || bytes.IndexByte(file[good:], '\n') >= 0 {
			t.Errorf("read %d bytes of %q, writes %q", good, file, again)
		}
	})
}
