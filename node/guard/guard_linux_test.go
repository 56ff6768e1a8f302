package guard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"trustnode/node/fault"
)

// What a child of a test is told, and the variable that stands for a passphrase.
const (
	childVar  = "GUARD_TEST_CHILD"
	secretVar = "GUARD_TEST_SECRET"
	secret    = "correct-horse-battery"
)

// nobody is who runs the children of a test that root runs: root could read everything.
const nobody = 65534

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(childVar))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := children[words[0]](words[1:]); err != nil {
		fmt.Println("child:", err)
		os.Exit(1)
	}
}

// children are what this program does as another process. A first word "guarded" has it guarded.
var children = map[string]func([]string) error{
	"show":  func(w []string) error { return guardIf(w, show) },
	"abort": func(w []string) error { return guardIf(w, abort) },
	"wait":  func(w []string) error { return guardIf(w, wait) },
	"trace": trace,
	"lock":  lock,
}

func guardIf(words []string, then func() error) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, hardCore()); err != nil {
		return err
	}
	if words[0] == "guarded" {
		for range 2 { // twice does no harm
			if note, err := Process(); err != nil || note != "" {
				return fmt.Errorf("%q, %w", note, err)
			}
		}
	}
	return then()
}

// hardCore lets core files be as large as they may.
func hardCore() *unix.Rlimit {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err == nil {
		l.Cur = l.Max
	}
	return &l
}

func show() error {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	fmt.Println("dumpable", dumpable)
	for _, name := range []string{"status", "limits"} {
		b, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return err
		}
		fmt.Printf("%s", b)
	}
	return nil
}

func abort() error {
	debug.SetTraceback("crash")
	if err := unix.Kill(os.Getpid(), unix.SIGABRT); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return errors.New("SIGABRT did nothing")
}

func wait() error {
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// trace tries on another process whatever shows its memory.
func trace(words []string) error {
	pid, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the tracer is a thread
	if err := syscall.PtraceAttach(pid); err != nil {
		fmt.Println("attach:", err)
	} else {
		var s syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &s, 0, nil); err != nil {
			return err
		}
		fmt.Println("attached")
		if err := syscall.PtraceDetach(pid); err != nil {
			return err
		}
	}
	dir := "/proc/" + words[0]
	if f, err := os.Open(dir + "/mem"); err != nil {
		fmt.Println("mem:", err)
	} else {
		f.Close()
		fmt.Println("mem opened")
	}
	b, err := os.ReadFile(dir + "/environ")
	fmt.Printf("environ: %v, secret seen: %v\n", err, strings.Contains(string(b), secret))
	return nil
}

func lock(words []string) error {
	if len(words) > 0 {
		n, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: n / 2, Max: n}); err != nil {
			return err
		}
	}
	if err := LockMemory(); err != nil {
		d := fault.From(err)
		fmt.Println("refused:", d.Code, d.Reason, d, "hint:", d.Hint)
		return nil
	}
	grown := make([]byte, 32<<20)
	for i := range grown {
		grown[i] = byte(i)
	}
	fmt.Println("locked")
	return show()
}

// program is a copy of this test that everybody may run.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, b, 0o755), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// child prepares a process without privileges.
func child(path, does string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Env = []string{childVar + "=" + does, secretVar + "=" + secret}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return cmd
}

// output runs a child to its end.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("no process without privileges can be started here: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestProcessAsTheKernelSeesIt(t *testing.T) {
	path := program(t)
	plain, guarded := output(t, child(path, "show plain")), output(t, child(path, "show guarded"))
	if !strings.HasPrefix(plain, "dumpable 1\n") {
		t.Errorf("a process that is not guarded: %.40q", plain)
	}
	if !strings.HasPrefix(guarded, "dumpable 0\n") {
		t.Errorf("a guarded process: %.40q", guarded)
	}
	if got := strings.Fields(lineOf(guarded, "Max core file size")); len(got) < 6 || got[4] != "0" || got[5] != "0" {
		t.Errorf("limit of core files: %q, want 0 and 0", got)
	}
}

func lineOf(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return line
		}
	}
	return ""
}

func TestAbortLeavesNoCore(t *testing.T) {
	path := program(t)
	dumped := func(how string) bool {
		dir := filepath.Join(filepath.Dir(path), how)
		if err := errors.Join(os.Mkdir(dir, 0o777), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
		cmd := child(path, "abort "+how)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("no process without privileges can be started here: %v", err)
		}
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || !status.Signaled() || status.Signal() != syscall.SIGABRT {
			t.Fatalf("%s: %v, want an end by SIGABRT\n%s", how, cmd.ProcessState, out)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return status.CoreDump() || len(files) > 0
	}
	if dumped("guarded") {
		t.Error("a guarded process left a core")
	}
	if !dumped("plain") {
		t.Skip("no process leaves a core here, so there is nothing to compare with")
	}
}

func TestNobodyElseLooksInside(t *testing.T) {
	path := program(t)
	look := func(how string) string {
		cmd := child(path, "wait "+how)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); errors.Is(err, os.ErrPermission) {
			t.Skipf("no process without privileges can be started here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%s: %q, %v", how, line, err)
		}
		seen := output(t, child(path, fmt.Sprint("trace ", cmd.Process.Pid)))
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		return seen
	}
	if got := look("guarded"); !strings.Contains(got, "attach: operation not permitted") || strings.Contains(got, "attached") ||
		!strings.Contains(got, "mem: ") || strings.Contains(got, "mem opened") || !strings.Contains(got, "secret seen: false") {
		t.Errorf("another process of the same user saw of a guarded one:\n%s", got)
	}
	if got := look("plain"); !strings.Contains(got, "attached") || !strings.Contains(got, "secret seen: true") {
		t.Skipf("here no process sees another one anyway, so there is nothing to compare with:\n%s", got)
	}
}

func TestLockMemory(t *testing.T) {
	path := program(t)
	t.Run("a limit is refused with a hint", func(t *testing.T) {
		got := output(t, child(path, "lock 2097152"))
		for _, want := range []string{"refused: unavailable lock_memory", "no more than 2097152 bytes may be locked", "hint: ", "RLIMIT_MEMLOCK", "LimitMEMLOCK=infinity"} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q in it", got, want)
			}
		}
	})
	t.Run("without a limit all is locked, what comes later too", func(t *testing.T) {
		cmd := child(path, "lock")
		cmd.SysProcAttr.Credential = nil // root has no limit
		got := output(t, cmd)
		if strings.HasPrefix(got, "refused") {
			t.Skipf("this user may not lock: %s", got)
		}
		kib := func(name string) int {
			fields := strings.Fields(lineOf(got, name))
			if len(fields) < 2 {
				t.Fatalf("no %s in %s", name, got)
			}
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		locked, size, resident := kib("VmLck:"), kib("VmSize:"), kib("VmRSS:")
		if locked < 32<<10 || locked < size*9/10 {
			t.Errorf("locked %d KiB of %d", locked, size)
		}
		if resident > 200<<10 {
			t.Errorf("resident %d KiB: what is mapped was brought in", resident)
		}
		if swap := kib("VmSwap:"); swap != 0 {
			t.Errorf("%d KiB in swap", swap)
		}
	})
}
