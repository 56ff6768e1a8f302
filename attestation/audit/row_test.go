package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
)

// tree returns the root over rows and the proof of one of them, computed by
// sumdb/tlog alone.
func tree(t *testing.T, rows [][]byte, at int) (envelope.ID, audit.RowProof) {
	t.Helper()
	var hashes []tlog.Hash
	read := tlog.HashReaderFunc(func(idx []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range idx {
			out = append(out, hashes[i])
		}
		return out, nil
	})
	for i, r := range rows {
		h, err := tlog.StoredHashes(int64(i), r, read)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, h...)
	}
	root, err := tlog.TreeHash(int64(len(rows)), read)
	if err != nil {
		t.Fatal(err)
	}
	path, err := tlog.ProveRecord(int64(len(rows)), int64(at), read)
	if err != nil {
		t.Fatal(err)
	}
	return envelope.IDFromSum(root), audit.RowProof{Row: rows[at], Index: uint64(at), Size: uint64(len(rows)), Path: path}
}

func TestRowProofHoldsForItsRowAlone(t *testing.T) {
	var rows [][]byte
	for i := range 5 {
		rows = append(rows, fmt.Appendf(nil, `{"n":%d}`, i))
	}
	root, p := tree(t, rows, 3)
	if err := p.Check(root); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(*audit.RowProof){
		"another row":          func(p *audit.RowProof) { p.Row = rows[2] },
		"another index":        func(p *audit.RowProof) { p.Index = 2 },
		"an index at the size": func(p *audit.RowProof) { p.Index = p.Size },
		"another size":         func(p *audit.RowProof) { p.Size = 9 },
		"no rows at all":       func(p *audit.RowProof) { p.Size = 0 },
		"a size above 2^63":    func(p *audit.RowProof) { p.Size = 1 << 63 },
		"a shorter path":       func(p *audit.RowProof) { p.Path = p.Path[1:] },
		"a changed hash":       func(p *audit.RowProof) { p.Path = append([]tlog.Hash{{9}}, p.Path[1:]...) },
		"an endless path":      func(p *audit.RowProof) { p.Path = make([]tlog.Hash, 64) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			q := p
			change(&q)
			if q.Check(root) == nil {
				t.Error("holds")
			}
		})
	}
}

func TestRowsThatCannotBeKept(t *testing.T) {
	good := audit.Row{Kind: "read", Body: []byte(`{"op":"read","salt":"x"}`), Keys: []string{"k"}}
	if err := audit.Check(good); err != nil {
		t.Fatal(err)
	}
	cases := map[string]func(*audit.Row){
		"no kind":           func(r *audit.Row) { r.Kind = "" },
		"a list":            func(r *audit.Row) { r.Body = []byte(`[]`) },
		"white space":       func(r *audit.Row) { r.Body = []byte(`{"op": "read"}`) },
		"keys out of order": func(r *audit.Row) { r.Body = []byte(`{"b":1,"a":2}`) },
		"nothing":           func(r *audit.Row) { r.Body = nil },
		"64 KiB and more":   func(r *audit.Row) { r.Body = []byte(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`) },
		"an empty key":      func(r *audit.Row) { r.Keys = []string{""} },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r := good
			change(&r)
			if audit.Check(r) == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestRowsBody(t *testing.T) {
	want := audit.Rows{First: 1, Salt: "sbGxsbGxsbGxsbGxsbGxsQ", Size: 1}
	if got, err := audit.ParseRows([]byte(`{"first":1,"salt":"sbGxsbGxsbGxsbGxsbGxsQ","size":1}`)); err != nil || got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
	for _, bad := range []string{
		`{"first":0,"salt":"sbGxsbGxsbGxsbGxsbGxsQ","size":1}`, `{"first":1,"salt":"sbGxsbGxsbGxsbGxsbGxsQ","size":0}`,
		`{"first":1,"salt":"x","size":1}`, `{"first":1,"size":1}`,
	} {
		if got, err := audit.ParseRows([]byte(bad)); err == nil {
			t.Errorf("%s read as %v", bad, got)
		}
	}
}
