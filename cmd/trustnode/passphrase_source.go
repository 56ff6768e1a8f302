package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"trustnode/node/fault"
)

// ask reads a line from a terminal that does not show it. An interrupt gives the terminal its echo back.
func ask(tty *os.File, out io.Writer, prompt string) ([]byte, error) {
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	fmt.Fprintf(out, "%s: ", prompt)
	defer fmt.Fprintln(out)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		read <- line{b, err}
	}()
	select {
	case <-stop: // the process ends, and the read with it
		return nil, errors.Join(fault.New(fault.Unavailable, "interrupted", "interrupted"), term.Restore(fd, before))
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return nil, l.err
		}
		if len(l.text) == 0 {
			return nil, fault.Wrap(fault.Unauthenticated, "passphrase", errNoPassphrase)
		}
		return l.text, nil
	}
}

func refused(detail string, args ...any) *fault.Denied {
	return fault.New(fault.Unauthenticated, "passphrase", detail, args...)
}

// passphraseFile reads a passphrase from a file that only its owner can read. One line feed at its end, with or without
// a carriage return, is not part of it.
func passphraseFile(variable, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(variable, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, unreadable(variable, err)
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return nil, refused("%s is open to others than its owner: its mode is %04o", name, mode).WithHint("chmod 600 %s", name)
	}
	buf := make([]byte, maxPassphrase+len("\r\n")+1)
	defer clear(buf)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, unreadable(variable, err)
	}
	b := buf[:n]
	if t, ok := bytes.CutSuffix(b, []byte("\n")); ok {
		b = bytes.TrimSuffix(t, []byte("\r"))
	}
	switch {
	case len(b) > maxPassphrase:
		return nil, refused("%s holds more than %d bytes", name, maxPassphrase).WithHint("%s names a file that holds the passphrase and nothing else", variable)
	case len(b) == 0:
		return nil, refused("%s is empty", name).WithHint("%s names a file that holds the passphrase, as one line", variable)
	}
	return bytes.Clone(b), nil
}

func unreadable(variable string, err error) error {
	return fault.Wrap(fault.Unauthenticated, "passphrase", err).WithHint("%s names a file that cannot be read", variable)
}
