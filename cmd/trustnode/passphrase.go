package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/term"

	"trustnode/node/fault"
)

// A secret is a passphrase that comes from a variable of the environment, from the file that the variable with _FILE at
// its end names, or from the terminal. The variables are unset once they are read, so that no child process gets them, and what
// they gave is held until it is forgotten, since a command may open the same store more than once. A variable that is set
// later counts again, an empty one too: it takes back what was held. Safe for concurrent use.
//
// The environment with which the process was started stays in its memory; package guard closes /proc/PID/environ.
type secret struct {
	variable string
	what     string // "" a passphrase

	mu   sync.Mutex
	held []byte // guarded by mu; nil for none
}

// The passphrases of this program.
var (
	nodeSecret       = &secret{variable: "TRUSTNODE_PASSPHRASE"}
	updateSecret     = &secret{variable: "TRUSTNODE_UPDATE_PASSPHRASE"}     // of the store of the next update key
	governanceSecret = &secret{variable: "TRUSTNODE_GOVERNANCE_PASSPHRASE"} // of the store at --governance-keys
	personSecret     = &secret{variable: "TRUSTNODE_PERSON_PASSPHRASE"}     // of one person's store
	recoverySecret   = &secret{variable: "TRUSTNODE_RECOVERY_KEY", what: "recovery key"}

	newSecret = &secret{variable: "TRUSTNODE_NEW_PASSPHRASE"} // that takes another's place

	tokenSecret = &secret{variable: "TRUSTNODE_TOKEN", what: "token"} // of an agent

	secrets = []*secret{nodeSecret, updateSecret, governanceSecret, personSecret, recoverySecret, newSecret, tokenSecret}
)

// maxPassphrase is the longest passphrase in bytes; a file with more is not one.
const maxPassphrase = 4 << 10

// errNoPassphrase is wrapped by the refusal when none is given and there is no terminal to ask at.
var errNoPassphrase = errors.New("no passphrase given")

// passphrase is the node's. The caller clears what these functions return.
func passphrase(prompt string) ([]byte, error) { return nodeSecret.get(prompt) }

// newPassphrase is passphrase for one that nothing can check yet: a terminal asks twice.
func newPassphrase(prompt string) ([]byte, error) { return nodeSecret.getNew(prompt) }

// newUpdatePassphrase is that of a store of update keys that init is about to make; nil
// where it is to be the node's: nothing was given, and there is nobody to ask.
func newUpdatePassphrase(apart bool) ([]byte, error) {
	if b, err := updateSecret.given(); b != nil || err != nil {
		return b, err
	}
	if !apart || !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, nil
	}
	return updateSecret.getNew("new passphrase of the update keys")
}

// updatePassphrase is that of the store of the next update key.
func updatePassphrase(prompt string) ([]byte, error) { return updateSecret.get(prompt) }

// governancePassphrase is that of the governance store.
func governancePassphrase(prompt string) ([]byte, error) { return governanceSecret.get(prompt) }

// personPassphrase is that of one person's store.
func personPassphrase(prompt string) ([]byte, error) { return personSecret.get(prompt) }

// forgetPassphrases clears what is held of all passphrases.
func forgetPassphrases() {
	for _, s := range secrets {
		s.hold(nil)
	}
}

// given returns a copy of what the environment gave, or of what was held; nil for nothing.
func (s *secret) given() ([]byte, error) {
	text, inVariable := os.LookupEnv(s.variable)
	name, inFile := os.LookupEnv(s.file())
	if !inVariable && !inFile {
		s.mu.Lock()
		defer s.mu.Unlock()
		return bytes.Clone(s.held), nil
	}
	s.hold(nil)
	if err := errors.Join(os.Unsetenv(s.variable), os.Unsetenv(s.file())); err != nil {
		return nil, err
	}
	switch {
	case len(text) > maxPassphrase:
		return nil, refused("%s holds more than %d bytes", s.variable, maxPassphrase).WithHint("it holds the passphrase itself; %s names a file", s.file())
	case text != "":
		return s.hold([]byte(text)), nil
	case name != "":
		b, err := passphraseFile(s.file(), name)
		if err != nil {
			return nil, err
		}
		return s.hold(b), nil
	}
	return nil, nil
}

func (s *secret) file() string { return s.variable + "_FILE" }

// hold keeps b in place of what was held, and returns a copy.
func (s *secret) hold(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.held)
	s.held = b
	return bytes.Clone(b)
}

func (s *secret) get(prompt string) ([]byte, error) {
	if b, err := s.given(); b != nil || err != nil {
		return b, err
	}
	b, err := s.ask(prompt)
	if err != nil {
		return nil, err
	}
	return s.hold(b), nil
}

func (s *secret) getNew(prompt string) ([]byte, error) {
	if b, err := s.given(); b != nil || err != nil {
		return b, err
	}
	b, err := s.ask(prompt)
	if err != nil {
		return nil, err
	}
	again, err := s.ask("the same again")
	defer clear(again)
	if err == nil && !bytes.Equal(b, again) {
		err = &usageError{"the two passphrases differ", "run the same command again"}
	}
	if err != nil {
		clear(b)
		return nil, err
	}
	return s.hold(b), nil
}

// ask asks at the terminal, if standard input is one.
func (s *secret) ask(prompt string) ([]byte, error) {
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, s.none().WithHint("set %s or %s", s.variable, s.file())
	}
	b, err := ask(os.Stdin, os.Stderr, prompt)
	if errors.Is(err, errNoPassphrase) {
		err = s.none()
	}
	return b, err
}

// none is the refusal where nothing was given.
func (s *secret) none() *fault.Denied {
	if s.what != "" {
		return fault.New(fault.Unauthenticated, "passphrase", "no %s given", s.what)
	}
	return fault.Wrap(fault.Unauthenticated, "passphrase", errNoPassphrase)
}

// quiet is the log of a command that opens the directory itself: it says nothing.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
