package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/node/fetch"
	"trustnode/node/httpapi"
	"trustnode/node/resolver/resolvertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// resolveAt runs did resolve against a node whose ring, clock and hosts are given.
func resolveAt(n *resolvertest.Node, words ...string) answer {
	h := httpapi.New(httpapi.Services{Node: n.Node, Resolver: n.Resolver}, "t", "test", slog.New(slog.DiscardHandler))
	k := &caller{api: httpapi.InProcess(h, "t"), own: true, close: func() error { return nil }}
	var out, err bytes.Buffer
	s := &streams{in: strings.NewReader(""), out: &out, err: &err}
	verb := didResolveCommand(s)
	verb.Action = func(c *cli.Context) error {
		if err := resolveFlags(c); err != nil {
			return err
		}
		return resolveByNode(c, s, byNode{k}, c.Args().First())
	}
	app := &cli.App{Name: "trustnode", Writer: &out, ErrWriter: &err, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{verb}}
	harden(s, app.Commands)
	args, e := permute(app, append([]string{"trustnode", "resolve"}, words...))
	if e == nil {
		e = app.Run(args)
	}
	code := s.report(e)
	return answer{words, code, out.String(), err.String()}
}

// golden compares what a verb printed with a file.
func golden(t *testing.T, name string, a answer) {
	t.Helper()
	file := filepath.Join("testdata", "resolve", name+".txt")
	got := fmt.Sprintf("exit %d\n%s-- stderr --\n%s", a.code, a.out, a.err)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

const aKey = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"

// What a person sees of a DID, in each state it can be in.
func TestResolveInEachState(t *testing.T) {
	n := resolvertest.NewNode(t, resolvertest.NewOrg(t, "acme"))
	beta := resolvertest.NewOrg(t, "beta").Rotate().Watched()
	n.Hold(beta)
	ended := resolvertest.NewOrg(t, "ended").End()
	n.Hold(ended)
	forked := resolvertest.NewOrg(t, "forked").Rotate()
	n.Hold(forked.Rotate())
	n.Hold(forked.As(1).Rotate())
	old := resolvertest.NewOrg(t, "moving")
	n.Hold(old)
	n.Hold(old.Move("moved.example"))
	web := did.MustParse("did:web:gamma.example%3A8443:org")
	n.Pin(web, resolvertest.WebDocument(web, 1, "https://gamma.example"))
	stranger := resolvertest.NewOrg(t, "stranger").Rotate()
	n.Shelf.Put(stranger.DID(), stranger.Material())
	foreign := did.MustParse("did:web:foreign.example")
	n.Shelf.Put(foreign, did.Material{Log: resolvertest.WebDocument(foreign, 1, "https://foreign.example")})
	n.Shelf.Break(did.MustParse("did:web:down.example"), fetch.CauseName)
	bad := resolvertest.NewOrg(t, "bad")
	n.Shelf.Put(bad.DID(), stranger.Material())
	for _, c := range []struct {
		name string
		args []string
	}{
		{"held", []string{beta.DID().String()}},
		{"held-first-version", []string{beta.DID().String() + "?versionNumber=1"}},
		{"held-key", []string{beta.DID().String() + "#" + beta.Issuer()}},
		{"deactivated", []string{ended.DID().String()}},
		{"deactivated-before", []string{ended.DID().String() + "?versionNumber=1"}},
		{"frozen", []string{forked.DID().String()}},
		{"moved", []string{"--offline", old.DID().String()}},
		{"web-pinned", []string{web.String()}},
		{"not-held", []string{"--offline", stranger.DID().String()}},
		{"stranger", []string{stranger.DID().String()}},
		{"stranger-web", []string{foreign.String()}},
		{"no-answer", []string{"did:web:down.example"}},
		{"no-such-file", []string{"did:web:nobody.example"}},
		{"not-verified", []string{bad.DID().String()}},
		{"no-such-version", []string{"--offline", beta.DID().String() + "?versionNumber=9"}},
	} {
		golden(t, c.name, resolveAt(n, c.args...))
	}
}

// B-2: a host that serves an old state of a log is refused, what is held stands, and the
// exit code tells.
func TestResolveFreshOfAHeldDID(t *testing.T) {
	first := resolvertest.NewOrg(t, "beta")
	second := first.Rotate()
	web := did.MustParse("did:web:gamma.example")
	for _, c := range []struct {
		name  string
		did   did.DID
		serve did.Material
		code  int
	}{
		{"fresh-same", first.DID(), second.Material(), exitDone},
		{"fresh-newer", first.DID(), second.Rotate().Material(), exitDone},
		{"fresh-rollback", first.DID(), first.Material(), exitRefused},
		{"fresh-fork", first.DID(), first.As(1).Rotate().Material(), exitRefused},
		{"fresh-broken", first.DID(), did.Material{Log: []byte("{}\n")}, exitUnverified},
		{"fresh-silent", first.DID(), did.Material{}, exitDone},
		{"fresh-web-changed", web, did.Material{Log: resolvertest.WebDocument(web, 2, "x")}, exitRefused},
		{"fresh-web-other", web, did.Material{Log: resolvertest.WebDocument(did.MustParse("did:web:victim.example"), 1, "x")}, exitUnverified},
	} {
		n := resolvertest.NewNode(t, resolvertest.NewOrg(t, "acme"))
		n.Hold(second)
		n.Pin(web, resolvertest.WebDocument(web, 1, "x"))
		if c.serve.Log != nil {
			n.Shelf.Put(c.did, c.serve)
		}
		a := resolveAt(n, "--fresh", c.did.String())
		if a.code != c.code {
			t.Errorf("%s: want exit %d: %s", c.name, c.code, a)
		}
		golden(t, c.name, a)
		if c.name == "fresh-newer" || c.name == "fresh-fork" {
			continue
		}
		if h, err := n.Ring.Head(t.Context(), c.did); err != nil || c.did == first.DID() && h.ID != second.Head() || h.State != did.Held {
			t.Errorf("%s: stands at %+v, %v", c.name, h, err)
		}
	}
}

// Whatever is asked for, the exit code of a DID that is its own key, or no DID, needs no
// node and no passphrase.
func TestResolveWithoutANode(t *testing.T) {
	t.Setenv("TRUSTNODE_PASSPHRASE", "")
	t.Setenv("TRUSTNODE_DATA", filepath.Join(t.TempDir(), "nowhere"))
	dir := t.TempDir()
	o := resolvertest.NewOrg(t, "lab").Watched().Rotate()
	file := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	log, witness := file("did.jsonl", o.H.Log()), file("did-witness.json", o.H.Witness())
	alone := filepath.Join(t.TempDir(), "did.jsonl")
	if err := os.WriteFile(alone, o.H.Log(), 0o600); err != nil {
		t.Fatal(err)
	}
	web := did.MustParse("did:web:domain%3A1100:api:v1")
	doc := file("did.json", resolvertest.WebDocument(web, 1, "x"))
	broken := file("broken.jsonl", bytes.Replace(o.H.Log(), []byte("lab.example/api"), []byte("bad.example/api"), 1))
	d := o.DID().String()
	for _, c := range []struct {
		name  string
		args  []string
		code  int
		out   string
		err   string
		nojsn bool
	}{
		{"a key", []string{aKey}, exitDone, "a key that is its own DID", "", false},
		{"a key, fresh", []string{"--fresh", aKey}, exitDone, "nobody was asked", "", false},
		{"a key of a key", []string{aKey + "#z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}, exitDone, "part", "", false},
		{"a log with its witness file", []string{"--log", log, "--witness", witness, d}, exitDone, "since version 3 of", "", false},
		{"an earlier version of it", []string{"--log", log, "--witness", witness, d + "?versionNumber=1"}, exitDone, o.H.Prefix(1).Head().ID, "", false},
		{"a log with its witness file beside it", []string{"--log", log, d}, exitDone, "since version 3 of", "", false},
		{"a log without its witness file", []string{"--log", alone, d}, exitUnverified, "", "0 of 2 witness proofs\nhint: its did-witness.json belongs beside the log", false},
		{"a log that was changed", []string{"--log", broken, "--witness", witness, d}, exitUnverified, "", "invalid DID", false},
		{"the log of another DID", []string{"--log", log, "--witness", witness, "did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:acme.example"}, exitUnverified, "",
			"the log is of " + d + ", not of did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:acme.example", false},
		{"the log of another DID, without its witness file", []string{"--log", alone, "did:webvh:QmZpf94jgzaQb3NjqTV4HTs67znwRkgeJ3x1yRnHPaeyyP:acme.example"}, exitUnverified, "", "the log is of " + d, false},
		{"a did.json (B-6)", []string{"--log", doc, web.String()}, exitDone, "https://domain:1100/api/v1/did.json", "", false},
		{"a did.json of another DID (B-5)", []string{"--log", doc, "did:web:trusted.example:redirector"}, exitUnverified, "", "invalid DID document", false},
		{"a file that is not there", []string{"--log", filepath.Join(dir, "none"), d}, exitFailed, "", "no such file or directory\nhint: --log takes the did.jsonl", true},
		{"what nobody has", []string{"--offline", d}, exitFailed, "", "did resolve --log did.jsonl " + d, false},
		{"a did:web that nobody has", []string{"--offline", web.String()}, exitFailed, "", "did resolve --log did.json " + web.String(), false},
		{"no DID", []string{"nonsense"}, exitUsage, "", "invalid DID", false},
		{"a DID with a space", []string{"did:web:a b"}, exitUsage, "", "invalid DID", false},
		{"an unknown method", []string{"did:example:1"}, exitUsage, "", "not supported", false},
		{"a path", []string{"did:web:acme.example/x"}, exitUsage, "", "feature not supported", false},
		{"an unknown option", []string{aKey + "?colour=red"}, exitUsage, "", "invalid options", false},
		{"a key that is none", []string{"did:key:z0OIl"}, exitUsage, "", "invalid DID", false},
		{"a key of another kind", []string{"did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"}, exitUsage, "", "feature not supported", false},
		{"a key that lost its end", []string{"did:key:z6Mkh"}, exitUsage, "", "not a complete did:key", false},
		{"a did:web at an address", []string{"did:web:127.0.0.1"}, exitUsage, "", "invalid DID", false},
		{"a did:webvh without SCID", []string{"did:webvh:acme.example"}, exitUsage, "", "invalid DID", false},
		{"two flags that contradict each other", []string{"--offline", "--fresh", d}, exitUsage, "", "exclude each other", true},
		{"a witness file without log", []string{"--witness", witness, d}, exitUsage, "", "--witness needs --log", true},
		{"a decision without reason", []string{"--accept-head", "z", web.String()}, exitUsage, "", "--accept-head needs --reason", true},
		{"a decision without a node", []string{"--accept-head", "z", "--reason", "x", web.String()}, exitFailed, "", "holds no node", true},
		{"nothing", nil, exitUsage, "", "DIDURL is missing", true},
	} {
		a := call(append([]string{"did", "resolve"}, c.args...)...)
		if a.code != c.code || !strings.Contains(a.out, c.out) || !strings.Contains(a.err, c.err) || (c.code != 0) != strings.HasPrefix(a.err, "trustnode: ") {
			t.Errorf("%s: want exit %d, %q, %q: %s", c.name, c.code, c.out, c.err, a)
		}
		if c.nojsn {
			continue
		}
		j := call(append([]string{"did", "resolve", "--json"}, c.args...)...)
		r, err := readResolved([]byte(j.out))
		if err != nil || j.code != c.code || (c.code != exitDone) != (r.meta().Error.Type != "") {
			t.Errorf("%s as JSON: %v: %s", c.name, err, j)
		}
	}
	a := call("did", "resolve", "--accept", "application/did", "--log", doc, web.String())
	want, _ := os.ReadFile(doc)
	if a.code != exitDone || a.out != string(want)+"\n" {
		t.Errorf("the document alone: %s", a)
	}
	if a = call("did", "resolve", "--accept", "text/plain", aKey); a.code != exitUsage || !strings.Contains(a.err, "representation not supported") {
		t.Errorf("a form nobody has: %s", a)
	}
}

// An identity without a node is whole: its log verifies, its files are what it publishes,
// and nothing is written over another one.
func TestDIDCreate(t *testing.T) {
	t.Setenv("TRUSTNODE_PASSPHRASE", testPassphrase)
	dir := filepath.Join(t.TempDir(), "lab")
	update := filepath.Join(t.TempDir(), "stick")
	a := call("did", "create", "--domain", "lab.example", "--path", "ids/a", "--out", dir, "--update-keys", update, "--json")
	var made created
	a.into(t, &made)
	if a.code != exitDone || !strings.HasSuffix(made.DID, ":lab.example:ids:a") || made.URL != "https://lab.example/ids/a/did.jsonl" || !strings.HasPrefix(made.RecoveryKey, "rec1-") || len(made.Files) != 2 {
		t.Fatalf("%s", a)
	}
	if a = call("did", "resolve", "--log", made.Files[0], made.DID); a.code != exitDone || !strings.Contains(a.out, "issuer") {
		t.Errorf("%s", a)
	}
	webDID := "did:web:lab.example:ids:a"
	if a = call("did", "resolve", "--log", made.Files[1], webDID); a.code != exitDone {
		t.Errorf("%s", a)
	}
	keys, err := filepath.Glob(filepath.Join(dir, "keys", "*.key"))
	next, err2 := filepath.Glob(filepath.Join(update, "*.key"))
	if err != nil || err2 != nil || len(keys) == 0 || len(next) != 1 {
		t.Errorf("keys %v, update keys %v", keys, next)
	}
	for name, args := range map[string][]string{
		"a directory that is there": {"--domain", "lab.example", "--out", dir},
		"a bad domain":              {"--domain", "not a domain", "--out", dir + "2"},
		"a bad path":                {"--domain", "lab.example", "--path", "../x", "--out", dir + "3"},
	} {
		want := exitUsage
		if name == "a directory that is there" {
			want = exitFailed
		}
		if a := call(append([]string{"did", "create"}, args...)...); a.code != want {
			t.Errorf("%s: %s", name, a)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDIDHost(t *testing.T) {
	dir := home(t)
	out := filepath.Join(t.TempDir(), "web")
	a := call("did", "host", "--data", dir)
	if a.code != exitDone || !strings.Contains(a.out, "https://solo.example/.well-known/did.jsonl") || !strings.Contains(a.out, "no entry has to be witnessed") {
		t.Errorf("%s", a)
	}
	if a = call("did", "host", "--data", dir, "--out", out); a.code != exitDone {
		t.Fatal(a)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != 2 || files[0].Name() != "did.json" || files[1].Name() != "did.jsonl" {
		t.Fatalf("%v, %v", files, err)
	}
	var st struct{ Org string }
	call("status", "--data", dir, "--json").into(t, &st)
	resolved := func(code int) {
		t.Helper()
		if a := call("did", "resolve", "--data", filepath.Join(dir, "none"), "--log", filepath.Join(out, "did.jsonl"), st.Org); a.code != code {
			t.Errorf("%s", a)
		}
	}
	resolved(exitDone)
	if a = call("did", "rotate", "--data", dir); a.code != exitDone {
		t.Fatal(a)
	}
	before, _ := os.ReadFile(filepath.Join(out, "did.jsonl"))
	if a = call("did", "host", "--data", dir, "--out", out, "--json"); a.code != exitDone || !json.Valid([]byte(a.out)) {
		t.Fatal(a)
	}
	after, _ := os.ReadFile(filepath.Join(out, "did.jsonl"))
	if !bytes.HasPrefix(after, before) || len(after) == len(before) {
		t.Errorf("the log went from %d to %d bytes", len(before), len(after))
	}
	resolved(exitDone)
	// What is there and newer, or another's, is not written over.
	for _, b := range [][]byte{append(bytes.Clone(after), "{}\n"...), []byte("another\n")} {
		if err := os.WriteFile(filepath.Join(out, "did.jsonl"), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if a = call("did", "host", "--data", dir, "--out", out); a.code != exitFailed || !strings.Contains(a.err, "no earlier state") {
			t.Errorf("%s", a)
		}
		if got, _ := os.ReadFile(filepath.Join(out, "did.jsonl")); !bytes.Equal(got, b) {
			t.Error("it was written over")
		}
	}
	if a = call("did", "host", "--data", dir, "--check", "--out", out); a.code != exitUsage {
		t.Errorf("%s", a)
	}
	if a = call("did", "host", "--data", dir, "--move", "moved.example"); a.code != exitDone || !strings.Contains(a.out, "is in force") {
		t.Errorf("%s", a)
	}
	if a = call("did", "host", "--data", dir); a.code != exitDone || !strings.Contains(a.out, "https://moved.example/.well-known/did.jsonl") {
		t.Errorf("%s", a)
	}
}
