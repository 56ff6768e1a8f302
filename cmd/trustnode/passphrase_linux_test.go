package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trustnode/did/keys"
	"trustnode/node/fault"
)

// terminal is a terminal with somebody at it: the test.
type terminal struct {
	t     *testing.T
	hand  *os.File // where the test types, and what it sees
	tty   *os.File // what the program has for a terminal
	mu    sync.Mutex
	shown strings.Builder // guarded by mu
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	hand, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { hand.Close() })
	n, err := unix.IoctlGetInt(int(hand.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(hand.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be opened here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	s := &terminal{t: t, hand: hand, tty: tty}
	go func() { _, _ = io.Copy(s, hand) }()
	return s
}

// Write takes what the terminal shows.
func (s *terminal) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(b)
}

func (s *terminal) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

func (s *terminal) echoes() bool {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Lflag&unix.ECHO != 0
}

// until waits for what has to come.
func (s *terminal) until(what string, come func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !come(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited for %s in vain; the terminal shows %q", what, s.screen())
		}
	}
}

// type types a line once the prompt is there and the terminal hides what is typed.
func (s *terminal) answer(prompt, line string) {
	s.t.Helper()
	s.until(prompt, func() bool { return strings.HasSuffix(s.screen(), prompt) && !s.echoes() })
	s.keys(line + "\n")
}

func (s *terminal) keys(text string) {
	s.t.Helper()
	if _, err := s.hand.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

func TestTerminalHidesThePassphrase(t *testing.T) {
	s := newTerminal(t)
	s.keys("shown\n")
	s.until("an echo", func() bool { return strings.Contains(s.screen(), "shown") })
	if _, err := s.tty.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	typed := make(chan struct{})
	go func() {
		defer close(typed)
		s.answer("passphrase of x: ", "hidden horse")
	}()
	got, err := ask(s.tty, s.tty, "passphrase of x")
	<-typed
	if err != nil || string(got) != "hidden horse" {
		t.Errorf("got %q, %v", got, err)
	}
	if !s.echoes() {
		t.Error("the terminal hides what is typed afterwards")
	}
	s.keys("after\n")
	s.until("an echo", func() bool { return strings.Contains(s.screen(), "after") })
	if strings.Contains(s.screen(), "hidden") {
		t.Errorf("the terminal shows %q", s.screen())
	}
}

func TestNothingTyped(t *testing.T) {
	for name, typed := range map[string]string{"an empty line": "", "the end of input": "\x04"} {
		s := newTerminal(t)
		var hand sync.WaitGroup
		hand.Go(func() { s.answer("x: ", typed) })
		got, err := ask(s.tty, s.tty, "x")
		hand.Wait() // before the terminal is closed
		if got != nil || !errors.Is(err, errNoPassphrase) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestInterruptGivesTheEchoBack(t *testing.T) {
	s := newTerminal(t)
	var hand sync.WaitGroup
	hand.Go(func() {
		s.until("a terminal that hides", func() bool { return strings.HasSuffix(s.screen(), "x: ") && !s.echoes() })
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	})
	got, err := ask(s.tty, s.tty, "x")
	hand.Wait() // before the terminal is closed
	if got != nil || fault.Of(err) != fault.Unavailable {
		t.Errorf("got %q, %v", got, err)
	}
	if !s.echoes() {
		t.Error("the terminal hides what is typed afterwards")
	}
}

// A person at a terminal makes a node: the passphrase is asked for twice and not shown.
func TestInitAtATerminal(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	init := func(dir, first, second string) (int, string) {
		s := newTerminal(t)
		cmd := f.command("init", "--data", dir, "--name", "Solo", "--domain", "solo.example", "--http", "127.0.0.1:0", "--p2p", "/ip4/127.0.0.1/tcp/0")
		cmd.Env = []string{"HOME=" + f.dir}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.answer("new passphrase of "+dir+": ", first)
		s.answer("the same again: ", second)
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), s.screen()
	}
	code, screen := init("solo", "hidden horse", "hidden horse")
	if code != exitDone || strings.Contains(screen, "hidden") {
		t.Errorf("exit %d, the terminal shows %q", code, screen)
	}
	ks, err := keys.Open(filepath.Join(f.dir, "solo", "keys"), []byte("hidden horse"))
	if err != nil {
		t.Fatal(err)
	}
	ks.Close()
	code, screen = init("other", "hidden horse", "hidden house")
	if code != exitUsage || !strings.Contains(screen, "the two passphrases differ") || strings.Contains(screen, "hidden") {
		t.Errorf("exit %d, the terminal shows %q", code, screen)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "other")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a node was made: %v", err)
	}
}

// A person at a terminal uses the recovery key: it is asked for before the passphrase of the
// store that is to be made, and a wrong one ends it there.
func TestRecoveryAtATerminal(t *testing.T) {
	dir, recovery := lone(t)
	next := filepath.Join(t.TempDir(), "next")
	f := newFolk(t)
	for _, c := range []struct {
		name, key string
		code      int
	}{{"a wrong key", "rec1-abcd", exitFailed}, {"the key", recovery, exitDone}} {
		s := newTerminal(t)
		cmd := f.command("did", "rotate", "--data", dir, "--recovery", "--reason", "lost", "--update-keys", next)
		cmd.Env = []string{"HOME=" + f.dir, "TRUSTNODE_PASSPHRASE=" + testPassphrase}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = s.tty, s.tty, s.tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.answer("recovery key: ", c.key)
		if c.code == exitDone {
			s.answer("new passphrase of the update keys in "+next+": ", "hidden horse")
			s.answer("the same again: ", "hidden horse")
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit %d, the terminal shows %q", c.name, code, s.screen())
		}
	}
}
