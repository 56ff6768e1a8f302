package pins

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

const timeForm = "2006-01-02T15:04:05Z"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place is what a number counts up in.
type place struct {
	kind Kind
	key  string
}

// pin is one line of the file.
type pin struct {
	slot  Slot
	value string
	at    time.Time // whole seconds, UTC
	line  uint64    // where it stands in the file, from 1; 0 before it is written
}

func (p pin) place() place { return place{p.slot.Kind, p.slot.Key} }

// check reports whether p can be written as a line and read back.
func (p pin) check() error {
	switch {
	case !p.slot.Kind.valid():
		return fmt.Errorf("%w: unknown kind", ErrForm)
	case !isWord(p.slot.Key, MaxKey):
		return fmt.Errorf("%w: key is not 1 to %d bytes of printable ASCII without space", ErrForm, MaxKey)
	case !isWord(p.value, MaxValue):
		return fmt.Errorf("%w: value is not 1 to %d bytes of printable ASCII without space", ErrForm, MaxValue)
	case p.at.Year() < 0 || p.at.Year() > 9999:
		return fmt.Errorf("%w: the clock says year %d", ErrForm, p.at.Year()) // a line of such a time would not read back
	}
	return nil
}

func isWord(s string, most int) bool {
	if s == "" || len(s) > most {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// appendTo appends the line of p with its line feed.
func (p pin) appendTo(b []byte) []byte {
	start := len(b)
	b = fmt.Appendf(b, "%s %s %d %s %s", p.slot.Kind, p.slot.Key, p.slot.N, p.value, p.at.Format(timeForm))
	return fmt.Appendf(b, " %s\n", checksum(b[start:]))
}

func checksum(text []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) }

// parseLine reads a line without its line feed. A line has one spelling: the accepted line is the one appendTo writes.
func parseLine(line []byte) (pin, error) {
	if len(line) > maxLine {
		return pin{}, fmt.Errorf("longer than %d bytes", maxLine)
	}
	fields := strings.Split(string(line), " ")
	if len(fields) != 6 {
		return pin{}, fmt.Errorf("%d fields instead of 6", len(fields))
	}
	text := line[:len(line)-len(fields[5])-1]
	if fields[5] != checksum(text) {
		return pin{}, fmt.Errorf("checksum does not match")
	}
	kind, ok := parseKind(fields[0])
	if !ok {
		return pin{}, fmt.Errorf("unknown kind")
	}
	n, err := strconv.ParseUint(fields[2], 10, 64)
	if err != nil {
		return pin{}, fmt.Errorf("number is not an unsigned integer")
	}
	at, err := time.Parse(timeForm, fields[4])
	if err != nil {
		return pin{}, fmt.Errorf("time is not of the form %s", timeForm)
	}
	p := pin{slot: Slot{kind, fields[1], n}, value: fields[3], at: at}
	if err := p.check(); err != nil {
		return pin{}, err
	}
	if again := p.appendTo(nil); !bytes.Equal(again[:len(again)-1], line) {
		return pin{}, fmt.Errorf("not in its one spelling")
	}
	return p, nil
}

// Parse reads the first four fields of a line, KIND KEY N VALUE, as a person gives them; more fields make it a whole line.
// Errors wrap ErrForm.
func Parse(text string) (Slot, string, error) {
	if fields := strings.Split(text, " "); len(fields) == 4 {
		text += " " + time.Time{}.Format(timeForm)
		text += " " + checksum([]byte(text))
	}
	p, err := parseLine([]byte(text))
	if err != nil {
		return Slot{}, "", fmt.Errorf("%w: %v", ErrForm, err)
	}
	return p.slot, p.value, nil
}

// parseFile reads a whole file and returns its lines and the number of bytes they take. Bytes after the last line feed
// are a torn write, which was never acknowledged, and are left out.
func parseFile(b []byte) (pins []pin, good int, err error) {
	for n := 1; ; n++ {
		end := bytes.IndexByte(b[good:], '\n')
		if end < 0 {
			return pins, good, nil
		}
		p, err := parseLine(b[good : good+end])
		if err != nil {
			return nil, 0, &CorruptError{Line: n, What: err.Error()}
		}
		pins = append(pins, p)
		good += end + 1
	}
}
