package importers

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"
)

// packed is one file of an archive.
type packed struct {
	name, text string
	change     func(*zip.FileHeader)
}

func zipOf(t testing.TB, files ...packed) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.change != nil {
			f.change(h)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, f.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func gz(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBackup(t *testing.T) {
	whole, rows := file(t, "openmemory/memories.json"), file(t, "openmemory/memories.jsonl")
	for _, c := range []struct {
		name     string
		files    []packed
		rejected string
	}{
		{"as it is written", []packed{{name: "memories.json", text: whole}, {name: "memories.jsonl.gz", text: gz(t, rows)}}, "34.5 category, 35.6 state"},
		{"in a folder, packed again", []packed{{name: "out/"}, {name: "out/memories.json", text: whole}, {name: "__MACOSX/out/._memories.json", text: "x"}}, "1 archive_file, 34.5 category, 35.6 state"},
		{"rows alone", []packed{{name: "memories.jsonl.gz", text: gz(t, rows)}}, ""},
	} {
		k := newKit(t)
		rep := k.read(t, "auto", zipOf(t, c.files...))
		got := k.held(t)
		if rep.Imported != 2 || len(got) != 2 || got["Deploys on Tuesdays."].ID == "" || got["Paused."].ID == "" || rejects(rep) != c.rejected {
			t.Errorf("%s: %+v", c.name, rep)
		}
	}
}

func TestRefusedArchives(t *testing.T) {
	whole := packed{name: "memories.json", text: file(t, "openmemory/memories.json")}
	zeros := strings.Repeat(" ", 4<<20)
	mode := func(m os.FileMode) func(*zip.FileHeader) { return func(h *zip.FileHeader) { h.SetMode(m) } }
	for _, c := range []struct {
		name string
		text string
		want error
	}{
		{"a path upwards", zipOf(t, packed{name: "../memories.json", text: "{}"}), ErrTricks},
		{"a path upwards inside", zipOf(t, packed{name: "a/../../memories.json", text: "{}"}), ErrTricks},
		{"an absolute path", zipOf(t, packed{name: "/memories.json", text: "{}"}), ErrTricks},
		{"a backslash", zipOf(t, packed{name: `a\memories.json`, text: "{}"}), ErrTricks},
		{"a link", zipOf(t, packed{"memories.json", "/etc/passwd", mode(os.ModeSymlink | 0o777)}), ErrTricks},
		{"an encrypted file", zipOf(t, packed{"memories.json", "{}", func(h *zip.FileHeader) { h.Flags |= 1 }}), ErrTricks},
		{"one name twice", zipOf(t, whole, whole), ErrTricks},
		{"one name in two folders", zipOf(t, packed{name: "a/memories.json", text: "{}"}, packed{name: "b/memories.json", text: "{}"}), ErrTricks},
		{"names that differ by case", zipOf(t, whole, packed{name: "MEMORIES.json", text: "{}"}), ErrTricks},
		{"an archive in it", zipOf(t, whole, packed{name: "more.zip", text: "x"}), ErrTricks},
		{"an archive in it by another name", zipOf(t, packed{name: "memories.json", text: zipOf(t, whole)}), ErrTricks},
		{"an archive in the rows", zipOf(t, packed{name: "memories.jsonl.gz", text: gz(t, zipOf(t, whole))}), ErrTricks},
		{"a bomb", zipOf(t, packed{name: "memories.json", text: zeros}), ErrBomb},
		{"a bomb in the rows", zipOf(t, packed{name: "memories.jsonl.gz", text: gz(t, zeros)}), ErrBomb},
		{"a custom export", zipOf(t, packed{name: "export.json", text: "{}"}), ErrCustom},
		{"nothing", zipOf(t), ErrCustom},
		{"a torn archive", zipOf(t, whole)[:200], ErrArchive},
		{"rows that are not packed", zipOf(t, packed{name: "memories.jsonl.gz", text: "{}"}), ErrArchive},
	} {
		k := newKit(t)
		_, err := k.try(t, "openmemory", strings.NewReader(c.text))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if got := k.held(t); len(got) != 0 {
			t.Errorf("%s: brought in %v", c.name, got)
		}
	}
}

// An archive that lies about its sizes is stopped by what really comes.
func TestSizesAreCountedNotBelieved(t *testing.T) {
	zeros := strings.Repeat(" ", 4<<20)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	var deflated bytes.Buffer
	fw := zipOf(t, packed{name: "x", text: zeros})
	zr, err := zip.NewReader(strings.NewReader(fw), int64(len(fw)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := zr.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&deflated, raw); err != nil {
		t.Fatal(err)
	}
	out, err := w.CreateRaw(&zip.FileHeader{
		Name: "memories.json", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte(zeros)),
		CompressedSize64: uint64(deflated.Len()), UncompressedSize64: 10, // of 4 MiB
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write(deflated.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	k := newKit(t)
	rep, err := k.try(t, "openmemory", &b)
	if !errors.Is(err, ErrBomb) && rep.Reasons[RejectTorn] == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestBudgetIsShared(t *testing.T) {
	b := budget{left: 10}
	for i, want := range []error{nil, ErrBomb} {
		if _, err := io.ReadAll(b.limit(strings.NewReader("123456"), 100)); !errors.Is(err, want) {
			t.Errorf("file %d: %v, want %v", i, err, want)
		}
	}
	if _, err := io.ReadAll((&budget{left: MaxUnpacked}).limit(strings.NewReader(strings.Repeat("x", ratioGrace+1)), 10)); !errors.Is(err, ErrBomb) {
		t.Errorf("past the ratio: %v", err)
	}
}

// What is put aside is gone afterwards, and a broken stream leaves nothing.
func TestNothingIsLeftAside(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	text := zipOf(t, packed{name: "memories.json", text: file(t, "openmemory/memories.json")})
	k := newKit(t)
	k.read(t, "openmemory", text)
	if _, err := k.try(t, "openmemory", &cutReader{[]byte(text[:100]), errPulled}); !errors.Is(err, errPulled) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	var broken *os.PathError
	t.Setenv("TMPDIR", fmt.Sprint(dir, "/none"))
	if _, err := k.try(t, "openmemory", strings.NewReader(text)); err == nil || errors.As(err, &broken) {
		t.Errorf("without a place to put it: %v", err)
	}
}
