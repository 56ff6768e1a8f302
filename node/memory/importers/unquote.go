package importers

import (
	"bufio"
	"errors"
	"io"

	"trustnode/did/strictjson"
)

// unquote reads the text that a JSON string spells: some agent files are JSON
// within JSON. It returns *torn for what is no such string.
func unquote(r io.Reader) io.Reader { return &unquoter{br: bufio.NewReader(r)} }

type unquoter struct {
	br         *bufio.Reader
	begun, end bool
	rest       []byte // of the last escape
}

func (u *unquoter) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.rest) == 0 {
			if u.rest, err = u.more(); err != nil {
				return n, err
			}
			continue
		}
		k := copy(p[n:], u.rest)
		u.rest, n = u.rest[k:], n+k
	}
	return n, nil
}

var errQuoted = &torn{line: 1, what: "no JSON string around the file"}

// more returns the bytes of the next character.
func (u *unquoter) more() ([]byte, error) {
	if u.end {
		return nil, io.EOF
	}
	c, err := u.br.ReadByte()
	for err == nil && !u.begun && c != '"' { // white space and a byte order mark before it
		c, err = u.br.ReadByte()
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, errQuoted
	case err != nil:
		return nil, err
	case !u.begun:
		u.begun = true
		return u.more()
	case c == '"':
		u.end = true
		return nil, io.EOF
	case c != '\\':
		return []byte{c}, nil
	}
	return u.escape()
}

// escape reads what follows a backslash, and for the first half of a surrogate
// pair the second, and has the parser spell it.
func (u *unquoter) escape() ([]byte, error) {
	text := []byte{'"', '\\'}
	grow := func(n int) error {
		b := make([]byte, n)
		_, err := io.ReadFull(u.br, b)
		text = append(text, b...)
		return err
	}
	err := grow(1)
	if err == nil && text[2] == 'u' {
		if err = grow(4); err == nil && (text[3] == 'd' || text[3] == 'D') && isHighSurrogate(text[4]) {
			err = grow(6)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errQuoted
	}
	if err != nil {
		return nil, err
	}
	v, err := strictjson.Parse(append(text, '"'), 0)
	if err != nil {
		return nil, errQuoted
	}
	s, _ := v.Text()
	return []byte(s), nil
}

// isHighSurrogate tells by the second digit of d8.. to db...
func isHighSurrogate(c byte) bool {
	return c == '8' || c == '9' || c == 'a' || c == 'b' || c == 'A' || c == 'B'
}
