package resolver_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/fetch"
	"trustnode/node/resolver"
	. "trustnode/node/resolver/resolvertest"
)

// rows reads the audit rows about a DID, once they are in the log.
func rows(t *testing.T, n *Node, d did.DID) (out []map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan error, 1)
	run, stop := context.WithCancel(ctx)
	go func() { done <- n.Rec.Run(run) }()
	if err := n.Rec.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	<-done
	err := n.Events.Rows(ctx, audit.Filter{Key: d.String()}, func(_ uint64, r audit.Row) error {
		var row map[string]string
		if err := json.Unmarshal(r.Body, &row); err != nil {
			return err
		}
		row["kind"], row["id"] = r.Kind, audit.ID(r).String()
		out = append(out, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func code(err error) fault.Code {
	var d *fault.Denied
	if !errors.As(err, &d) {
		return ""
	}
	return d.Code
}

// A fork is left by the operator's word for one branch; the word is an audit row, and the
// other branch stays as evidence of who decided.
func TestAcceptHeadLeavesAFork(t *testing.T) {
	for _, second := range []bool{false, true} {
		n := NewNode(t, NewOrg(t, "acme"))
		o := NewOrg(t, "beta")
		first, other := o.Rotate(), o.As(1).Rotate()
		n.Hold(first)
		n.Hold(other)
		want, left := first, other
		if second {
			want, left = other, first
		}
		in := resolver.Accept{DID: o.DID(), Version: want.Head(), Reason: "compared by voice with B. Keller"}
		res, err := n.AcceptHead(t.Context(), in)
		if err != nil || !res.Advanced || res.Version.ID != want.Head() || res.Version.State != did.Held {
			t.Fatalf("got %+v, %v", res, err)
		}
		got, err := n.Resolve(t.Context(), o.DID(), did.Options{})
		if err != nil || got.Version != want.Head() || len(n.Moved) != 1 {
			t.Errorf("resolved to %s, %v; moved %v", got.Version, err, n.Moved)
		}
		list := rows(t, n, o.DID())
		if len(list) != 1 || list[0]["kind"] != "accept_head" || list[0]["op"] != "accept_head" || list[0]["did"] != o.DID().String() ||
			list[0]["from"] != first.Head() || list[0]["version"] != want.Head() || list[0]["reason"] != in.Reason || list[0]["salt"] == "" {
			t.Fatalf("rows: %v", list)
		}
		f, err := n.Ring.Forked(t.Context(), o.DID())
		if err != nil || f == nil || f.Decided != "operator "+list[0]["id"] || f.Offered != left.Head() {
			t.Errorf("evidence: %v, %v", f, err)
		}
		if _, err := n.AcceptHead(t.Context(), in); err != nil || len(rows(t, n, o.DID())) != 1 {
			t.Errorf("a second time: %v, %v", err, rows(t, n, o.DID()))
		}
	}
}

// A did:web is pinned by the operator's word for the document that its host serves, or for
// one that was brought by hand, and only for that one.
func TestAcceptHeadPinsAFirstWebDocument(t *testing.T) {
	d := did.MustParse("did:web:gamma.example")
	doc := WebDocument(d, 1, "https://gamma.example")
	in := resolver.Accept{DID: d, Version: envelope.IDOf(doc).String(), Reason: "read out by their office"}
	for _, byHand := range []bool{false, true} {
		n := NewNode(t, NewOrg(t, "acme"))
		in.Document = nil
		if byHand {
			in.Document = doc
		} else {
			n.Shelf.Put(d, did.Material{Log: doc})
		}
		res, err := n.AcceptHead(t.Context(), in)
		if err != nil || !res.Advanced || res.Version.ID != in.Version {
			t.Fatalf("by hand %v: got %+v, %v", byHand, res, err)
		}
		if asked := len(n.Shelf.Asked()); byHand != (asked == 0) {
			t.Errorf("by hand %v: %d requests", byHand, asked)
		}
		list := rows(t, n, d)
		snaps, err := n.Ring.Snapshots(t.Context(), d)
		if len(list) != 1 || list[0]["from"] != "" || err != nil || len(snaps) != 1 || snaps[0].ApprovedBy != "operator "+list[0]["id"] || (snaps[0].SPKI == "") != byHand {
			t.Errorf("by hand %v: rows %v, snapshots %+v, %v", byHand, list, snaps, err)
		}
	}
}

// A did:web that changed its keys is followed by the operator's word, whether the change
// was seen before or is fetched for it, and never back.
func TestAcceptHeadFollowsAChangedWebDID(t *testing.T) {
	d := did.MustParse("did:web:gamma.example")
	old, next := WebDocument(d, 1, "x"), WebDocument(d, 2, "x")
	in := resolver.Accept{DID: d, Version: envelope.IDOf(next).String(), Reason: "their key was lost"}
	for _, seen := range []bool{false, true} {
		n := NewNode(t, NewOrg(t, "acme"))
		n.Pin(d, old)
		n.Shelf.Put(d, did.Material{Log: next})
		if seen {
			if _, err := n.Fresh(t.Context(), d, did.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		res, err := n.AcceptHead(t.Context(), in)
		if err != nil || !res.Advanced || res.Version.ID != in.Version || len(n.Shelf.Asked()) != 1 {
			t.Fatalf("seen %v: got %+v, %v after %v", seen, res, err, n.Shelf.Asked())
		}
		got, err := n.Resolve(t.Context(), d, did.Options{})
		if err != nil || string(got.Raw) != string(next) || len(got.Warnings) != 0 {
			t.Errorf("seen %v: %v, %s", seen, err, words(got))
		}
		back := in
		back.Version = envelope.IDOf(old).String()
		if _, err := n.AcceptHead(t.Context(), back); code(err) != fault.Refused {
			t.Errorf("back to what was replaced: %v", err)
		}
	}
}

func TestAcceptHeadRefused(t *testing.T) {
	n := NewNode(t, NewOrg(t, "acme"))
	o := NewOrg(t, "beta").Rotate()
	n.Hold(o)
	web, gone := did.MustParse("did:web:gamma.example"), did.MustParse("did:web:gone.example")
	doc := WebDocument(web, 1, "x")
	n.Shelf.Put(web, did.Material{Log: doc})
	n.Shelf.Break(gone, fetch.CauseName)
	keyless := []byte(`{"id":"did:web:gamma.example"}`)
	for _, c := range []struct {
		name string
		in   resolver.Accept
		code fault.Code
	}{
		{"no reason", resolver.Accept{DID: o.DID(), Version: o.Head()}, fault.Invalid},
		{"a reason that is too long", resolver.Accept{DID: o.DID(), Version: o.Head(), Reason: strings.Repeat("x", 513)}, fault.Invalid},
		{"a reason that moves the cursor", resolver.Accept{DID: o.DID(), Version: o.Head(), Reason: "fine\x1b[2J"}, fault.Invalid},
		{"no version", resolver.Accept{DID: o.DID(), Reason: "x"}, fault.Invalid},
		{"a DID that is a key", resolver.Accept{DID: did.MustParse(did5), Version: "static", Reason: "x"}, fault.Invalid},
		{"a version nobody has", resolver.Accept{DID: o.DID(), Version: "2-QmNobody", Reason: "x"}, fault.NotFound},
		{"a log that is not held", resolver.Accept{DID: NewOrg(t, "stranger").DID(), Version: "1-Qm", Reason: "x"}, fault.NotFound},
		{"another document than the host's", resolver.Accept{DID: web, Version: "zQmOther", Reason: "x"}, fault.Refused},
		{"another document than the file's", resolver.Accept{DID: web, Version: envelope.IDOf(doc).String(), Reason: "x", Document: []byte("{}")}, fault.Refused},
		{"a document without a key", resolver.Accept{DID: web, Version: envelope.IDOf(keyless).String(), Reason: "x", Document: keyless}, fault.Invalid},
		{"a host that is not there", resolver.Accept{DID: gone, Version: "z", Reason: "x"}, ""},
	} {
		res, err := n.AcceptHead(t.Context(), c.in)
		if err == nil || code(err) != c.code || res.Advanced {
			t.Errorf("%s: got %+v, %v, want %s", c.name, res, err, c.code)
		}
		if c.code == "" && fault.Of(err) != fault.Unavailable {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	if _, err := n.Ring.Head(t.Context(), web); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("something was pinned: %v", err)
	}
	var acts []string
	for _, d := range []did.DID{o.DID(), web, gone} {
		for _, r := range rows(t, n, d) {
			acts = append(acts, r["version"])
		}
	}
	// What the ring refuses after all was an act all the same.
	if !slices.Equal(acts, []string{envelope.IDOf(keyless).String()}) {
		t.Errorf("rows of %v", acts)
	}
}
