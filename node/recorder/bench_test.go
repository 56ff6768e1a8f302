package recorder_test

import (
	"context"
	"fmt"
	"testing"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// BenchmarkLoneEvent is one event from its decision to a signed head, on disk.
func BenchmarkLoneEvent(b *testing.B) {
	n, done, err := onDisk(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended; done() }()
	i := 0
	for b.Loop() {
		i++
		var id envelope.ID
		err := n.state.Update(ctx, func(tx store.Tx) error {
			var err error
			id, err = n.Event(tx, plain(i))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := n.WaitLogged(ctx, id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows is rows of 600 bytes from their decision into the audit
// database, 1,024 to a transaction, on disk; ns/row is per row.
func BenchmarkRows(b *testing.B) {
	n, done, err := onDisk(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended; done() }()
	rows := 0
	for b.Loop() {
		err := n.state.Update(ctx, func(tx store.Tx) error {
			for range 1024 {
				rows++
				row := audit.Row{Kind: "read", Keys: []string{"perm"}, Body: fmt.Appendf(nil, `{"n":%d,"op":"read","pad":"%0550d","salt":"s"}`, rows, rows)}
				if _, err := n.Row(tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		for {
			changed := n.Changed()
			if m, _ := n.events.Mark(ctx); m >= uint64(rows) {
				break
			}
			<-changed
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
