package store_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/node/store"
)

// flipEnv makes the test binary a child that opens the databases named on its input, one to
// a line, and says of each what it holds: a damaged file may end the process.
const flipEnv = "TRUSTNODE_TEST_FLIP"

func TestFlipChild(t *testing.T) {
	if os.Getenv(flipEnv) == "" {
		t.Skip("runs as a child of TestEveryDamagedFileIsMetOrHarmless")
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("said", said(in.Text()))
	}
}

// said is "same " and the hash of all that a database holds, or why it is refused.
func said(dir string) string {
	db, err := store.OpenBadger(dir, quiet())
	if err != nil {
		return "refused at open: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	defer db.Close()
	var faults []string
	_, err = store.InspectAudit(context.Background(), db, store.Inspection{Found: func(f store.Fault) { faults = append(faults, f.String()) }})
	if err != nil || len(faults) > 0 {
		return fmt.Sprintf("refused by fsck: %v %.200q", err, faults)
	}
	h := sha256.New()
	if err := db.View(context.Background(), func(r store.Reader) error { return store.Dump(context.Background(), r, h, nil) }); err != nil {
		return "refused: " + err.Error()
	}
	return fmt.Sprintf("same %x", h.Sum(nil))
}

// child is a process that opens databases.
type child struct {
	in  io.WriteCloser
	out *bufio.Scanner
	err bytes.Buffer
	cmd *exec.Cmd
}

func newChild(t *testing.T) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], "-test.run", "^TestFlipChild$")}
	c.cmd.Env = append(os.Environ(), flipEnv+"=1")
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out, c.cmd.Stderr = in, bufio.NewScanner(out), &c.err
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// hung is more than it takes to open and verify a small database on a busy machine.
const hung = 30 * time.Second

// ask returns what the child says of a directory; ok is false where it died or hung of it.
func (c *child) ask(dir string) (what string, ok bool) {
	end := time.AfterFunc(hung, func() { _ = c.cmd.Process.Kill() })
	defer end.Stop()
	fmt.Fprintln(c.in, dir)
	for c.out.Scan() {
		if what, ok := strings.CutPrefix(c.out.Text(), "said "); ok {
			return what, true
		}
	}
	_ = c.cmd.Wait()
	return "died: " + lastLine(c.err.String()), false
}

func lastLine(s string) string {
	for _, l := range strings.Split(s, "\n") {
		if strings.HasPrefix(l, "panic:") || strings.Contains(l, "fatal") || strings.Contains(l, ".go:") {
			return l
		}
	}
	return fmt.Sprintf("%.120q", s)
}

func (c *child) end() {
	c.in.Close()
	_ = c.cmd.Wait()
}

// files is a directory in memory, without the zeros that files end with.
type files map[string]file

type file struct {
	b    []byte
	size int64
}

func readFiles(t *testing.T, dir string) files {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := files{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = file{bytes.TrimRight(b, "\x00"), int64(len(b))}
	}
	return out
}

func (f files) write(t *testing.T, dir string) {
	t.Helper()
	for name, x := range f {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, x.b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(p, x.size); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryDamagedFileIsMetOrHarmless (C-9) flips bits of, and cuts, every file of a
// database: of one that was closed, and of one whose process was killed. What opens and
// verifies then holds what it held. Of a killed one, a last commit that does not hash can be
// a torn one: then the commit before it may be the last.
func TestEveryDamagedFileIsMetOrHarmless(t *testing.T) {
	if testing.Short() {
		t.Skip("opens some hundred databases")
	}
	dir := t.TempDir()
	db, err := store.OpenBadger(dir, quiet())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, db)
	h := sha256.New()
	if err := db.View(t.Context(), func(r store.Reader) error { return store.Dump(t.Context(), r, h, nil) }); err != nil {
		t.Fatal(err)
	}
	set(t, db, "zz", []byte(strings.Repeat("last", 9)))
	killed := readFiles(t, dir)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	closed := readFiles(t, dir)
	t.Run("closed", func(t *testing.T) { damage(t, closed, 16, "") })
	t.Run("killed", func(t *testing.T) { damage(t, killed, 16, fmt.Sprintf("same %x", h.Sum(nil))) })
}

// damage tries a number of changes of each file; before is what is held without the last commit.
func damage(t *testing.T, whole files, each int, before string) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := newChild(t)
	defer func() { c.end() }()
	ask := func(f files) string {
		dir := t.TempDir()
		defer os.RemoveAll(dir)
		f.write(t, dir)
		what, ok := c.ask(dir)
		if !ok {
			c = newChild(t)
		}
		return what
	}
	sound := ask(whole)
	if !strings.HasPrefix(sound, "same ") {
		t.Fatal(sound)
	}
	outcomes := map[string]int{}
	for name, x := range whole {
		if len(x.b) == 0 {
			continue
		}
		for n := range each {
			f, what := files{}, ""
			for k, v := range whole {
				f[k] = v
			}
			at := rng.IntN(len(x.b))
			if n == 0 {
				at = len(x.b) - 1
			}
			if n%4 == 3 {
				what = fmt.Sprintf("%s cut at %d of %d", name, at, x.size)
				f[name] = file{x.b[:at], int64(at)}
			} else {
				b := bytes.Clone(x.b)
				b[at] ^= 1 << rng.IntN(8)
				what = fmt.Sprintf("%s flipped at %d of %d", name, at, x.size)
				f[name] = file{b, x.size}
			}
			got := ask(f)
			kind, _, _ := strings.Cut(got, ":")
			if got == sound {
				kind = "same"
			} else if got == before && filepath.Ext(name) == ".mem" {
				kind = "torn"
			} else if strings.HasPrefix(got, "same ") {
				kind = "lost"
				t.Errorf("%s: nothing is said, and it holds something else", what)
			}
			if kind == "died" {
				t.Errorf("%s: %s", what, got)
			}
			outcomes[filepath.Ext(name)+" "+kind]++
		}
	}
	t.Log(outcomes)
}
