package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"trustnode/node/fault"
)

// writer is where text goes.
type writer = io.Writer

// streams is what the process talks through, and how it reports.
type streams struct {
	in       io.Reader
	out, err io.Writer
	json     bool // --json was given: results and refusals go to out as JSON
}

// report prints an error once and gives the exit code.
func (s *streams) report(err error) int {
	if err == nil {
		return exitDone
	}
	var usage *usageError
	var failed *failedError
	switch {
	case errors.As(err, &usage):
		s.say(usage.what, usage.hint)
		return exitUsage
	case errors.As(err, &failed):
		s.say(failed.what, failed.hint)
		return failed.code
	}
	denied := fault.From(err)
	if s.json {
		s.problem(denied)
	}
	var argument *argumentError
	switch {
	case errors.As(err, &argument):
		s.say(denied.Error(), denied.Hint)
		return exitUsage
	case denied.Code == fault.NeedsApproval && denied.Reason == "witnesses": // nobody's approval is asked for here
		s.say(denied.Detail, denied.Hint)
	case denied.Code != fault.Internal:
		s.say(denied.Error(), denied.Hint)
	case denied.Detail != "": // it broke in this process
		s.say(denied.Detail, denied.Hint)
	default:
		s.say(denied.Error(), "the log of the node says what broke")
	}
	return fault.Exit(denied)
}

func (s *streams) say(what, hint string) {
	fmt.Fprintf(s.err, "trustnode: %s\n", what)
	if hint != "" {
		fmt.Fprintf(s.err, "hint: %s\n", hint)
	}
}

// problem prints a refusal as its RFC 9457 object. What broke in this process is told to
// the person who runs it.
func (s *streams) problem(d *fault.Denied) {
	p := fault.ProblemOf(d)
	if p.Code == fault.Internal {
		p.Detail = d.Detail
	}
	_ = s.print(p) // the sentence on err and the exit code say the same
}

// print writes v as indented JSON.
func (s *streams) print(v any) error {
	e := json.NewEncoder(s.out)
	e.SetEscapeHTML(false) // age<90d is to be read
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// result prints v as JSON with --json, else through text.
func (s *streams) result(v any, text func(w writer)) error {
	if s.json {
		return s.print(v)
	}
	text(printable{s.out})
	return nil
}

// write leaves b in the file named by -o, or on standard output for "-" and none.
func (s *streams) write(c *cli.Context, b []byte) error {
	name := c.String("o")
	if name == "" || name == "-" {
		_, err := s.out.Write(b)
		return err
	}
	return writeFile(name, b)
}

// toFile refuses to pour a file that write leaves onto a terminal, unless -o - asks for that.
func (s *streams) toFile(c *cli.Context) error {
	f, ok := s.out.(*os.File)
	if c.String("o") != "" || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &usageError{"this writes a file, and standard output is a terminal", "-o FILE writes it there, -o - prints it all the same"}
}

// beside is where a command speaks to people beside what write leaves: standard output, unless that is taken.
func (s *streams) beside(c *cli.Context) writer {
	if name := c.String("o"); s.json || name == "" || name == "-" {
		return printable{s.err}
	}
	return printable{s.out}
}

// read reads the whole file name, or standard input for "-".
func (s *streams) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(s.in)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, noFile(err)
	}
	return b, nil
}

// noFile refuses a file that cannot be read.
func noFile(err error) error { return fault.Wrap(fault.NotFound, "file", err) }

// writeFile replaces a file whole: a reader sees the old bytes or the new ones.
func writeFile(name string, b []byte) error {
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return noFile(named(err, name))
	}
	return named(os.Rename(tmp, name), name)
}

// named has an error of a file speak of the name that was given, not of one made from it.
func named(err error, name string) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return &fs.PathError{Op: "write", Path: name, Err: p.Err}
	case errors.As(err, &l):
		return &fs.PathError{Op: "write", Path: name, Err: l.Err}
	}
	return err
}
