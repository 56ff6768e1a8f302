// Command trustnode runs an organization's node and speaks to it.
//
// The package holds flags, output and exit codes only. A verb speaks to the
// running node over its HTTP API; when no node runs it opens the data directory
// itself and serves the same request in process, so both give the same output.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"trustnode/node/fault"
	"trustnode/node/guard"
)

func main() {
	// First of all: from here on the process may hold secrets.
	if _, err := guard.Process(); err != nil {
		os.Exit((&streams{out: os.Stdout, err: os.Stderr}).report(err))
	}
	code := run(os.Args, os.Stdin, os.Stdout, os.Stderr)
	forgetPassphrases()
	os.Exit(code)
}

// Exit codes: section 9 of the overview.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitRefused    = 3
	exitUnverified = 4
)

// run is the whole program; tests call it too. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	std := &streams{in: stdin, out: stdout, err: stderr}
	app := newApp(std)
	args, err := permute(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	return std.report(err)
}

// usageError is a mistake in the command line: exit 2.
type usageError struct{ what, hint string }

func (e *usageError) Error() string { return e.what }

// argumentError is a mistake in the command line that the node found: exit 2, with its refusal.
type argumentError struct{ denied *fault.Denied }

func (e *argumentError) Error() string { return e.denied.Error() }
func (e *argumentError) Unwrap() error { return e.denied }

// failedError carries an exit code of its own for results that are no refusal.
type failedError struct {
	code       int
	what, hint string
}

func (e *failedError) Error() string { return e.what }
