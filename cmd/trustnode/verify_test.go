package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/did/pins"
	"trustnode/node/verifier"
)

// gallery copies the golden files of node/verifier to a folder of its own.
func gallery(t *testing.T) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../node/verifier/testdata")); err != nil {
		t.Fatal(err)
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

const acmeDID = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"

const later = "2026-12-20T00:00:00Z" // after all that the golden files say

func TestVerifyOfTheIdentityArea(t *testing.T) {
	f := gallery(t)
	alone := filepath.Join(t.TempDir(), "moved.jsonl")
	b, err := os.ReadFile(f("did.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(alone, b, 0o600); err != nil {
		t.Fatal(err)
	}
	node := t.TempDir() // of a node only its pins are read
	p, err := pins.Open(filepath.Join(node, "pins"), time.Now)
	if err == nil {
		err = p.Put(t.Context(), pins.Slot{Kind: pins.KindDID, Key: acmeDID, N: 2}, "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct {
		name string
		args []string
		code int
		out  string // in standard output
		err  string // in standard error
	}{
		{"a log finds its witness file beside it", []string{f("did.jsonl")}, exitDone, "witnessed, 1 of 1 needed", ""},
		{"a log under any name", []string{alone}, exitUnverified, "pending", "hint: its did-witness.json belongs beside it"},
		{"a log with the witness file named", []string{alone, "--witness", f("did-witness.json")}, exitDone, "verifies (2 claims)", ""},
		{"a witness file that is not there", []string{alone, "--witness", f("nothing.json")}, exitFailed, "", "nothing.json"},
		{"a join file", []string{f("join.tnb")}, exitDone, "asked to join", ""},
		{"a boot file", []string{f("boot.tnb")}, exitDone, "fed1-", ""},
		{"an agent object without its log", []string{f("agent.json")}, exitUnverified, "result   pending", "trustnode: pending: agent object"},
		{"an agent object with its log", []string{f("agent.json"), "--with", f("did-1.jsonl")}, exitDone, "may borrow", ""},
		{"an agent object whose key was rotated out", []string{f("agent.json"), "--with", f("did.jsonl")}, exitUnverified, "",
			"left the document of acme.example in entry 2, its key.rotated event is not known here\nhint: retry after catch-up, or add the event to the bundle"},
		{"an agent that ended", []string{f("agent.json"), "--with", f("did-1.jsonl"), "--at", "2027-01-01T00:00:00Z"}, exitUnverified, "",
			"trustnode: agent billing of acme.example ended at 2026-12-31T10:00:00Z\nhint: trustnode agent add --name billing renews it"},
		{"a credential", []string{f("credential.json"), "--with", f("did-1.jsonl")}, exitDone, "AgentCredential", ""},
		{"a credential of another suite", []string{f("credential-sd.json")}, exitUnverified, "undecided", "trustnode: unsupported: "},
		{"a DID document", []string{f("did.json")}, exitUnverified, "proves nothing by itself", "trustnode: unproven: "},
		{"material that is not there", []string{f("agent.json"), "--with", f("nothing")}, exitFailed, "", "nothing"},
		{"a log with a pin", []string{f("did.jsonl"), "--strict", "--pin", "did " + acmeDID + " 2 2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR"}, exitDone, "acme.example is the one the pins know, up to version 2", ""},
		{"a log with another pin", []string{f("did.jsonl"), "--pin", "did " + acmeDID + " 2 2-QmOther"}, exitUnverified, "does not verify", "which the pins name"},
		{"a log with the pins of a node", []string{f("did.jsonl"), "--strict", "--data", node}, exitDone, "up to version 2", ""},
		{"a pin that is none", []string{f("did.jsonl"), "--pin", "acme"}, exitUsage, "", "hint: write it as --pin"},
		{"a directory without pins", []string{f("did.jsonl"), "--data", f("nothing")}, exitFailed, "", "nothing"},
		{"several files, one of them pending", []string{f("join.tnb"), f("agent.json"), f("boot.tnb")}, exitUnverified, "fed1-", "agent.json: pending"},
		{"several files, one of them absent and one pending", []string{f("nothing"), f("agent.json"), f("boot.tnb")}, exitUnverified, "fed1-", "nothing"},
		{"several files, one of them absent", []string{f("nothing"), f("boot.tnb")}, exitFailed, "fed1-", "nothing"},
		{"no file", nil, exitUsage, "", "one file or more"},
		{"a time that is none", []string{f("join.tnb"), "--at", "tomorrow"}, exitUsage, "", "--at tomorrow is no time"},
		{"one witness file for two logs", []string{alone, f("did.jsonl"), "--witness", f("did-witness.json")}, exitUsage, "", "several files"},
	} {
		args := append([]string{"verify"}, c.args...)
		if !strings.Contains(strings.Join(args, " "), "--at") {
			args = append(args, "--at", later)
		}
		a := call(args...)
		if a.code != c.code || !strings.Contains(a.out, c.out) || !strings.Contains(a.err, c.err) || (a.code == exitDone) != (a.err == "") {
			t.Errorf("%s: want exit %d with %q and %q, got %s", c.name, c.code, c.out, c.err, a)
		}
	}
}

func TestVerifyPrintsJSONForEachFile(t *testing.T) {
	f := gallery(t)
	a := call("verify", "--json", "--at", later, f("join.tnb"), f("agent.json"))
	d := json.NewDecoder(strings.NewReader(a.out))
	var got []verifier.Report
	for {
		var r verifier.Report
		if err := d.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err, a)
		}
		got = append(got, r)
	}
	if a.code != exitUnverified || len(got) != 2 || !got[0].OK || got[0].Kind != verifier.KindBundle || got[1].OK || got[1].Outcome != verifier.Pending || got[1].Hint == "" {
		t.Error(a)
	}
}

func TestFilesOfOneNameAreToldApart(t *testing.T) {
	b, err := os.ReadFile(caseFile(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, args := t.TempDir(), []string{"verify", "--at", later}
	for _, folder := range []string{"mine", "theirs"} {
		name := filepath.Join(dir, folder, "case.tnb")
		if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	a := call(args...)
	if a.code != exitDone || !strings.Contains(a.out, "file     "+args[3]+"  ") || !strings.Contains(a.out, "file     "+args[4]+"  ") {
		t.Error(a)
	}
}

func TestVerifyHelpNamesItsKinds(t *testing.T) {
	a := call("verify", "--help")
	for _, want := range []string{"--with FILE", "--witness FILE", "--at TIME", "--fingerprint", "did-witness.json beside it", "Exit code 0"} {
		if !strings.Contains(a.out, want) {
			t.Errorf("want %q in %s", want, a)
		}
	}
}

// The program itself, in a network namespace with no interface but a loopback that is down,
// and without a home, verifies all the same.
func TestVerifyWithTheNetworkUnplugged(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil || exec.Command(unshare, "-rn", "true").Run() != nil {
		t.Skip("no network namespace may be made here")
	}
	bin := program(t)
	f := gallery(t)
	run := func(args ...string) (string, error) {
		cmd := exec.Command(unshare, append([]string{"-rn", bin, "verify", "--at", later}, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=/nonexistent"}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
			t.Errorf("verify %v left %v", args, left)
		}
		return out.String(), err
	}
	for _, args := range [][]string{{f("did.jsonl")}, {f("join.tnb")}, {f("boot.tnb")}, {f("evidence.tnb")}, {f("agent.json"), "--with", f("did-1.jsonl")},
		{f("credential.json"), "--with", f("did-1.jsonl")}, {caseFile(t)}} {
		if out, err := run(args...); err != nil {
			t.Errorf("verify %v: %v\n%s", args, err, out)
		}
	}
	if out, err := run(f("agent.json")); err == nil || !strings.Contains(out, "pending") {
		t.Errorf("without its log: %v\n%s", err, out)
	}
}

func caseFile(t *testing.T) string {
	t.Helper()
	name, err := filepath.Abs("../../node/casefile/testdata/case.tnb")
	if err != nil {
		t.Fatal(err)
	}
	return name
}
