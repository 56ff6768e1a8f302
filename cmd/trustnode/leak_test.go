package main

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"trustnode/did/keys"
	"trustnode/node/daemon"
	"trustnode/node/httpapi"
	"trustnode/node/store"
)

// The passphrases of the road below, beside the node's; the last one opens nothing.
const (
	updateTestPassphrase   = "staple-battery-horse"
	mistypedTestPassphrase = "incorrect-donkey-battery"
)

// leakRoad is a road on which everything that leaves a process is kept.
type leakRoad struct {
	*folk
	said    map[string][]byte // by where it was said
	secrets map[string][]byte // by what they are
	tokens  map[string]string // of the operators, by organization
	loan    string
	entry   string // that the loan shows, about a person
}

func (r *leakRoad) keep(where string, b []byte) {
	r.said[fmt.Sprintf("%d: %s", len(r.said), where)] = b
}

// TestNothingSecretIsSaid walks the road with all nodes logging at debug level, and then looks for the seed of every private
// key, for the recovery keys, the passphrases and the operators' tokens: in all files, both databases, logs, output and
// HTTP answers.
// It is identity I-1.
func TestNothingSecretIsSaid(t *testing.T) {
	t.Parallel()
	r := &leakRoad{folk: newFolk(t), said: map[string][]byte{}, secrets: map[string][]byte{}, tokens: map[string]string{}}
	r.env = []string{"TRUSTNODE_LOG_LEVEL=debug", "TRUSTNODE_UPDATE_PASSPHRASE=" + updateTestPassphrase}
	r.heard = func(a answer) { r.keep("trustnode "+strings.Join(a.args, " "), []byte(a.out+a.err)) }
	r.found()
	r.join()
	r.gather()
	r.mistype()
	r.up()
	r.guarded()
	r.walk()
	r.ask()
	r.gather()
	r.trace("arbiter")
	for _, o := range []string{"acme", "vendor"} {
		if code, _ := r.stop(o); code != exitDone {
			t.Errorf("%s ended with %d", o, code)
		}
	}
	s := r.scanner()
	r.recoveries(s)
	if got := r.search(s); len(got) > 0 {
		t.Errorf("said:\n%s", strings.Join(got, "\n"))
	}
	r.planted(s)
}

// gather learns the secrets that there are now: a key that is spent is deleted.
func (r *leakRoad) gather() {
	r.t.Helper()
	for _, o := range orgs {
		for store, pass := range map[string]string{"keys": testPassphrase, "update-keys": updateTestPassphrase} {
			for id, seed := range seedsIn(r.t, filepath.Join(r.dir, o, store), pass) {
				r.secrets["key "+id+" in "+store+" of "+o] = seed
			}
		}
		token, err := os.ReadFile(filepath.Join(r.dir, o, daemon.TokenFile))
		if err != nil {
			r.t.Fatal(err)
		}
		r.tokens[o] = strings.TrimSpace(string(token))
		r.secrets["token of "+o] = []byte(r.tokens[o])
	}
	r.secrets["passphrase"] = []byte(testPassphrase)
	r.secrets["update passphrase"] = []byte(updateTestPassphrase)
	r.secrets["mistyped passphrase"] = []byte(mistypedTestPassphrase)
}

// guarded makes sure that a running node lets no core file be written: what must not be in a file must not be in that one.
func (r *leakRoad) guarded() {
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", r.procs["acme"].cmd.Process.Pid))
	if err != nil {
		return // not this system
	}
	if !regexp.MustCompile(`(?m)^Max core file size +0 +0 `).Match(limits) {
		r.t.Errorf("a running node may leave a core file:\n%s", limits)
	}
}

// walk lends, reads, rotates, reads again, ends the loan and files a dispute.
func (r *leakRoad) walk() {
	r.t.Helper()
	r.must("agent", "add", "--data", "acme", "research", "--can", "lend", "--json")
	var quant httpapi.Agent
	r.must("agent", "add", "--data", "vendor", "quant", "--can", "borrow", "--json").into(r.t, &quant)
	r.entry = r.id("memory", "add", "--data", "acme", "--agent", "research", "--project", "p", "--tag", "open", "--subject", "Ada", "the first entry", "--json")
	r.loan = r.id("loan", "issue", "--data", "acme", "--lender", "research", "--borrower", quant.DID, "--scope", "tag:open", "--purpose", "testing", "--expires", "1h", "--max-reads", "9", "--json")
	read := []string{"loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "testing", r.loan}
	r.must(read...)
	r.must("did", "rotate", "--data", "acme", "--json")
	r.must("agent", "add", "--data", "acme", "second", "--can", "lend") // signed by the new key
	r.must(read...)
	r.must("loan", "revoke", "--data", "acme", "--reason", "ended", r.loan)
	r.code(exitRefused, read...)
	r.must("dispute", "file", "--data", "acme", "--loan", r.loan, "--reason", "R1")
	for _, verb := range [][]string{{"status"}, {"did", "show"}, {"agent", "list"}, {"fed", "status"}, {"loan", "audit", r.loan}, {"event", "list"}} {
		r.must(append(slices.Clone(verb), "--data", "acme")...)
		r.must(append(slices.Clone(verb), "--data", "acme", "--json")...)
	}
}

// mistype gives a passphrase that opens nothing.
func (r *leakRoad) mistype() {
	r.t.Helper()
	usual := r.env
	r.env = append(slices.Clone(usual), "TRUSTNODE_PASSPHRASE="+mistypedTestPassphrase)
	r.code(exitRefused, "status", "--data", "arbiter", "--json")
	r.code(exitRefused, "run", "--data", "arbiter")
	r.env = usual
}

// trace ends a node with the stacks of all its goroutines in its log.
func (r *leakRoad) trace(org string) {
	r.t.Helper()
	p := r.procs[org]
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		r.t.Fatal(err)
	}
	<-p.done
	delete(r.procs, org)
	if b, err := os.ReadFile(filepath.Join(r.dir, org+".log")); err != nil || !bytes.Contains(b, []byte("\ngoroutine ")) {
		r.t.Errorf("no stacks in the log of %s: %v", org, err)
	}
}

// ask asks the running nodes whatever can be asked by GET, as operator and as nobody.
func (r *leakRoad) ask() {
	r.t.Helper()
	var api struct {
		Paths map[string]map[string]any
	}
	base := r.operator("acme").Base
	if err := json.Unmarshal(r.get(base+"/openapi.json", ""), &api); err != nil {
		r.t.Fatal(err)
	}
	paths := []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/.well-known/did.jsonl", "/api/v1/log/{did}/checkpoint", "/nowhere", "/debug/pprof/heap", "/debug/vars"}
	for p, methods := range api.Paths {
		if methods["get"] != nil {
			paths = append(paths, p)
		}
	}
	if len(paths) < 15 {
		r.t.Errorf("only %d paths: %v", len(paths), paths)
	}
	var me httpapi.Identity
	r.must("did", "show", "--data", "acme", "--json").into(r.t, &me)
	var cases httpapi.Cases
	r.must("dispute", "list", "--data", "acme", "--json").into(r.t, &cases)
	if len(cases.Cases) != 1 {
		r.t.Fatalf("cases: %+v", cases)
	}
	for _, p := range paths {
		id := r.loan
		if strings.Contains(p, "disputes") {
			id = cases.Cases[0].ID
		}
		p = strings.NewReplacer("{did}", url.PathEscape(me.DID), "{id}", id, "{agent}", "research", "{subject}", "Ada", "{entry}", r.entry).Replace(p)
		if strings.Contains(p, "{") {
			r.t.Errorf("%s has a parameter that this test does not know", p)
		}
		if strings.HasSuffix(p, "/watch") {
			p += "?since=2026-01-01T00:00:00Z" // all that there is, of a stream that has no end
		}
		r.get(base+p, r.tokens["acme"])
		r.get(base+p, "")
		r.get(base+p, "tno_wrong")
	}
}

// get keeps an answer, head and body.
func (r *leakRoad) get(url, token string) []byte {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stream := strings.Contains(url, "/watch")
	if stream {
		ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil && !(stream && errors.Is(err, context.DeadlineExceeded)) {
		r.t.Fatal(err)
	}
	r.keep("GET "+url, append([]byte(fmt.Sprintln(resp.Status, resp.Header)), body...))
	return body
}

// scanner looks for all that was gathered.
func (r *leakRoad) scanner() *scanner {
	s := newScanner()
	for what, secret := range r.secrets {
		s.add(what, secret)
	}
	return s
}

var recoveryForm = regexp.MustCompile(`rec1(-[a-z2-7]{1,4})+`)

// recoveries finds the recovery key that each init has shown, once, and takes it from what is searched; so it may be
// nowhere else.
func (r *leakRoad) recoveries(s *scanner) {
	r.t.Helper()
	shown := 0
	for where, b := range r.said {
		texts := recoveryForm.FindAll(b, -1)
		if !strings.Contains(where, "trustnode init ") {
			continue // whatever is there is found by the search
		}
		if len(texts) != 1 {
			r.t.Errorf("%s shows %d recovery keys", where, len(texts))
			continue
		}
		shown++
		text := string(texts[0])
		k, err := keys.ParseRecovery([]byte(text))
		if err != nil {
			r.t.Fatal(err)
		}
		k.Forget()
		plain := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(text, "rec1-"), "-", ""))
		seed, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(plain)
		if err != nil {
			r.t.Fatal(err)
		}
		what := fmt.Sprint("recovery key ", shown)
		s.form(what, "its text", text)
		s.form(what, "its text in capitals", strings.ToUpper(text))
		s.add(what, seed[:32])
		if got := s.find(b); !slices.Equal(got, []string{what + " in its text"}) {
			r.t.Errorf("%s: found %q, want the recovery key alone", where, got)
		}
		delete(r.said, where)
	}
	if shown != len(orgs) {
		r.t.Errorf("%d recovery keys were shown by %d organizations", shown, len(orgs))
	}
}

// search looks everywhere and names what it finds and where, but for what belongs there.
func (r *leakRoad) search(s *scanner) []string {
	r.t.Helper()
	var out []string
	look := func(where string, b []byte) {
		for _, what := range s.find(b) {
			if org, is := strings.CutSuffix(where, "/"+daemon.TokenFile); !is || what != "token of "+org+" in raw" {
				out = append(out, where+": "+what)
			}
		}
	}
	for where, b := range r.said {
		look(where, b)
	}
	logged := 0
	err := filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(r.dir, path)
		look(name, b)
		logged += bytes.Count(b, []byte("level=DEBUG"))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if logged == 0 {
		r.t.Error("no node logged at debug level")
	}
	// The files of a database may be compressed; here is what they hold.
	for _, o := range orgs {
		for _, db := range []string{"state", "audit"} {
			if n := r.rows(o, db, look); n == 0 {
				r.t.Errorf("%s of %s holds nothing", db, o)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (r *leakRoad) database(org, name string) store.DB {
	r.t.Helper()
	db, err := store.OpenBadger(filepath.Join(r.dir, org, name), slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	return db
}

func (r *leakRoad) rows(org, name string, look func(string, []byte)) (n int) {
	r.t.Helper()
	db := r.database(org, name)
	defer db.Close()
	err := db.View(context.Background(), func(v store.Reader) error {
		return v.Scan(nil, nil, func(key, value []byte) bool {
			n++
			where := fmt.Sprintf("%s/%s row %.60q", org, name, key)
			look(where, key)
			look(where, value)
			return true
		})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// planted hides secrets in each kind of place, and wants the search to find these and nothing else.
func (r *leakRoad) planted(s *scanner) {
	r.t.Helper()
	var what string
	for w := range r.secrets {
		if strings.Contains(w, " in update-keys of vendor") {
			what = w
		}
	}
	seed := r.secrets[what]
	if err := os.WriteFile(filepath.Join(r.dir, "vendor", "keys", "x.bak"), append([]byte("x"), seed...), 0o600); err != nil {
		r.t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "vendor.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	fmt.Fprintf(f, "level=DEBUG msg=x key=%x\n", seed)
	if err := f.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "acme", "token.bak"), []byte(r.tokens["acme"]), 0o600); err != nil {
		r.t.Fatal(err)
	}
	db := r.database("acme", "state")
	body := base64.StdEncoding.EncodeToString([]byte(`{"note":"` + hex.EncodeToString(seed) + `"}`))
	err = db.Update(context.Background(), func(tx store.Tx) error { return tx.Set([]byte("planted"), []byte(`{"payload":"`+body+`"}`)) })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.said["an answer"] = []byte("passphrase: " + testPassphrase)
	want := []string{`acme/state row "planted": ` + what + " in hex within base64", "acme/token.bak: token of acme in raw", "an answer: passphrase in raw",
		"vendor.log: " + what + " in hex", "vendor/keys/x.bak: " + what + " in raw"}
	got := r.search(s)
	for _, w := range want {
		if !slices.Contains(got, w) {
			r.t.Errorf("planted and not found: %s; found %q", w, got)
		}
	}
}
