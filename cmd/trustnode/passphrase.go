package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"trustnode/node/fault"
)

// passphrase comes from TRUSTNODE_PASSPHRASE, from the file TRUSTNODE_PASSPHRASE_FILE
// names, or from the terminal.
func passphrase(what string) ([]byte, error) {
	if b, err := givenPassphrase(); b != nil || err != nil {
		return b, err
	}
	return ask(what)
}

// newPassphrase is passphrase for one that nothing can check yet: a terminal asks twice.
func newPassphrase(what string) ([]byte, error) {
	if b, err := givenPassphrase(); b != nil || err != nil {
		return b, err
	}
	b, err := ask(what)
	if err != nil {
		return nil, err
	}
	again, err := ask("the same again")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, &usageError{"the two passphrases differ", "run the same command again"}
	}
	return b, nil
}

// givenPassphrase is nil when the environment gives none.
func givenPassphrase() ([]byte, error) {
	if v := os.Getenv("TRUSTNODE_PASSPHRASE"); v != "" {
		return []byte(v), nil
	}
	name := os.Getenv("TRUSTNODE_PASSPHRASE_FILE")
	if name == "" {
		return nil, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fault.Wrap(fault.Unauthenticated, "passphrase", err).WithHint("TRUSTNODE_PASSPHRASE_FILE names a file that cannot be read")
	}
	return bytes.TrimRight(b, "\r\n"), nil
}

func ask(what string) ([]byte, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, fault.New(fault.Unauthenticated, "passphrase", "no passphrase given").
			WithHint("set TRUSTNODE_PASSPHRASE or TRUSTNODE_PASSPHRASE_FILE")
	}
	fmt.Fprintf(os.Stderr, "%s: ", what)
	b, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	return b, err
}

// quiet is the log of a command that opens the directory itself: it says nothing.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
