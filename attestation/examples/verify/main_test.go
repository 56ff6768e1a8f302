package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/node/verifier"
)

// onlyTheProduct is what trustnode verify refuses and this program does not, by words of
// the refusal: rules about what a case needs and means, never a signature, hash or proof.
var onlyTheProduct = map[string]string{
	"is not in its place, or stands twice": "a bundle has one order, so that equal contents are equal bytes; nothing signed rests on it",
	"out of order, or a repetition":        "so have the signatures of one object",
	"is not used by the case":              "a file holds nothing that its case does not need; what it says is true all the same",
	"no dispute in the file has the id":    "an event of the case is there and true, but not the words of the dispute",
}

// rounds is how many random changes of one kind are made to each file.
func rounds() int {
	if os.Getenv("TRUSTNODE_LONG") != "" {
		return 1000
	}
	return 50
}

// judges holds what both programs said of the files they were given.
type judges struct {
	t    *testing.T
	n    int
	used map[string]bool // the words of onlyTheProduct that were met
}

// product is the refusal of trustnode verify, "" for none.
func product(b []byte) string {
	r := verifier.Verify(context.Background(), bytes.NewReader(b), verifier.Options{Name: "case", Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
	if r.OK {
		return ""
	}
	return "refused: " + r.Why
}

// agree gives both a changed file.
func (j *judges) agree(what string, b []byte) {
	j.t.Helper()
	j.n++
	theirs, ours := product(b), verify(b)
	if (theirs == "") == (ours == nil) {
		return
	}
	for words := range onlyTheProduct {
		if ours == nil && strings.Contains(theirs, words) {
			j.used[words] = true
			return
		}
	}
	j.t.Errorf("%s: the product says %q, this program %v", what, theirs, ours)
}

// both wants a changed file refused by both.
func (j *judges) both(what string, b []byte) {
	j.t.Helper()
	j.n++
	if theirs, ours := product(b), verify(b); theirs == "" || ours == nil {
		j.t.Errorf("%s: the product says %q, this program %v", what, theirs, ours)
	}
}

// content is the lines of a file below its header.
type content [][]byte

func read(t *testing.T, name string) ([]byte, content) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "node", "casefile", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	return b, lines[1:]
}

// place is what orders the lines of a bundle.
func place(l []byte) string {
	o := parse(l)
	switch {
	case o["did_log"] != nil:
		return fmt.Sprintf("1 %s\x00%20v", o["did"], o["from"])
	case o["payload"] != nil:
		return fmt.Sprintf("2 %s\x00%s", o["payloadType"], idOf(std(text(o["payload"]))))
	case o["entry"] != nil:
		return "3 " + idOf(url(text(o["entry"]))[65:])
	case o["body"] != nil:
		return "4 " + text(o["id"])
	}
	return fmt.Sprintf("5 %s\x00%20v", o["event"], o["index"])
}

// file writes lines in their order below a header that fits them, as anybody can who
// holds no keys.
func (c content) file(about string) []byte {
	c = slices.Clone(c)
	slices.SortFunc(c, func(a, b []byte) int { return cmp.Or(strings.Compare(place(a), place(b)), bytes.Compare(a, b)) })
	return c.asIs(about)
}

// asIs is file without the order.
func (c content) asIs(about string) []byte {
	var leaves [][]byte
	for _, l := range c {
		leaves = append(leaves, sum([]byte{0}, l))
	}
	head := fmt.Sprintf(`{"about":["%s","z%s"],"trustnode":"bundle","v":1}`, about, multihash(rootOf(leaves)))
	return append(bytes.Join(append([][]byte{[]byte(head)}, c...), []byte("\n")), '\n')
}

// with returns the lines with one changed.
func (c content) with(i int, o map[string]any) content {
	c = slices.Clone(c)
	c[i] = jcs(o)
	return c
}

func TestBothTakeTheGoodFiles(t *testing.T) {
	for _, name := range []string{"case.tnb", "rotated.tnb"} {
		b, lines := read(t, name)
		if theirs, ours := product(b), verify(b); theirs != "" || ours != nil {
			t.Errorf("%s: the product says %q, this program %v", name, theirs, ours)
		}
		about := list(parse(bytes.SplitN(b, []byte("\n"), 2)[0])["about"])[0].(string)
		if !bytes.Equal(lines.file(about), b) {
			t.Errorf("%s is not written anew as it was", name)
		}
	}
}

func TestBothAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	j := &judges{t: t, used: map[string]bool{}}
	for _, name := range []string{"case.tnb", "rotated.tnb"} {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b, lines := read(t, name)
		about := list(parse(bytes.SplitN(b, []byte("\n"), 2)[0])["about"])[0].(string)
		j.bytes(name, b, rnd)
		j.lines(name, lines, about)
		j.members(name, lines, about, rnd)
		j.signatures(name, lines, about)
		j.heads(name, lines, about)
		j.spelled(name, lines, about)
		j.forged(name, lines, about, rnd)
		j.controllers(name, lines, about)
	}
	t.Logf("%d files", j.n)
	for words := range onlyTheProduct {
		if !j.used[words] {
			t.Errorf("nothing is refused by the product alone with %q", words)
		}
	}
}

// bytes changes a file as damage does; its header commits to what is below, so that no
// change is left unseen.
func (j *judges) bytes(name string, b []byte, rnd *rand.Rand) {
	for range 2 * rounds() {
		i, bit := rnd.IntN(len(b)), rnd.IntN(8)
		c := bytes.Clone(b)
		c[i] ^= 1 << bit
		j.both(fmt.Sprintf("%s, bit %d of byte %d", name, bit, i), c)
	}
	for range rounds() / 4 {
		i := rnd.IntN(len(b))
		j.both(fmt.Sprintf("%s without byte %d", name, i), slices.Delete(bytes.Clone(b), i, i+1))
		j.both(fmt.Sprintf("%s with a byte more at %d", name, i), slices.Insert(bytes.Clone(b), i, ' '))
		j.both(fmt.Sprintf("%s cut at %d", name, i), b[:i])
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
	last := len(lines) - 1
	lines[last] = append(bytes.Clone(lines[last]), '\n')
	for i := range lines {
		j.both(fmt.Sprintf("%s without line %d", name, i+1), bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
		j.both(fmt.Sprintf("%s with line %d twice", name, i+1), bytes.Join(slices.Insert(slices.Clone(lines), i, lines[i]), nil))
		if i > 0 {
			c := slices.Clone(lines)
			c[i], c[i-1] = c[i-1], c[i]
			j.both(fmt.Sprintf("%s with lines %d and %d exchanged", name, i, i+1), bytes.Join(c, nil))
		}
	}
}

// lines drops, doubles and moves lines under a header that fits.
func (j *judges) lines(name string, lines content, about string) {
	for i, l := range lines {
		j.agree(fmt.Sprintf("%s anew without line %d", name, i+2), slices.Delete(slices.Clone(lines), i, i+1).file(about))
		j.agree(fmt.Sprintf("%s anew with line %d twice", name, i+2), slices.Insert(slices.Clone(lines), i, l).file(about))
		j.agree(fmt.Sprintf("%s anew with line %d at the end", name, i+2), append(slices.Delete(slices.Clone(lines), i, i+1), l).asIs(about))
	}
	j.agree(name+" about another case", lines.file("zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6"))
}

// encoded are the members that hold bytes, and how.
var encoded = map[string]*base64.Encoding{"did_log": base64.RawURLEncoding, "entry": base64.RawURLEncoding, "proof": base64.RawURLEncoding, "body": base64.RawURLEncoding,
	"path": base64.RawURLEncoding, "row": base64.RawURLEncoding, "payload": base64.StdEncoding}

// members flips bits inside of what lines hold, and exchanges what two lines hold, under a
// header that fits.
func (j *judges) members(name string, lines content, about string, rnd *rand.Rand) {
	for range rounds() {
		i := rnd.IntN(len(lines))
		o := parse(lines[i])
		for k, e := range encoded {
			b, err := e.DecodeString(text(o[k]))
			if err != nil || len(b) == 0 {
				continue
			}
			at, bit := rnd.IntN(len(b)), rnd.IntN(8)
			b[at] ^= 1 << bit
			c := parse(lines[i])
			c[k] = e.EncodeToString(b)
			j.agree(fmt.Sprintf("%s, bit %d of byte %d of %s in line %d", name, bit, at, k, i+2), lines.with(i, c).file(about))
			if k == "body" {
				c["id"] = idOf(b)
				j.agree(fmt.Sprintf("%s, bit %d of byte %d of the body in line %d, under its id", name, bit, at, i+2), lines.with(i, c).file(about))
			}
		}
	}
	for i := range lines {
		for n := range lines[:i] {
			a, b := parse(lines[i]), parse(lines[n])
			for k := range a {
				if _, ok := b[k]; !ok || rnd.IntN(8) > 0 || fmt.Sprint(a[k]) == fmt.Sprint(b[k]) {
					continue
				}
				c := parse(lines[i])
				c[k] = b[k]
				j.agree(fmt.Sprintf("%s, %s of line %d in line %d", name, k, n+2, i+2), lines.with(i, c).file(about))
			}
		}
	}
}

// signatures drops, doubles and reorders the signatures of objects.
func (j *judges) signatures(name string, lines content, about string) {
	for i, l := range lines {
		o := parse(l)
		sigs := list(o["signatures"])
		for n := range sigs {
			for what, c := range map[string][]any{"without": slices.Delete(slices.Clone(sigs), n, n+1), "twice": slices.Insert(slices.Clone(sigs), n, sigs[n]), "last": append(slices.Delete(slices.Clone(sigs), n, n+1), sigs[n])} {
				o["signatures"] = c
				j.agree(fmt.Sprintf("%s, signature %d of line %d %s", name, n, i+2, what), lines.with(i, o).file(about))
			}
		}
	}
}

// spelled writes what is true in another way: a signature under another name of its key, a path whose hashes are cut elsewhere.
func (j *judges) spelled(name string, lines content, about string) {
	for i, l := range lines {
		o := parse(l)
		for _, s := range list(o["signatures"]) {
			was := s.(object)["keyid"]
			s.(object)["keyid"] = "key-1"
			j.agree(fmt.Sprintf("%s, a signature of line %d under another name", name, i+2), lines.with(i, o).file(about))
			s.(object)["keyid"] = was
		}
		if o["proof"] == nil {
			continue
		}
		head, note, _ := strings.Cut(string(url(o["proof"])), "\n\n")
		p := strings.Split(head, "\n")
		if len(p) < 4 {
			continue
		}
		both := append(std(p[2]), std(p[3])...)
		p[2], p[3] = base64.StdEncoding.EncodeToString(both[:30]), base64.StdEncoding.EncodeToString(both[30:])
		o["proof"] = base64.RawURLEncoding.EncodeToString([]byte(strings.Join(p, "\n") + "\n\n" + note))
		j.both(fmt.Sprintf("%s, the path of line %d cut elsewhere", name, i+2), lines.with(i, o).file(about))
	}
}

// heads drops, doubles and reorders the lines of heads, and cuts logs off before a rotation.
func (j *judges) heads(name string, lines content, about string) {
	for i, l := range lines {
		o := parse(l)
		if o["proof"] == nil {
			continue
		}
		proof := string(url(text(o["proof"])))
		at := strings.LastIndex(proof, "\n\n") + 2
		sigs := strings.SplitAfter(strings.TrimSuffix(proof[at:], "\n"), "\n")
		sigs[len(sigs)-1] += "\n"
		for n := range sigs {
			for what, c := range map[string][]string{"without": slices.Delete(slices.Clone(sigs), n, n+1), "twice": slices.Insert(slices.Clone(sigs), n, sigs[n]), "last": append(slices.Delete(slices.Clone(sigs), n, n+1), sigs[n])} {
				o["proof"] = base64.RawURLEncoding.EncodeToString([]byte(proof[:at] + strings.Join(c, "")))
				j.agree(fmt.Sprintf("%s, line %d of the head in line %d %s", name, n, i+2, what), lines.with(i, o).file(about))
			}
		}
		if e := claimed(l); e.event["type"] == "key.rotated" {
			cut := slices.DeleteFunc(slices.Clone(lines), func(l []byte) bool {
				x := claimed(l)
				return x.org == e.org && x.index >= e.index
			})
			j.agree(fmt.Sprintf("%s, the log of line %d cut off there", name, i+2), cut.file(about))
		}
	}
}

// TestADIDLogIsRefusedForItsOwnSake writes entries anew as controllers does. In a file the
// events that name the versions refuse them as well, so here the log stands alone.
func TestADIDLogIsRefusedForItsOwnSake(t *testing.T) {
	keys := goldenKeys()
	other, private := goldenKey(99)
	keys[other] = private
	_, lines := read(t, "rotated.tnb")
	for _, c := range []struct {
		name   string
		n      int
		change func(e map[string]any, last string)
		want   string
	}{
		{"as it was", 2, func(e map[string]any, last string) { rewrite(e, 2, last, "", keys) }, ""},
		{"a first entry of another time", 1, func(e map[string]any, last string) {
			e["versionTime"] = "2026-12-01T10:00:59Z"
			rewrite(e, 1, last, "", keys)
		}, "another SCID"},
		{"a first entry by a key it does not list", 1, func(e map[string]any, last string) { rewrite(e, 1, last, other, keys) }, "a false proof"},
		{"a second entry of another parent", 2, func(e map[string]any, last string) { rewrite(e, 2, "1-"+multihash(sum(nil)), "", keys) }, "not the hash of its entry"},
		{"a second entry for a key nobody announced", 2, func(e map[string]any, last string) {
			e["parameters"].(object)["updateKeys"] = []any{other}
			rewrite(e, 2, last, other, keys)
		}, "nobody announced"},
	} {
		o := parse(lines[0]) // of the vendor, two versions
		log := bytes.SplitAfter(url(text(o["did_log"])), []byte("\n"))[:2]
		last := strings.Split(text(o["did"]), ":")[2]
		if c.n == 2 {
			last = text(parse(bytes.TrimSuffix(log[0], []byte("\n")))["versionId"])
		}
		e := parse(bytes.TrimSuffix(log[c.n-1], []byte("\n")))
		c.change(e, last)
		log[c.n-1] = append(jcs(e), '\n')
		o["did_log"] = base64.RawURLEncoding.EncodeToString(bytes.Join(log, nil))
		if got := refusal(func() { (&file{dids: map[string][]version{}}).didLog(o) }); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// refusal is what f panics with, "" if it does not.
func refusal(f func()) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

// maxLines caps the whole program, and only ever falls: 200 are asked for, and every check that is left would have to go for them.
const maxLines = 335

// TestItIsSmallAndAlone holds the program to what makes it a second opinion: it can be
// read in one sitting, and imports nothing but the standard library.
func TestItIsSmallAndAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		lines += bytes.Count(b, []byte("\n"))
		f, err := parser.ParseFile(token.NewFileSet(), name, b, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if first, _, _ := strings.Cut(strings.Trim(imp.Path.Value, `"`), "/"); strings.Contains(first, ".") || first == "trustnode" {
				t.Errorf("%s imports %s", name, imp.Path.Value)
			}
		}
	}
	if lines > maxLines {
		t.Errorf("%d lines, at most %d", lines, maxLines)
	}
}

func TestTheProgramSaysItByItsExit(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin, dir := filepath.Join(t.TempDir(), "verify"), t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, _ := read(t, "case.tnb")
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	if err := errors.Join(os.WriteFile(good, b, 0o644), os.WriteFile(bad, bytes.Replace(b, []byte("A"), []byte("B"), 1), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, good).CombinedOutput(); err != nil || string(out) != "verifies\n" {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range []string{bad, filepath.Join(dir, "none"), dir} {
		var exit *exec.ExitError
		if out, err := exec.Command(bin, name).CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, []byte("does not verify: ")) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
