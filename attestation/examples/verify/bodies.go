package main

import (
	"fmt"
	"slices"
)

// body checks that a body is what its id names.
func body(o map[string]any) {
	b := url(text(o, "body"))
	need(parse(b) != nil && idOf(b) == o["id"], "body %s is another", o["id"])
}

// row checks that an audit row lies under its audit.rows event.
func (f *file) row(o map[string]any) {
	var n, size uint64
	_, err := fmt.Sscan(fmt.Sprint(o["index"], " ", o["size"]), &n, &size)
	root := "z" + hashText(climb(sum([]byte{0}, url(text(o, "row"))), n, size, url(text(o, "path"))))
	need(err == nil && parse(url(text(o, "row"))) != nil && slices.ContainsFunc(f.entries, func(e entry) bool {
		return e.id == o["event"] && e.event["type"] == "audit.rows" && text(e.event, "data", "root") == root
	}), "row %d of %s is not under it", n, o["event"])
}
