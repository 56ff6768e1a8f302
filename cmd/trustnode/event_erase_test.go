package main

import (
	"encoding/json"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// TestEventErase: what the verb says of a body, of one erased before, of a row, and of what
// is not there to be erased; and that all is sound afterwards.
func TestEventErase(t *testing.T) {
	dir := home(t)
	into := func(out any, args ...string) {
		t.Helper()
		a := call(append(args, "--data", dir, "--json")...)
		if a.code != exitDone {
			t.Fatal(a)
		}
		if err := json.Unmarshal([]byte(a.out), out); err != nil {
			t.Fatal(err)
		}
	}
	var none json.RawMessage
	var quant httpapi.Agent
	into(&none, "agent", "add", "research", "--can", "lend", "--project", "shelf")
	into(&quant, "agent", "add", "quant", "--can", "borrow")
	into(&none, "loan", "issue", "--lender", "research", "--borrower", quant.DID, "--scope", "tag:a", "--purpose", "what it is for", "--expires", "24h", "--max-reads", "5")
	var list httpapi.Events
	into(&list, "event", "list", "--type", "loan.issued")
	if len(list.Events) != 1 {
		t.Fatalf("%+v", list)
	}
	id, body := list.Events[0].ID, list.Events[0].Says().Body
	for _, c := range []struct {
		name, id  string
		code      int
		out, hint string
	}{
		{"a body", id, exitDone, "erased       private body of event 3; its proof stays\n", ""},
		{"a body that is erased", id, exitDone, "erased       private body of event 3, before this: nothing was done\n", ""},
		{"a body, by its index", "3", exitDone, "erased       private body of event 3, before this: nothing was done\n", ""},
		{"an index past the log", "4711", exitFailed, "", "event list --org self"},
		{"an event without a body", eventID(t, dir, "log.opened"), exitRefused, "", "what can be erased is its private body"},
		{"what is not here", "zQmeMtCFsvVq1XpqKPybuYgdUUAzfRSJR3qdBSXnbEwu1ge", exitFailed, "", ""},
		{"what is no id", "zQm", exitUsage, "", "event list --ids"},
	} {
		a := call("event", "erase", c.id, "--data", dir)
		if a.code != c.code || a.out != c.out || !strings.Contains(a.err, c.hint) {
			t.Errorf("%s: %s", c.name, a)
		}
	}
	if a := call("event", "show", id, "--data", dir); a.code != exitDone || !strings.Contains(a.out, ", erased, by log.erased at 5\n") {
		t.Errorf("an event whose body is erased: %s", a)
	}
	if a := call("event", "prove", "3", "--with", body, "--data", dir); a.code != exitFailed || !strings.Contains(a.err, "is erased, by log.erased at 5 of ") {
		t.Errorf("an erased body is proven: %s", a)
	}
	if a := call("fsck", "--data", dir); a.code != exitDone {
		t.Error(a)
	}
}

// eventID is the id of the first event of a type.
func eventID(t *testing.T, dir, typ string) string {
	t.Helper()
	a := call("event", "list", "--type", typ, "--data", dir, "--json")
	var out httpapi.Events
	if err := json.Unmarshal([]byte(a.out), &out); err != nil || len(out.Events) == 0 {
		t.Fatal(a, err)
	}
	return out.Events[0].ID
}
