package recorder_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"trustnode/did/envelope"
)

// again is a node whose disk is replaced by an older copy, after rows were erased.
type again struct {
	*node
	t    *testing.T
	peer *node
	rows []envelope.ID
}

// erasedSince makes a node with count rows under one audit.rows, of which those numbered
// before are erased before a copy is taken, and those numbered after afterwards; then the
// copy takes the disk's place. While it is recovering, those of meanwhile are erased once more.
func erasedSince(t *testing.T, count int, before, after, meanwhile []int) *again {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ring := knows(acme, beta)
	x := &again{node: running(t, acme, ring), t: t, peer: running(t, beta, ring)}
	for i := range count {
		x.rows = append(x.rows, x.markedRow(t, i, "perm"))
	}
	flush(t, x.node)
	x.eraseAll(before)
	flush(t, x.node)
	audit, state := copyDB(t, x.audit), copyDB(t, x.state)
	x.eraseAll(after)
	flush(t, x.node)
	pull(t, x.node, x.peer)
	x.stop()
	x.audit, x.state = audit, state
	x.start(t)
	x.run(t)
	synctest.Wait()
	for _, i := range meanwhile {
		if _, err := x.Erase(context.Background(), x.rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	takeBack(t, x.node, x.peer)
	flush(t, x.node)
	return x
}

func (x *again) eraseAll(list []int) {
	for _, i := range list {
		x.erase(x.t, x.rows[i])
	}
}

// wants compares which rows are whole, what is noted to be named again, and how often the
// log says that something was erased.
func (x *again) wants(whole []int, due uint64, said int) {
	x.t.Helper()
	ctx := context.Background()
	for i, id := range x.rows {
		_, gone, err := x.GoneRow(ctx, id)
		if err != nil || gone == slices.Contains(whole, i) {
			x.t.Errorf("row %d: gone %v (%v)", i, gone, err)
		}
	}
	list, err := x.RowsDue(ctx, 10)
	switch {
	case err != nil || (due == 0) != (len(list) == 0):
		x.t.Errorf("due: %+v (%v)", list, err)
	case due > 0 && (list[0].Count != due || len(list[0].Rows) != len(whole)):
		x.t.Errorf("due: %+v, want %d of %d", list, due, len(whole))
	}
	if got := len(x.erasures(x.t, x.p)); got != said {
		x.t.Errorf("%d log.erased, want %d", got, said)
	}
	if got := len(x.finds(x.t, secret)); got != len(whole) {
		x.t.Errorf("the bytes of %d rows are found, want %d", got, len(whole))
	}
	x.sound(x.t)
}

// TestErasedRowsDoNotComeBack: an older copy of both databases brings rows back that the log
// says to be erased. Where all that are left under their audit.rows are to go, they go; where
// nothing says which, the operator names them again, and the log says nothing twice.
func TestErasedRowsDoNotComeBack(t *testing.T) {
	for _, c := range []struct {
		name                     string
		count                    int
		before, after, meanwhile []int
		whole                    []int
		due                      uint64
		said                     int
	}{
		{"nothing was erased", 2, nil, nil, nil, []int{0, 1}, 0, 0},
		{"one erased before the copy", 2, []int{1}, nil, nil, []int{0}, 0, 1},
		{"the only one", 1, nil, []int{0}, nil, nil, 0, 1},
		{"all", 3, nil, []int{0, 1, 2}, nil, nil, 0, 3},
		{"the one that was left", 2, []int{0}, []int{1}, nil, nil, 0, 2},
		{"one of three", 3, nil, []int{1}, nil, []int{0, 1, 2}, 1, 1},
		{"one of three, named again while recovering", 3, nil, []int{1}, []int{1}, []int{0, 2}, 0, 1},
		{"the only one, named again while recovering", 1, nil, []int{0}, []int{0}, nil, 0, 1},
		{"another one while recovering", 3, nil, []int{1}, []int{2, 0}, []int{1}, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				erasedSince(t, c.count, c.before, c.after, c.meanwhile).wants(c.whole, c.due, c.said)
			})
		})
	}
}

// TestARowIsNamedAgain: of several, the operator names the one that was erased; another one
// that is erased afterwards is told by the log as ever.
func TestARowIsNamedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := erasedSince(t, 3, nil, []int{1}, nil)
		x.wants([]int{0, 1, 2}, 1, 1)
		x.stop()
		x.start(t) // it is not forgotten
		x.run(t)
		x.wants([]int{0, 1, 2}, 1, 1)
		if e := x.erase(t, x.rows[1]); e.Already || e.Cause != "row" {
			t.Errorf("%+v", e)
		}
		x.wants([]int{0, 2}, 0, 1)
		if e := x.erase(t, x.rows[1]); !e.Already {
			t.Errorf("%+v", e)
		}
		x.erase(t, x.rows[0])
		x.wants([]int{2}, 0, 2)
		if id, err := x.OwnRow(context.Background(), x.rows[2]); err != nil || !strings.Contains(string(id.Body), secret) {
			t.Errorf("the row that nobody erased: %v %v", id, err)
		}
	})
}
