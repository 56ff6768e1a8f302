package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"trustnode/testnet/ports"
)

// The road as a person walks it, with a shell.
func TestRoad(t *testing.T) {
	t.Parallel()
	bin := program(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("scripts/road.sh needs bash, which this machine lacks")
	}
	port, err := ports.Claim(6)
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, len(port))
	for i, p := range port {
		words[i] = strconv.Itoa(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "road")
	cmd := exec.CommandContext(ctx, bash, filepath.Join("..", "..", "scripts", "road.sh"), "--bin", bin, "--dir", dir, "--ports", strings.Join(words, " "))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.HasSuffix(strings.TrimSpace(string(out)), "# done") {
		t.Errorf("it ends with %s", out[max(0, len(out)-300):])
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind: %v", dir, err)
	}
}

// The demo tells the same story with whole nodes in one process.
func TestDemo(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	a := f.must("testnet", "demo", "--json", "--dir", filepath.Join(f.dir, "demo"))
	if n := strings.Count(a.out, "\n"); n < 12 {
		t.Errorf("%d steps: %s", n, a)
	}
	f.must("verify", filepath.Join("demo", "case.tnb"))
}
