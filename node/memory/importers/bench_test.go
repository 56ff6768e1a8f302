package importers

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// entities are n lines of the memory server's, none like another.
func entities(from, n int) []byte {
	var text bytes.Buffer
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&text, `{"type":"entity","name":"entity %d","entityType":"client","observations":["observation number %d of a client"]}`+"\n", i/10, i)
	}
	return text.Bytes()
}

// BenchmarkFigureImport is M10 of 04 section 13: entries a second, durable and with the
// work of a node's row left out, beside decoding the same lines and writing their bytes in
// as large transactions.
func BenchmarkFigureImport(b *testing.B) {
	db, err := store.OpenBadger(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	e := memory.New(db, func() time.Time { return testNow })
	const n = 20_000
	from := 0
	imports := func() error {
		from += n
		rep, err := e.Import(ctx, writer(b, "north"), mcp{}, bytes.NewReader(entities(from, n)), memory.ImportOptions{})
		if err == nil && rep.Imported != n {
			return fmt.Errorf("imported %d", rep.Imported)
		}
		return err
	}
	floor := func() error {
		var batch [][]byte
		batches := 0
		return lines(ctx, bytes.NewReader(entities(from, n)), func(_ int, line []byte) error {
			if len(line) > 0 {
				if _, err := strictjson.Parse(line, maxDepth); err != nil {
					return err
				}
				batch = append(batch, bytes.Clone(line))
			}
			if len(batch) < 512 && len(line) > 0 {
				return nil
			}
			err := db.Update(ctx, func(tx store.Tx) error {
				for i, l := range batch {
					if err := tx.Set(fmt.Appendf(nil, "floor/%d/%d/%d", from, batches, i), l); err != nil {
						return err
					}
				}
				return nil
			})
			batch, batches = nil, batches+1
			return err
		})
	}
	got, least := benchtest.Turns(b, 5, 1, imports, floor)
	rate := func(s benchtest.Spread) float64 { return n / s.P50.Seconds() }
	benchtest.Rate(b, "memory: import of lines, durable", rate(got), rate(least), "decode and batch write", benchtest.Target{Rate: 10_000})
}
