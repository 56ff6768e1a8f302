package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

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
	var denied *fault.Denied
	switch {
	case errors.Is(err, errSilent):
		return exitFailed
	case errors.As(err, &usage):
		s.say(usage.what, usage.hint)
		return exitUsage
	case errors.As(err, &failed):
		if failed.what != "" {
			s.say(failed.what, "")
		}
		return failed.code
	case errors.As(err, &denied):
		s.problem(denied)
		s.say(denied.Error(), denied.Hint)
		return fault.Exit(denied)
	}
	s.say(err.Error(), "")
	return exitFailed
}

func (s *streams) say(what, hint string) {
	fmt.Fprintf(s.err, "trustnode: %s\n", what)
	if hint != "" {
		fmt.Fprintf(s.err, "hint: %s\n", hint)
	}
}

// problem prints a refusal as its RFC 9457 object when --json was given.
func (s *streams) problem(d *fault.Denied) {
	if s.json {
		s.print(fault.ProblemOf(d))
	}
}

// print writes v as indented JSON.
func (s *streams) print(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s\n", b)
	return err
}

// result prints v as JSON with --json, else through text.
func (s *streams) result(v any, text func(w writer)) error {
	if s.json {
		return s.print(v)
	}
	text(s.out)
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

// writeFile replaces a file whole: a reader sees the old bytes or the new ones.
func writeFile(name string, b []byte) error {
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
