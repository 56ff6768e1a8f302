package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"trustnode/node/fault"
)

// call runs the program within the test as if it were a process of its own: what it takes from the environment is there again
// for the next one.
func call(args ...string) answer {
	given := map[string]string{}
	for _, s := range secrets {
		for _, v := range []string{s.variable, s.file()} {
			if text, ok := os.LookupEnv(v); ok {
				given[v] = text
			}
		}
	}
	a := callOn(args...)
	forgetPassphrases()
	for v, text := range given {
		if err := os.Setenv(v, text); err != nil {
			panic(err)
		}
	}
	return a
}

// callOn runs the program within the test and leaves everything as the program does.
func callOn(args ...string) answer {
	var out, err bytes.Buffer
	code := run(append([]string{"trustnode"}, args...), strings.NewReader(""), &out, &err)
	return answer{args, code, out.String(), err.String()}
}

// home makes one organization for tests within the process and names its directory.
func home(t *testing.T) string {
	t.Helper()
	t.Setenv("TRUSTNODE_PASSPHRASE", testPassphrase)
	dir := filepath.Join(t.TempDir(), "solo")
	if a := call("init", "--data", dir, "--name", "Solo", "--domain", "solo.example", "--http", "127.0.0.1:0", "--p2p", "/ip4/127.0.0.1/tcp/0"); a.code != exitDone {
		t.Fatal(a)
	}
	return dir
}

func TestCommandLine(t *testing.T) {
	dir := home(t)
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, c := range []struct {
		name string
		args string
		code int
		err  string // in standard error; a hint is always wanted where something failed
	}{
		{"an unknown command", "lend", exitUsage, `unknown command "lend"`},
		{"an unknown command of a group", "loan take", exitUsage, `unknown command "loan take"`},
		{"an unknown flag", "status --bogus", exitUsage, "bogus"},
		{"an unknown flag after an argument", "loan read zQm --bogus", exitUsage, "bogus"},
		{"an unknown flag of the program", "--bogus", exitUsage, "bogus"},
		{"a flag without its value", "status --wait", exitUsage, "needs a value"},
		{"a value of another kind", "loan issue --max-reads many", exitUsage, "max-reads"},
		{"a loan of nothing", "loan issue --lender x --data " + dir, exitUsage, "--borrower is missing"},
		{"a request to nobody", "loan request --as x --purpose y --data " + dir, exitUsage, "--lender is missing"},
		{"a cost cap of no asset", "loan request --as x --purpose y --lender z --cost-cap 5 --data " + dir, exitUsage, "AMOUNT/ASSET"},
		{"a decline without reason", "loan decline zQm --data " + dir, exitUsage, "--reason is missing"},
		{"a look without a purpose", "loan discover zQm --as x --data " + dir, exitUsage, "--purpose is missing"},
		{"a notice that is none", "status --ack x --data " + dir, exitFailed, "no notice"},
		{"a loan by an agent", "loan issue --as ghost --request x --data " + dir, exitFailed, "no agent"},
		{"a missing flag", "init --name X --data " + nowhere, exitUsage, "--domain is missing"},
		{"an empty flag", "init --name X --domain= --data " + nowhere, exitUsage, "--domain is missing"},
		{"a missing argument", "loan audit --data " + dir, exitUsage, "PERMISSION is missing"},
		{"one argument too many", "loan audit a b --data " + dir, exitUsage, `got "b" as well`},
		{"an argument where none is taken", "status extra --data " + dir, exitUsage, "takes no argument"},
		{"neither deny nor admit", "dispute answer zQm --data " + dir, exitUsage, "--deny"},
		{"a severity out of range", "dispute rule zQm --outcome claimant --reasons x --severity 101", exitUsage, "0..100"},
		{"a role that is none", "did rotate --role foo --data " + nowhere, exitUsage, "issuer, governance, witness, update"},
		{"a reason that is none", "did rotate --reason stolen --data " + nowhere, exitUsage, "scheduled, compromise, lost"},
		{"a taint of no compromise", "did rotate --taint-from 3 --data " + nowhere, exitUsage, "--reason compromise"},
		{"a governance key and no place for it", "did rotate --role governance --data " + nowhere, exitUsage, "--governance-keys DIR"},
		{"a reason to revoke that is none", "agent revoke x --reason stolen --data " + nowhere, exitUsage, "key_compromise"},
		{"a taint by a key that signs no events", "did rotate --role witness --reason compromise --taint-from 3 --data " + nowhere, exitUsage, "the witness key signs no events"},
		{"a taint by a key that writes entries", "did rotate --role update --reason compromise --taint-from 3 --data " + nowhere, exitUsage, "the update key signs no events"},
		{"a taint of an agent that was not robbed", "agent revoke x --taint-from 3 --data " + nowhere, exitUsage, "--reason key_compromise"},
		{"no witnesses and two of them", "did witness set --none --threshold 2 --data " + nowhere, exitUsage, "exclude each other"},
		{"no witnesses and nought of them", "did witness set --none --threshold 0 --data " + nowhere, exitUsage, "exclude each other"},
		{"a threshold of nobody", "did witness set --threshold 0 --data " + nowhere, exitUsage, "at least one"},
		{"a threshold above the witnesses", "did witness set --threshold 2 did:web:a.example --data " + nowhere, exitUsage, "2 of 1 witness"},
		{"signing without --now", "fed sign " + os.Args[0] + " --data " + dir, exitUsage, "--now"},
		{"no node", "status --data " + nowhere, exitFailed, "holds no node"},
		{"no node to run", "run --data " + nowhere, exitFailed, "holds no node"},
		{"a directory that holds a node", "init --name X --domain x.example --data " + dir, exitFailed, "already holds a node"},
		{"a foreign directory", "init --name X --domain x.example --data " + filepath.Dir(dir), exitFailed, "is not empty"},
		{"no domain", "init --name X --domain not_a_domain! --data " + nowhere, exitFailed, "domain"},
		{"a file that is not there", "memory import --agent x nothing.jsonl --data " + dir, exitFailed, "nothing.jsonl"},
		{"a draft that is not there", "fed sign --now nothing.fed --data " + dir, exitFailed, "nothing.fed"},
		{"a case file that is not there", "verify nothing.tnb", exitFailed, "nothing.tnb"},
		{"a file that proves nothing", "verify " + filepath.Join(dir, "config.toml"), exitUnverified, "text that begins with"},
		{"an agent that is not there", "memory add --agent ghost text --data " + dir, exitFailed, "ghost"},
		{"a state that does not come", "status --wait fresh --timeout 1ms --data " + dir, exitFailed, "not fresh"},
	} {
		a := call(strings.Fields(c.args)...)
		if a.code != c.code || !strings.Contains(a.err, c.err) || !strings.HasPrefix(a.err, "trustnode: ") || strings.Count(a.err, "trustnode: ") < 1 {
			t.Errorf("%s: want exit %d and %q, got %s", c.name, c.code, c.err, a)
		}
		if c.code == exitUsage && (!strings.Contains(a.err, "hint: ") || a.out != "") {
			t.Errorf("%s: want a hint and nothing on standard output, got %s", c.name, a)
		}
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	dir := home(t)
	if a := call("agent", "add", "research", "--can", "lend", "--data", dir); a.code != exitDone {
		t.Fatal(a)
	}
	for i, args := range [][]string{
		{"--data", dir, "memory", "add", "--agent", "research", "--project", "p", "--json", "a text"},
		{"memory", "--data", dir, "add", "a text", "--json", "--agent", "research", "--project", "p"},
		{"--json", "memory", "add", "--data=" + dir, "a text", "--agent=research", "--project=p"},
		{"memory", "add", "-data", dir, "-agent", "research", "-project", "p", "-json", "--", "a text"},
		{"memory", "add", "--data", dir, "--agent", "research", "--project", "p", "--json", "--", "-5 % since May"},
		{"memory", "add", "--data", dir, "--agent", "research", "--project", "p", "--json", "--", "--json"},
	} {
		a := call(args...)
		var e struct{ Statement string }
		if a.code != exitDone || json.Unmarshal([]byte(a.out), &e) != nil {
			t.Errorf("%d: %s", i, a)
			continue
		}
		want := "a text"
		if i > 3 {
			want = args[len(args)-1]
		}
		if e.Statement != want {
			t.Errorf("%d: got %q, want %q", i, e.Statement, want)
		}
	}
	t.Setenv("TRUSTNODE_DATA", dir)
	if a := call("status"); a.code != exitDone || !strings.Contains(a.out, "Solo") {
		t.Errorf("TRUSTNODE_DATA: %s", a)
	}
}

func TestRefusalsAreToldTwice(t *testing.T) {
	dir := home(t)
	t.Run("as a problem and as a sentence", func(t *testing.T) {
		t.Setenv("TRUSTNODE_PASSPHRASE", "a wrong one")
		a := call("status", "--data", dir, "--json")
		var p fault.Problem
		if err := json.Unmarshal([]byte(a.out), &p); err != nil {
			t.Fatalf("%v: %s", err, a)
		}
		want := fault.Problem{Type: "about:blank", Title: "Unauthorized", Status: 401, Code: fault.Unauthenticated, Reason: "passphrase", Hint: p.Hint, Detail: p.Detail}
		if a.code != exitRefused || p != want || p.Hint == "" || !strings.Contains(a.err, "passphrase does not open") || !strings.Contains(a.err, "hint: "+p.Hint) {
			t.Errorf("got %s", a)
		}
	})
	t.Run("without --json as a sentence alone", func(t *testing.T) {
		a := call("loan", "show", "zQmdoesnotexist", "--data", dir)
		if a.code == exitDone || a.out != "" || !strings.HasPrefix(a.err, "trustnode: ") {
			t.Errorf("got %s", a)
		}
	})
	t.Run("no passphrase", func(t *testing.T) {
		t.Setenv("TRUSTNODE_PASSPHRASE", "")
		a := call("status", "--data", dir)
		if a.code != exitRefused || !strings.Contains(a.err, "hint: set TRUSTNODE_PASSPHRASE") {
			t.Errorf("got %s", a)
		}
	})
	t.Run("a passphrase file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pass")
		if err := os.WriteFile(file, []byte(testPassphrase+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TRUSTNODE_PASSPHRASE", "")
		t.Setenv("TRUSTNODE_PASSPHRASE_FILE", file)
		if a := call("status", "--data", dir); a.code != exitDone {
			t.Errorf("got %s", a)
		}
	})
	t.Run("an unknown key of the configuration, with its line", func(t *testing.T) {
		other := home(t)
		file := filepath.Join(other, "config.toml")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := bytes.Count(b, []byte("\n")) + 1
		if err := os.WriteFile(file, append(b, "colour = \"red\"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"status", "run"} {
			a := call(verb, "--data", other)
			if a.code != exitFailed || !strings.Contains(a.err, fmt.Sprintf("line %d: unknown key", line)) || !strings.Contains(a.err, "colour") {
				t.Errorf("got %s", a)
			}
		}
	})
}

// Every verb explains itself on standard output and takes --data and --json.
func TestEveryVerbHasHelp(t *testing.T) {
	app := newApp(&streams{})
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Name == "help" {
				continue
			}
			here := append(append([]string{}, path...), c.Name)
			a := call(append(here, "--help")...)
			if a.code != exitDone || a.err != "" || !strings.Contains(a.out, c.Usage) {
				t.Errorf("%s", a)
			}
			if len(c.Subcommands) > 0 {
				walk(here, c.Subcommands)
				if a := call(here...); a.code != exitDone || !strings.Contains(a.out, c.Usage) {
					t.Errorf("a group alone: %s", a)
				}
				continue
			}
			if !strings.Contains(a.out, "--data") || !strings.Contains(a.out, "--json") {
				t.Errorf("no common flags: %s", a)
			}
			for _, f := range c.Flags {
				if d, ok := f.(cli.DocGenerationFlag); !ok || d.GetUsage() == "" {
					t.Errorf("%s: flag %v is not explained", here, f.Names())
				}
			}
		}
	}
	walk(nil, app.Commands)
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "loan"}, {"loan", "help"}, {"version"}, {"version", "--json"}, {"--version"}} {
		if a := call(args...); a.code != exitDone || a.err != "" || a.out == "" {
			t.Errorf("%s", a)
		}
	}
}

// Whatever is typed, it is sorted or refused.
func FuzzPermute(f *testing.F) {
	for _, s := range []string{"status", "--data d loan read x --as q", "loan issue --scope -tag:x", "memory add -- -5", "--json", "a=b --= - -- --", "loan --json"} {
		f.Add(s)
	}
	app := newApp(&streams{})
	f.Fuzz(func(t *testing.T, line string) {
		in := append([]string{"trustnode"}, strings.Split(line, " ")...)
		out, err := permute(app, in)
		if err != nil {
			return
		}
		// Nothing is lost or made up but the mark between flags and arguments.
		count := map[string]int{}
		for _, w := range in {
			count[w]++
		}
		for _, w := range out {
			count[w]--
		}
		for w, n := range count {
			if n != 0 && w != "--" {
				t.Errorf("%q became %q", in, out)
			}
		}
	})
}
