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
	id := list.Events[0].ID
	for _, c := range []struct {
		name, id  string
		code      int
		out, hint string
	}{
		{"a body", id, exitDone, "erased       private body of event 3; its proof stays\n", ""},
		{"a body that is erased", id, exitDone, "erased       private body of event 3, before this: nothing was done\n", ""},
		{"an event without a body", eventID(t, dir, "log.opened"), exitRefused, "", "what can be erased is its private body"},
		{"what is not here", "zQmeMtCFsvVq1XpqKPybuYgdUUAzfRSJR3qdBSXnbEwu1ge", exitFailed, "", ""},
		{"what is no id", "zQm", exitFailed, "", ""},
	} {
		a := call("event", "erase", c.id, "--data", dir)
		if a.code != c.code || a.out != c.out || !strings.Contains(a.err, c.hint) {
			t.Errorf("%s: %s", c.name, a)
		}
	}
	if a := call("fsck", "--data", dir); a.code != exitDone {
		t.Error(a)
	}
	if a := call("fsck", "--repair", "--data", dir); a.code != exitDone || a.out != "sound        every log gives its signed root\n" {
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
