package gossip

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// The frames of the specification, as far as they are not shortened there.
func TestFramesOfTheSpecification(t *testing.T) {
	id := envelope.IDOf([]byte("x"))
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"heads", headsFrame{heads{Charter: federation.CharterRef{ID: id, Seq: 7}, Federation: id, Sets: sets{id, id, id},
			DIDs: []didHead{{DID: orgDID(1), DIDHead: "2-Qm", Note: "a\n\nb\n", Notes: id}}}},
			`{"heads":{"charter":{"id":"ID","seq":7},"dids":[{"did":"ORG","did_head":"2-Qm","note":"a\n\nb\n","notes":"ID"}],"federation":"ID","sets":{"beacons":"ID","bindings":"ID","governance":"ID"}}}`},
		{"events", ask{Events: &rangeAsk{DID: orgDID(1), From: 1024, To: 1290}}, `{"events":{"did":"ORG","from":1024,"to":1290}}`},
		{"notes", ask{Notes: &rangeAsk{DID: orgDID(1), To: 1290}}, `{"notes":{"did":"ORG","from":0,"to":1290}}`},
		{"ranges", ask{Ranges: &rangesAsk{At: 512, DID: orgDID(1), Size: 1000}}, `{"ranges":{"at":512,"did":"ORG","size":1000}}`},
		{"a line of ranges", rangesLine{At: 512, DID: orgDID(1), Left: "…", Right: "…", Size: 1000}, `{"at":512,"did":"ORG","left":"…","right":"…","size":1000}`},
		{"bodies", ask{Bodies: []envelope.ID{id}}, `{"bodies":["ID"]}`},
		{"object", ask{Object: &objectAsk{ID: id}}, `{"object":{"id":"ID"}}`},
		{"charters", ask{Charters: &afterAsk{After: 7}}, `{"charters":{"after":7}}`},
		{"did_log", ask{DIDLog: &didLogAsk{After: 2, DID: orgDID(1)}}, `{"did_log":{"after":2,"did":"ORG"}}`},
		{"a line of entries", entriesLine{DID: orgDID(1), Entries: []string{"…"}, From: 1024, Size: 1290}, `{"did":"ORG","entries":["…"],"from":1024,"rest":"","size":1290}`},
		{"a line of bodies", bodiesLine{[]string{"z…"}}, `{"bodies":["z…"]}`},
		{"a line of notes", notesLine{orgDID(1), []string{"…"}}, `{"did":"ORG","notes":["…"]}`},
		{"an end", end{End: true, More: true}, `{"end":true,"more":true}`},
		{"an end of what is not there", end{Code: codeNotFound, End: true}, `{"code":"not_found","end":true,"more":false}`},
		{"an end of what is shorter", end{Code: codeStale, End: true, Size: 1290}, `{"code":"stale","end":true,"more":false,"size":1290}`},
		{"an end of who is too quick", end{Code: "rate_limited", End: true, RetryS: 2}, `{"code":"rate_limited","end":true,"more":false,"retry_s":2}`},
		{"a request to a witness", witnessAsk{Checkpoint: "old 1024\n\nnote\n"}, `{"checkpoint":"old 1024\n\nnote\n"}`},
		{"a request to witness an entry", witnessAsk{Entry: "e30"}, `{"entry":"e30"}`},
		{"its answer", witnessAnswer{Body: "— did:web:beta.example/witness …\n", Status: 200}, `{"body":"— did:web:beta.example/witness …\n","status":200}`},
	} {
		b, err := envelope.Marshal(c.v)
		if want := strings.NewReplacer("ID", id.String(), "ORG", orgDID(1).String()).Replace(c.want); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v\nwant %s", c.name, b, err, want)
		}
	}
}

// goldenRanges are those of the tree of the leaves 0x00, 0x01, 0x02 that meet at 1: RFC 6962
// gives the hashes.
const goldenRanges = `{"at":1,"did":"did:web:a.example","left":"lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh-QQt4YwoJz8c","right":"tBP0fRPuL-bIRbLuFBr4HehY307FSaWLeXC7lmRbyNL88KbHAN0T4nS2-6je6o3Zsm5O7d40lXF8rIQIycUXfw","size":3}`

func TestRangesAreReadAsTheyAreWritten(t *testing.T) {
	a := rangesAsk{At: 1, DID: did.MustParse("did:web:a.example"), Size: 3}
	left, right := attlog.NewRange(0), attlog.NewRange(1)
	for i, to := range []attlog.Range{left, right, right} {
		if err := to.Append(tlog.RecordHash([]byte{byte(i)})); err != nil {
			t.Fatal(err)
		}
	}
	b, err := rangesOf(a, left, right)
	if err != nil || string(b) != goldenRanges {
		t.Fatalf("%s, %v", b, err)
	}
	l, r, err := parseRanges(b, a)
	if err != nil || !slices.Equal(l.Hashes(), left.Hashes()) || !slices.Equal(r.Hashes(), right.Hashes()) {
		t.Fatalf("%v %v, %v", l, r, err)
	}
	for name, lie := range map[string]func(string) string{
		"another place":   func(s string) string { return strings.Replace(s, `"at":1`, `"at":2`, 1) },
		"another size":    func(s string) string { return strings.Replace(s, `"size":3`, `"size":4`, 1) },
		"another log":     func(s string) string { return strings.Replace(s, "a.example", "b.example", 1) },
		"a hash too few":  func(s string) string { return strings.Replace(s, string(b[len(b)-52:len(b)-11]), "", 1) },
		"left and right":  func(s string) string { return strings.NewReplacer("left", "right", "right", "left").Replace(s) },
		"padded":          func(s string) string { return strings.Replace(s, `fw"`, `fw=="`, 1) },
		"another member":  func(s string) string { return strings.Replace(s, `"at"`, `"as"`, 1) },
		"no range at all": func(s string) string { return strings.Replace(s, `lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh-QQt4YwoJz8c`, "", 1) },
	} {
		text := lie(string(b))
		if _, _, err := parseRanges([]byte(text), a); err == nil || text == string(b) {
			t.Errorf("%s: %s", name, text)
		}
	}
	for _, text := range []string{`{"ranges":{"at":0,"did":"did:web:a.example","size":3}}`, `{"ranges":{"at":3,"did":"did:web:a.example","size":3}}`,
		`{"notes":{"did":"did:web:a.example","from":0,"to":9},"ranges":{"at":1,"did":"did:web:a.example","size":3}}`} {
		if _, err := parseAsk([]byte(text)); err == nil || errors.Is(err, errUnknownAsk) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSetDigest(t *testing.T) {
	a, b, c := envelope.IDOf([]byte("a")), envelope.IDOf([]byte("b")), envelope.IDOf([]byte("c"))
	if digest([]envelope.ID{a, b, c}) != digest([]envelope.ID{c, a, b, a}) {
		t.Error("order or repetition changes the digest")
	}
	if digest([]envelope.ID{a, b}) == digest([]envelope.ID{a, c}) || digest(nil) == digest([]envelope.ID{a}) {
		t.Error("two sets have one digest")
	}
	// RFC 6962: the root of nothing is the SHA-256 of nothing.
	if got, want := digest(nil), envelope.IDOf(nil); got != want {
		t.Errorf("empty set: %s, want %s", got, want)
	}
}

// round reads b as v and checks that it is written as it was read.
func round[T any](t *testing.T, b []byte, v T, err error) {
	if err != nil {
		return
	}
	again, err := envelope.Marshal(v)
	if err != nil || string(again) != string(b) {
		t.Errorf("read %q, wrote %q, %v", b, again, err)
	}
}

func FuzzSyncFrames(f *testing.F) {
	id := envelope.IDOf([]byte("x")).String()
	for _, s := range []string{
		`{"heads":{"charter":{"id":"` + id + `","seq":7},"dids":[{"did":"did:web:a.example","did_head":"2-Qm","note":"a\n","notes":"` + id + `"}],"federation":"` + id + `","sets":{"beacons":"` + id + `","bindings":"` + id + `","governance":"` + id + `"}}}`,
		`{"events":{"did":"did:web:a.example","from":0,"to":9}}`, `{"notes":{"did":"did:web:a.example","from":0,"to":9}}`,
		`{"bodies":["` + id + `"]}`, `{"object":{"id":"` + id + `"}}`, `{"charters":{"after":7}}`,
		`{"did_log":{"after":2,"did":"did:web:a.example"}}`, `{"beacons":{"have":["` + id + `"]}}`, `{"bindings":{"have":[]}}`,
		`{"did":"did:web:a.example","entries":["AQ"],"from":0,"rest":"","size":9}`, `{"did":"did:web:a.example","notes":["x\n"]}`,
		`{"ranges":{"at":1,"did":"did:web:a.example","size":3}}`, goldenRanges, `{"bodies":["e30"]}`, `{"end":true,"more":false}`, `{"code":"stale","end":true,"more":false,"size":1290}`, `{"x":1}`, `{`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeads(b)
		round(t, b, headsFrame{h}, err)
		a, err := parseAsk(b)
		round(t, b, a, err)
		if isEnd(b) {
			e, err := parseEnd(b)
			round(t, b, e, err)
		}
		r := rangeAsk{DID: orgDID(1), To: 9}
		if p, err := parseEntries(b, r, envelope.IDOf(nil), "note"); err == nil {
			again, err := entriesOf(p, r.To)
			if err != nil || string(again) != string(b) {
				t.Errorf("read %q, wrote %q, %v", b, again, err)
			}
		}
		notes, err := parseNotes(b, orgDID(1))
		round(t, b, notesLine{orgDID(1), notes}, err)
		_, _ = parseBodies(b)
		split := rangesAsk{At: 1, DID: did.MustParse("did:web:a.example"), Size: 3}
		if left, right, err := parseRanges(b, split); err == nil {
			again, err := rangesOf(split, left, right)
			if err != nil || string(again) != string(b) {
				t.Errorf("read %q, wrote %q, %v", b, again, err)
			}
		}
	})
}

func FuzzWitnessFrames(f *testing.F) {
	f.Add([]byte(`{"checkpoint":"old 1024\n\nnote\n"}`))
	f.Add([]byte(`{"entry":"e30"}`))
	f.Add([]byte(`{"entry":"e30K"}`))
	f.Add([]byte(`{"checkpoint":"old 1024\n\nnote\n","entry":"e30"}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"body":"— a/witness AAAA\n","status":200}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkpoint, line, err := parseWitnessAsk(b)
		round(t, b, witnessAsk{Checkpoint: string(checkpoint), Entry: base64.RawURLEncoding.EncodeToString(line)}, err)
		if err == nil && (len(checkpoint) == 0) == (len(line) == 0) {
			t.Fatalf("%q is read as two requests, or none", b)
		}
		_ = requestSize(checkpoint)
		r, err := parseWitnessAnswer(b)
		round(t, b, r, err)
	})
}

// Any message and any hello: no panic, and nothing but what is true is accepted.
func FuzzGossipAndHello(f *testing.F) {
	a, b := newHome(f, 0), newHome(f, 1)
	b.bind(1)
	a.knows(a, true, false)
	a.knows(b, true, true)
	b.say(false, some(3)...)
	b.start = false
	beacon, err := beaconsOf{b}.Make(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	hello, _ := b.Hello(context.Background(), a.me)
	hello.Verdict, hello.Now = federation.AdmitOK, envelope.TimeOf(time.Now())
	frame, err := hello.Encode()
	if err != nil {
		f.Fatal(err)
	}
	pack := packed(f, b, 0, 3, func(*attestation.Package) {})
	for _, s := range [][]byte{pack, beacon.DSSE(), b.bound[b.me].DSSE(), frame} {
		f.Add(s)
	}
	n, err := New(a.config(nowhere{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		for _, topic := range federation.Topics() {
			if n.Judge(context.Background(), b.peer, topic, msg) != federation.Accept {
				continue
			}
			if m := string(msg); m != string(pack) && m != string(beacon.DSSE()) && m != string(b.bound[b.me].DSSE()) {
				t.Errorf("accepted %q", msg)
			}
		}
		if h, err := federation.ParseHello(msg); err == nil {
			n.welcome(context.Background(), b.peer, h)
		}
	})
}
