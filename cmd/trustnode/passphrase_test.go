package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"trustnode/node/fault"
)

// freshPassphrases makes the test begin and end with nothing given and nothing held.
func freshPassphrases(t *testing.T) {
	t.Helper()
	for _, s := range secrets {
		for _, v := range []string{s.variable, s.file()} {
			t.Setenv(v, "") // has the variable restored
			if err := os.Unsetenv(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	forgetPassphrases()
	t.Cleanup(forgetPassphrases)
}

func TestPassphraseFiles(t *testing.T) {
	long := strings.Repeat("x", maxPassphrase)
	for _, c := range []struct {
		name, content string
		mode          os.FileMode
		want          string // the passphrase, or, where it is refused, what the error says
		hint          string // where it is refused
	}{
		{"a line", "correct-horse\n", 0o600, "correct-horse", ""},
		{"a line without its end", "correct-horse", 0o400, "correct-horse", ""},
		{"a line of another system", "correct-horse\r\n", 0o600, "correct-horse", ""},
		{"two line feeds, of which one belongs to it", "correct-horse\n\n", 0o600, "correct-horse\n", ""},
		{"a carriage return that ends no line", "correct-horse\r", 0o600, "correct-horse\r", ""},
		{"space around it", " correct horse ", 0o600, " correct horse ", ""},
		{"as long as it may be", long + "\r\n", 0o600, long, ""},
		{"longer than it may be", long + "x", 0o600, "holds more than 4096 bytes", "and nothing else"},
		{"a long file", long + long, 0o600, "holds more than 4096 bytes", "and nothing else"},
		{"nothing", "", 0o600, "is empty", "as one line"},
		{"an empty line", "\r\n", 0o600, "is empty", "as one line"},
		{"readable by the group", "correct-horse\n", 0o640, "its mode is 0640", "chmod 600 "},
		{"readable by all", "correct-horse\n", 0o604, "its mode is 0604", "chmod 600 "},
		{"writable by the group", "correct-horse\n", 0o620, "its mode is 0620", "chmod 600 "},
	} {
		file := filepath.Join(t.TempDir(), "pass")
		if err := errors.Join(os.WriteFile(file, []byte(c.content), 0o600), os.Chmod(file, c.mode)); err != nil {
			t.Fatal(err)
		}
		got, err := passphraseFile("VAR", file)
		if c.hint == "" {
			if err != nil || string(got) != c.want {
				t.Errorf("%s: got %.40q, %v", c.name, got, err)
			}
			continue
		}
		d := fault.From(err)
		if got != nil || d == nil || d.Code != fault.Unauthenticated || !strings.Contains(d.Detail, c.want) || !strings.Contains(d.Hint, c.hint) || strings.Contains(d.Detail+d.Hint, "correct") {
			t.Errorf("%s: got %.40q, %v, hint %q", c.name, got, err, d.Hint)
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"no file": filepath.Join(dir, "none"), "a directory": dir} {
		if got, err := passphraseFile("VAR", file); got != nil || fault.Of(err) != fault.Unauthenticated {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// A shell's <(command) is a pipe that can be read once.
func TestPassphraseFromAPipe(t *testing.T) {
	freshPassphrases(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("correct-horse\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	path := filepath.Join("/dev/fd", strconv.Itoa(int(r.Fd())))
	if _, err := os.Stat(path); err != nil {
		t.Skip("this system has no /dev/fd")
	}
	t.Setenv("TRUSTNODE_PASSPHRASE_FILE", path)
	for range 2 {
		if got, err := passphrase("x"); err != nil || string(got) != "correct-horse" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// Each passphrase has its variables; they are gone once they are read, and what they said is there for the next question.
func TestPassphraseFromTheEnvironment(t *testing.T) {
	freshPassphrases(t)
	file := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, ask := range map[string]func(string) ([]byte, error){
		"TRUSTNODE_PASSPHRASE": passphrase, "TRUSTNODE_UPDATE_PASSPHRASE": updatePassphrase,
		"TRUSTNODE_GOVERNANCE_PASSPHRASE": governancePassphrase, "TRUSTNODE_PERSON_PASSPHRASE": personPassphrase,
	} {
		wants := func(what, want string) {
			t.Helper()
			for range 2 {
				got, err := ask("x")
				if string(got) != want || want != "" && err != nil {
					t.Errorf("%s, %s: got %q, %v, want %q", variable, what, got, err, want)
				}
				if d := fault.From(err); want == "" && (!errors.Is(err, errNoPassphrase) || d.Code != fault.Unauthenticated || d.Hint != "set "+variable+" or "+variable+"_FILE") {
					t.Errorf("%s, %s: %v, hint %q", variable, what, err, d.Hint)
				}
				clear(got) // the caller's copy is the caller's
				for _, v := range os.Environ() {
					if strings.HasPrefix(v, variable) {
						t.Errorf("%s, %s: still in the environment: %s", variable, what, v)
					}
				}
			}
		}
		wants("nothing is given", "")
		t.Setenv(variable, "from the variable")
		wants("a variable", "from the variable")
		t.Setenv(variable+"_FILE", file)
		wants("a file, later", "from a file")
		t.Setenv(variable, "from the variable")
		t.Setenv(variable+"_FILE", file)
		wants("both", "from the variable")
		t.Setenv(variable, "")
		t.Setenv(variable+"_FILE", file)
		wants("an empty variable beside a file", "from a file")
		t.Setenv(variable, "")
		wants("an empty variable takes back", "")
		t.Setenv(variable, strings.Repeat("x", maxPassphrase+1))
		if got, err := ask("x"); got != nil || fault.Of(err) != fault.Unauthenticated {
			t.Errorf("%s: too long: got %.20q, %v", variable, got, err)
		}
		t.Setenv(variable+"_FILE", file+".none")
		if got, err := ask("x"); got != nil || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: no file: got %q, %v", variable, got, err)
		}
		wants("after a refusal nothing is held", "")
		t.Setenv(variable, "from the variable")
		wants("again", "from the variable")
	}
}

func TestForgottenPassphrasesAreCleared(t *testing.T) {
	freshPassphrases(t)
	for _, s := range secrets {
		t.Setenv(s.variable, "correct-horse")
		if _, err := s.given(); err != nil {
			t.Fatal(err)
		}
		held := s.held
		forgetPassphrases()
		if !bytes.Equal(held, make([]byte, len("correct-horse"))) || s.held != nil {
			t.Errorf("%s: %q is left", s.variable, held)
		}
		if got, err := s.get("x"); got != nil || fault.Of(err) != fault.Unauthenticated || errors.Is(err, errNoPassphrase) != (s.what == "") {
			t.Errorf("%s: got %q, %v", s.variable, got, err)
		}
	}
}

// Verbs run within one process find the passphrase that the first of them took.
func TestVerbsShareAPassphrase(t *testing.T) {
	freshPassphrases(t)
	dir := home(t)
	for range 2 {
		if a := callOn("status", "--data", dir); a.code != exitDone {
			t.Errorf("got %s", a)
		}
		if v, there := os.LookupEnv("TRUSTNODE_PASSPHRASE"); there {
			t.Errorf("still in the environment: %q", v)
		}
	}
	// A node that runs asks no more. This one gets as far as the state that is missing.
	if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	if a := callOn("run", "--data", dir); a.code == exitDone || nodeSecret.held != nil {
		t.Errorf("%d bytes are held after %s", len(nodeSecret.held), a)
	}
	file := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(file, []byte(testPassphrase), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TRUSTNODE_PASSPHRASE_FILE", file)
	if a := callOn("status", "--data", dir); a.code != exitRefused || !strings.Contains(a.err, "its mode is 0644") || !strings.Contains(a.err, "hint: chmod 600 "+file) {
		t.Errorf("got %s", a)
	}
}

// The store of a person goes under another passphrase as those of update and governance keys do: its own variable opens it.
func TestPassphraseOfAPersonsStore(t *testing.T) {
	freshPassphrases(t)
	dir := filepath.Join(t.TempDir(), "mine")
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "battery-staple")
	if a := call("agent", "request", "--key-dir", dir); a.code != exitDone {
		t.Fatal(a)
	}
	t.Setenv("TRUSTNODE_NEW_PASSPHRASE", "correct-horse-2")
	if a := call("passphrase", "--of", dir); a.code != exitDone {
		t.Fatal(a)
	}
	if a := call("agent", "request", "--key-dir", dir); a.code == exitDone {
		t.Errorf("the old one still opens it: %s", a)
	}
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "correct-horse-2")
	if a := call("agent", "request", "--key-dir", dir); a.code != exitDone {
		t.Errorf("the new one: %s", a)
	}
	if a := call("passphrase", "--of", dir+"x"); a.code != exitFailed || !strings.Contains(a.err, "no key store in "+dir+"x\nhint: --of names") {
		t.Errorf("no store: %s", a)
	}
}
