package importers

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/node/memory"
	"trustnode/node/store"
)

var (
	ctx     = context.Background()
	testNow = time.Date(2026, 12, 2, 9, 15, 30, 0, time.UTC)
)

func place(t testing.TB, name string) memory.Place {
	t.Helper()
	p, err := memory.NewPlace("main", name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func writer(t testing.TB, project string) memory.Writer {
	t.Helper()
	w, err := memory.NewWriter(place(t, project), did.MustParse("did:web:harbor.example:agents:berths"), memory.ByImport)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// kit is a memory to import into.
type kit struct {
	db store.DB
	e  *memory.Entries
	o  Options
	io memory.ImportOptions
}

func newKit(t testing.TB) *kit {
	t.Helper()
	db := store.Memory()
	t.Cleanup(func() { db.Close() })
	return &kit{db: db, e: memory.New(db, func() time.Time { return testNow }), o: Options{At: testNow}}
}

// try imports a text into the project north.
func (k *kit) try(t testing.TB, format string, r io.Reader) (memory.Report, error) {
	t.Helper()
	im, in, err := For(format, r, k.o)
	if err != nil {
		return memory.Report{}, err
	}
	return k.e.Import(ctx, writer(t, "north"), im, in, k.io)
}

func (k *kit) read(t testing.TB, format, text string) memory.Report {
	t.Helper()
	rep, err := k.try(t, format, strings.NewReader(text))
	if err != nil {
		t.Fatalf("Import: %v", err)
	}
	return rep
}

// held is what is in quarantine, by statement.
func (k *kit) held(t testing.TB) map[string]memory.Entry { return k.heldIn(t, "north") }

func (k *kit) heldIn(t testing.TB, project string) map[string]memory.Entry {
	t.Helper()
	list, err := k.e.List(ctx, place(t, project), memory.Filter{State: memory.Quarantined})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]memory.Entry{}
	for _, x := range list {
		out[x.Statement] = x
	}
	return out
}

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// cutReader ends with an error.
type cutReader struct {
	rest []byte
	err  error
}

func (r *cutReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

var errPulled = errors.New("disk pulled out")
