package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// secret is a word that stands in every private body of ending, and in no event.
const secret = "marked-private"

// ending is an event with a private body that nobody else has.
func ending(i int) attestation.Draft {
	d := barrier(i)
	d.Body = fmt.Appendf(nil, `{"reason_text":"%s %d","salt":"s"}`, secret, i)
	return d
}

// markedRow drafts a row with the secret in it.
func (n *node) markedRow(t *testing.T, i int, keys ...string) envelope.ID {
	t.Helper()
	var id envelope.ID
	err := n.state.Update(context.Background(), func(tx store.Tx) (err error) {
		id, err = n.Row(tx, audit.Row{Kind: "read", Body: fmt.Appendf(nil, `{"n":%d,"op":"%s row","salt":"s"}`, i, secret), Keys: keys})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// finds reports where a node's two databases hold a word.
func (n *node) finds(t *testing.T, word string) (out []string) {
	t.Helper()
	for name, db := range map[string]store.DB{"state": n.state, "audit": n.audit} {
		err := db.View(context.Background(), func(r store.Reader) error {
			return r.Scan(nil, nil, func(k, v []byte) bool {
				if bytes.Contains(k, []byte(word)) || bytes.Contains(v, []byte(word)) {
					out = append(out, fmt.Sprintf("%s %.8q", name, k))
				}
				return true
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// erase erases and waits for it.
func (n *node) erase(t *testing.T, id envelope.ID) recorder.Erased {
	t.Helper()
	e, err := n.Erase(context.Background(), id)
	if err == nil {
		err = n.WaitErased(context.Background(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// erasures returns the data of every log.erased of a log.
func (n *node) erasures(t *testing.T, p *party) (out []attestation.LogErased) {
	t.Helper()
	for _, en := range n.entries(t, p.did) {
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		var d attestation.LogErased
		if ev.Type == "log.erased" {
			if err := errors.Join(attestation.CheckKnown(ev), ev.Decode(&d)); err != nil {
				t.Fatal(err)
			}
			out = append(out, d)
		}
	}
	return out
}

func (n *node) sound(t *testing.T) {
	t.Helper()
	found := func(f store.Fault) { t.Errorf("fsck: %s", f) }
	if _, err := store.InspectAudit(context.Background(), n.audit, store.Inspection{Found: found, Own: n.p.did}); err != nil {
		t.Fatal(err)
	}
	cfg := recorder.Config{Org: n.p.did, State: n.state, Events: n.events, Pins: n.pins, Ring: n.ring}
	if _, err := recorder.Inspect(context.Background(), cfg, found); err != nil {
		t.Fatal(err)
	}
	n.judgedAsNew(t)
}

// TestWhatIsErasedIsGoneAndItsProofsVerify (03, section 16, 7): a private body and a row
// were shown, with proofs; both are erased; their bytes are nowhere, their proofs verify.
func TestWhatIsErasedIsGoneAndItsProofsVerify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ctx := newParty("acme", 0x11), context.Background()
		n := running(t, p, knows(p))
		var rows []envelope.ID
		for i := range 5 {
			rows = append(rows, n.markedRow(t, i, "perm"))
		}
		event := n.event(t, ending(1))
		flush(t, n)
		proof, err := n.Proof(ctx, event)
		if err != nil {
			t.Fatal(err)
		}
		row, at, err := n.ProveRow(ctx, rows[2])
		if err != nil {
			t.Fatal(err)
		}
		size := len(n.entries(t, p.did))

		if e := n.erase(t, event); e.Already || e.Cause != attestation.ErasedBody || !reflect.DeepEqual(e.Indexes, []uint64{2}) {
			t.Errorf("%+v", e)
		}
		for _, id := range rows {
			if e := n.erase(t, id); e.Already || e.Cause != attestation.ErasedRow {
				t.Errorf("%+v", e)
			}
		}
		if got := n.finds(t, secret); len(got) > 0 {
			t.Errorf("it is still in %q", got)
		}
		want := []attestation.LogErased{{Cause: "body", Index: 2}, {Cause: "row", Index: at}, {Cause: "row", Index: at}, {Cause: "row", Index: at}, {Cause: "row", Index: at}, {Cause: "row", Index: at}}
		if got := n.erasures(t, p); !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		for _, id := range []envelope.ID{event, rows[0]} {
			if e := n.erase(t, id); !e.Already {
				t.Errorf("erased again: %+v", e)
			}
		}
		if got := len(n.entries(t, p.did)); got != size+6 {
			t.Errorf("%d entries", got)
		}

		// What was given out verifies as it did, and so does what is given out now.
		pr, err := attlog.ParseProof(proof.Text)
		if err != nil || pr.Check(proof.Entry.Hash()) != nil {
			t.Errorf("the proof of the event: %v", err)
		}
		var d attestation.AuditRows
		f, err := n.Fact(ctx, row.Event)
		if err := errors.Join(err, f.Event.Body().Decode(&d), row.Check(d.Root)); err != nil {
			t.Errorf("the proof of the row: %v", err)
		}
		var gone *audit.Gone
		if _, _, err := n.ProveRow(ctx, rows[2]); !errors.As(err, &gone) || !reflect.DeepEqual(gone.Proof.Path, row.Path) {
			t.Errorf("%v", err)
		}
		if f, err := n.Fact(ctx, event); err != nil || f.Body != nil || f.Event.ID() != event {
			t.Errorf("the event: %v (%v)", f.Body, err)
		}
		flush(t, n)
		signed(t, n)
		n.sound(t)
	})
}

func TestWhatCannotBeErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		n, peer := running(t, acme, ring), running(t, beta, ring)
		id := envelope.IDOf([]byte(`{"case":1}`))
		public := n.event(t, attestation.Draft{Type: "dispute.filed", Subject: id.String(), Body: []byte(`{"case":1}`)})
		bare := n.event(t, plain(1))
		n.row(t, 1)
		flush(t, n)
		foreign := peer.event(t, ending(1))
		flush(t, peer)
		pull(t, peer, n)
		size := len(n.entries(t, acme.did))
		var binds envelope.ID
		for _, en := range n.entries(t, acme.did) {
			if _, ev, _ := en.Envelope(); ev.Type == "audit.rows" {
				binds = ev.Body
			}
		}
		cases := map[string]struct {
			id   envelope.ID
			want error
		}{
			"an event with a public body":       {public, recorder.ErrPublic},
			"a public body":                     {id, recorder.ErrPublic},
			"an event without a body":           {bare, recorder.ErrNothingPrivate},
			"an event of another":               {foreign, recorder.ErrForeign},
			"a body of another":                 {envelope.IDOf(ending(1).Body), recorder.ErrForeign},
			"the body that says which rows are": {binds, recorder.ErrBinds},
			"nothing that is here":              {envelope.IDOf([]byte("x")), attestation.ErrNotFound},
		}
		for name, c := range cases {
			if e, err := n.Erase(context.Background(), c.id); !errors.Is(err, c.want) || !reflect.DeepEqual(e, recorder.Erased{}) {
				t.Errorf("%s: %+v %v", name, e, err)
			}
		}
		flush(t, n)
		if got := len(n.entries(t, acme.did)); got != size {
			t.Errorf("%d entries of %d", got, size)
		}
	})
}

// TestAnOwnRowIsFoundByItsId: on its way, in the audit database, and with its hash alone.
func TestAnOwnRowIsFoundByItsId(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ctx := newParty("acme", 0x11), context.Background()
		n := newNode(t, p, knows(p))
		n.start(t)
		id := n.markedRow(t, 1, "perm")
		n.markedRow(t, 2, "other")
		for _, when := range []string{"on its way", "in the log"} {
			if r, err := n.OwnRow(ctx, id); err != nil || audit.ID(r) != id || !reflect.DeepEqual(r.Keys, []string{"perm"}) {
				t.Errorf("%s: %+v (%v)", when, r, err)
			}
			if when == "on its way" {
				n.run(t)
				flush(t, n)
			}
		}
		n.erase(t, id)
		if r, err := n.OwnRow(ctx, id); err != nil || !reflect.DeepEqual(r, audit.Row{}) {
			t.Errorf("erased: %+v (%v)", r, err)
		}
		if _, err := n.OwnRow(ctx, envelope.IDOf([]byte("x"))); !errors.Is(err, attestation.ErrNotFound) {
			t.Errorf("of none: %v", err)
		}
	})
}

// TestErasureAtEachCrash: an erasure that was acknowledged is carried out whatever step the
// process stops after, once, and nothing of what it erased is left anywhere.
func TestErasureAtEachCrash(t *testing.T) {
	for _, at := range []string{"read", "signed", "appended", "readback", "pinned", "headsigned", "stored", "told"} {
		t.Run("after "+at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { eraseAndCrash(t, at) })
		})
	}
}

func eraseAndCrash(t *testing.T, at string) {
	p := newParty("acme", 0x11)
	n := newNode(t, p, knows(p))
	n.start(t)
	n.run(t)
	before := n.markedRow(t, 1)
	event := n.event(t, ending(1))
	flush(t, n)
	if err := n.stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	n.start(t)
	n.SetStep(func(step string) error {
		if step == at {
			return recorder.ErrStopped
		}
		return nil
	})
	waiting := n.markedRow(t, 2) // in the outbox, with its erasure behind it
	for _, id := range []envelope.ID{event, before, waiting, waiting} {
		if _, err := n.Erase(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	n.run(t)
	time.Sleep(3 * time.Second)
	if err := n.stop(); !errors.Is(err, recorder.ErrStopped) {
		t.Fatalf("stopped by %v", err)
	}
	n.start(t)
	n.run(t)
	flush(t, n)
	synctest.Wait() // what is drained is dropped after the head that covers it
	if got := n.finds(t, secret); len(got) > 0 {
		t.Errorf("it is still in %q", got)
	}
	if got := n.erasures(t, p); len(got) != 3 {
		t.Errorf("%v", got)
	}
	for _, id := range []envelope.ID{event, before, waiting} {
		if e := n.erase(t, id); !e.Already {
			t.Errorf("%s: %+v", id, e)
		}
	}
	signed(t, n)
	n.sound(t)
}

// TestErasuresAreTakenWhenNothingElseIs: on a full disk and behind a log that does not drain.
func TestErasuresAreTakenWhenNothingElseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := newNode(t, p, knows(p))
		good := n.pins
		n.start(t)
		n.run(t)
		event, row := n.event(t, ending(1)), n.markedRow(t, 1)
		flush(t, n)
		n.stop()
		n.pins = stuck{good}
		n.start(t)
		n.run(t)
		n.SetFull("1 MiB free")
		n.event(t, barrier(2))
		time.Sleep(12 * time.Second)
		for _, id := range []envelope.ID{event, row} {
			if _, err := n.Erase(context.Background(), id); err != nil {
				t.Errorf("refused: %v", err)
			}
		}
		n.stop()
		n.pins = good
		n.start(t)
		n.run(t)
		flush(t, n)
		if got := n.finds(t, secret); len(got) > 0 || len(n.erasures(t, p)) != 2 {
			t.Errorf("it is still in %q; %v", got, n.erasures(t, p))
		}
	})
}
