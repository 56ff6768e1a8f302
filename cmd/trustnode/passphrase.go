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
	if v, ok := os.LookupEnv("TRUSTNODE_PASSPHRASE"); ok && v != "" {
		return []byte(v), nil
	}
	if name := os.Getenv("TRUSTNODE_PASSPHRASE_FILE"); name != "" {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(b, "\r\n"), nil
	}
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
