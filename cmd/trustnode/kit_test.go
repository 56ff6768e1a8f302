package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"trustnode/testnet/ports"
)

const testPassphrase = "correct-horse-battery"

// binDir holds the program for as long as the tests run.
var binDir string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "trustnode-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binDir = dir
	os.Setenv("TRUSTNODE_BALLAST_MIB", "0") // the nodes of tests hold no room
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(binDir, "trustnode")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// program builds the program once and returns its path. Tests with whole processes are
// skipped by -short.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts whole processes")
	}
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// answer is what a verb came to.
type answer struct {
	args     []string
	code     int
	out, err string
}

func (a answer) String() string {
	return fmt.Sprintf("trustnode %s: exit %d\n%s%s", strings.Join(a.args, " "), a.code, a.out, a.err)
}

// into reads the JSON that a verb printed.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.out), v); err != nil {
		t.Fatalf("not JSON (%v): %s", err, a)
	}
}

// folk are organizations whose nodes are processes of their own.
type folk struct {
	t     *testing.T
	bin   string
	dir   string
	env   []string     // more of the environment of each process
	heard func(answer) // told of each verb that has ended, if given
	procs map[string]*proc

	recovery map[string]string // what init showed once, by organization
}

// proc is a running node.
type proc struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// orgs are the three of the story, in the order in which nodes are killed.
var orgs = []string{"acme", "vendor", "arbiter"}

func newFolk(t *testing.T) *folk {
	f := &folk{t: t, bin: program(t), dir: t.TempDir(), procs: map[string]*proc{}, recovery: map[string]string{}}
	t.Cleanup(func() {
		for name := range f.procs {
			f.kill(name)
		}
		if t.Failed() {
			f.tail()
		}
	})
	return f
}

// tail shows what the nodes logged last.
func (f *folk) tail() {
	for _, o := range orgs {
		b, err := os.ReadFile(filepath.Join(f.dir, o+".log"))
		if err != nil {
			continue
		}
		f.t.Logf("%s.log ends:\n%s", o, b[max(0, len(b)-4000):])
	}
}

// command prepares the program in the folder of the story, with nothing of this
// process' own environment but the path.
func (f *folk) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.bin, args...)
	cmd.Dir = f.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "TRUSTNODE_PASSPHRASE=" + testPassphrase, "TRUSTNODE_BALLAST_MIB=0"}, f.env...)
	return cmd
}

// try runs a verb. A verb that hangs is killed, and fails.
func (f *folk) try(args ...string) answer {
	cmd := f.command(args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	if e := cmd.Start(); e != nil {
		return answer{args, -1, "", e.Error()}
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer stop()
	_ = cmd.Wait()
	a := answer{args, cmd.ProcessState.ExitCode(), out.String(), err.String()}
	if f.heard != nil {
		f.heard(a)
	}
	return a
}

// must runs a verb that has to end with 0.
func (f *folk) must(args ...string) answer {
	f.t.Helper()
	return f.code(0, args...)
}

func (f *folk) code(want int, args ...string) answer {
	f.t.Helper()
	a := f.try(args...)
	if a.code != want {
		f.t.Fatalf("want exit %d: %s", want, a)
	}
	return a
}

// found makes the three organizations and their federation, by files.
func (f *folk) found() {
	f.t.Helper()
	port, err := ports.Claim(2 * len(orgs))
	if err != nil {
		f.t.Fatal(err)
	}
	for i, o := range orgs {
		var made struct {
			Recovery string `json:"recovery_key"`
		}
		f.must("init", "--data", o, "--name", o, "--domain", o+".example", "--http", fmt.Sprintf("127.0.0.1:%d", port[2*i]), "--p2p", fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port[2*i+1]), "--json").into(f.t, &made)
		f.recovery[o] = made.Recovery
	}
	f.must("fed", "join-request", "--data", "vendor", "-o", "vendor.join")
	f.must("fed", "join-request", "--data", "arbiter", "-o", "arbiter.join")
	f.must("fed", "create", "--data", "acme", "--name", "fin-lending", "--with", "vendor.join", "--with", "arbiter.join", "--mediator", "arbiter.join", "-o", "charter.fed")
}

// join has everybody sign and apply.
func (f *folk) join() {
	f.t.Helper()
	for _, o := range orgs {
		f.must("fed", "sign", "--data", o, "--now", "charter.fed")
	}
	for _, o := range orgs {
		f.must("fed", "apply", "--data", o, "charter.fed")
	}
}

// start runs the node of an organization; its log is appended to a file.
func (f *folk) start(org string) {
	f.t.Helper()
	w, err := os.OpenFile(filepath.Join(f.dir, org+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer w.Close()
	cmd := f.command("run", "--data", org)
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	p := &proc{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	f.procs[org] = p
}

// kill ends a node as a power cut does.
func (f *folk) kill(org string) {
	p := f.procs[org]
	if p == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	delete(f.procs, org)
}

// stop ends a node cleanly and returns its exit code and how long that took.
func (f *folk) stop(org string) (int, time.Duration) {
	f.t.Helper()
	p := f.procs[org]
	start := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		f.t.Fatal(err)
	}
	<-p.done
	delete(f.procs, org)
	return p.cmd.ProcessState.ExitCode(), time.Since(start)
}

// fresh waits until the nodes are fresh.
func (f *folk) fresh(names ...string) {
	f.t.Helper()
	for _, o := range names {
		f.must("status", "--data", o, "--wait", "fresh", "--timeout", "30s", "--json")
	}
}

// up starts all nodes and waits for them.
func (f *folk) up() {
	f.t.Helper()
	for _, o := range orgs {
		f.start(o)
	}
	f.fresh(orgs...)
}

// id is the member `id` of the JSON that a verb prints.
func (f *folk) id(args ...string) string {
	f.t.Helper()
	var v struct{ ID string }
	f.must(args...).into(f.t, &v)
	if v.ID == "" {
		f.t.Fatalf("no id: %s", strings.Join(args, " "))
	}
	return v.ID
}
