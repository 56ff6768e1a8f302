package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/node/httpapi"
	"trustnode/testnet/ports"
)

// one makes an organization on free ports.
func (f *folk) one(name string) {
	f.t.Helper()
	p, err := ports.Claim(2)
	if err != nil {
		f.t.Fatal(err)
	}
	f.must("init", "--data", name, "--name", name, "--domain", name+".example", "--http", fmt.Sprintf("127.0.0.1:%d", p[0]), "--p2p", fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", p[1]))
}

// cut runs a verb and kills it after a while; it may have ended before.
func (f *folk) cut(after time.Duration, args ...string) {
	f.t.Helper()
	cmd := f.command(args...)
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// copyDir copies a data directory or a file of the story.
func (f *folk) copyDir(from, to string) {
	f.t.Helper()
	from, to = filepath.Join(f.dir, from), filepath.Join(f.dir, to)
	if st, err := os.Stat(from); err == nil && !st.IsDir() {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, 0o600)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		return
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		f.t.Fatal(err)
	}
	// CopyFS widens modes; keys are kept from others.
	err := filepath.Walk(to, func(p string, st os.FileInfo, err error) error {
		if err == nil && !st.IsDir() {
			err = os.Chmod(p, 0o600)
		} else if err == nil {
			err = os.Chmod(p, 0o700)
		}
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// Verbs that work without a node are killed at random moments: the directory is usable
// after, the verb can be run again, and nothing is signed twice.
func TestKilledOfflineVerbs(t *testing.T) {
	t.Parallel()
	rounds := 15
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rounds = 90
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	f := newFolk(t)
	f.found()
	for _, o := range orgs {
		f.copyDir(o, "draft-"+o) // before anything is signed
	}
	f.copyDir("charter.fed", "draft.fed")
	start := time.Now()
	f.must("fed", "sign", "--data", "acme", "--now", "charter.fed")
	long := max(200*time.Millisecond, time.Since(start))
	f.must("fed", "sign", "--data", "vendor", "--now", "charter.fed")
	f.must("fed", "sign", "--data", "arbiter", "--now", "charter.fed")
	verbs := []func(int, time.Duration){f.cutInit, f.cutSign, f.cutApply}
	for i := range rounds {
		verbs[i%len(verbs)](i, time.Duration(rnd.Int64N(int64(long))))
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

func (f *folk) cutInit(i int, after time.Duration) {
	dir := fmt.Sprintf("new-%d", i)
	args := []string{"init", "--data", dir, "--name", "New", "--domain", "new.example", "--http", "127.0.0.1:0", "--p2p", "/ip4/127.0.0.1/tcp/0"}
	f.cut(after, args...)
	a := f.try(append(args, "--json")...)
	if a.code != exitDone && !strings.Contains(a.out, `"reason": "exists"`) {
		f.t.Errorf("after %s: %s", after, a)
	}
	f.must("status", "--data", dir)
}

// cutSign kills a signature on a draft; signing again puts the one signature in place.
func (f *folk) cutSign(i int, after time.Duration) {
	dir, file := fmt.Sprintf("sign-%d", i), fmt.Sprintf("sign-%d.fed", i)
	f.copyDir("draft-acme", dir)
	f.copyDir("draft.fed", file)
	f.cut(after, "fed", "sign", "--data", dir, "--now", file)
	a := f.must("fed", "sign", "--data", dir, "--now", "--json", file)
	again := f.must("fed", "sign", "--data", dir, "--now", "--json", file)
	var first, second httpapi.FedDraft
	a.into(f.t, &first)
	again.into(f.t, &second)
	if first.ID != second.ID || len(first.Signed) != 1 || len(second.Signed) != 1 {
		f.t.Errorf("after %s: signed %v, then %v", after, first.Signed, second.Signed)
	}
	f.oncePinned(dir)
	f.oneEvent(dir, "charter.signed")
}

// cutApply kills the start of a charter; applying again puts it in force.
func (f *folk) cutApply(i int, after time.Duration) {
	dir := fmt.Sprintf("apply-%d", i)
	f.copyDir("acme", dir)
	f.cut(after, "fed", "apply", "--data", dir, "charter.fed")
	f.must("fed", "apply", "--data", dir, "charter.fed")
	var st httpapi.Status
	f.must("fed", "status", "--data", dir, "--json").into(f.t, &st)
	if st.Federation == nil || st.Federation.Name != "fin-lending" {
		f.t.Errorf("after %s: %+v", after, st)
	}
	f.oncePinned(dir)
}

// oncePinned: the record of what was signed holds one value for each place.
func (f *folk) oncePinned(dir string) {
	b, err := os.ReadFile(filepath.Join(f.dir, dir, "pins"))
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]string{}
	for line := range bytes.Lines(b) {
		w := strings.Fields(string(line))
		if len(w) < 5 {
			continue
		}
		slot := strings.Join(w[:3], " ")
		if old, ok := held[slot]; ok && old != w[3] {
			f.t.Errorf("%s: %s holds %s and %s", dir, slot, old, w[3])
		}
		held[slot] = w[3]
	}
	if len(held) == 0 {
		f.t.Errorf("%s: nothing is pinned", dir)
	}
}

// oneEvent: what was decided is said once.
func (f *folk) oneEvent(dir, kind string) {
	var l httpapi.Events
	f.must("event", "list", "--data", dir, "--type", kind, "--json").into(f.t, &l)
	if len(l.Events) != 1 {
		f.t.Errorf("%s: %d events %s", dir, len(l.Events), kind)
	}
}
