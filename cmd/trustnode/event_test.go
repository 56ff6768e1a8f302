package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"trustnode/node/httpapi"
)

// The page that goldens print: two organizations of one domain, every kind of standing, an
// entry that is no event, and texts that would steer a terminal.
const goldenPage = `{"cursor":"AgFx","events":[
{"event":{"at":"2026-12-01T10:00:00Z","data":{},"kid":"k","refs":[],"type":"log.opened"},"id":"zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6","index":0,"level":"authored","org":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example","standing":"valid","witnessed":{"have":2,"need":2,"by":[{"org":"did:web:beta.example","at":"2026-12-01T10:00:02Z"},{"org":"did:web:core.example","at":"2026-12-01T10:00:03Z"}]},"words":"the log begins, under DID version 1-QmNi12…"},
{"event":{"at":"2026-12-15T09:00:05Z","data":{"reason":"scheduled"},"kid":"k2","refs":[],"subject":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example","type":"key.rotated"},"id":"zQmbQuHr9YkdJrEPfziDL3Mfi3KCMiZePaKsEZks8pmzNNe","index":3,"level":"authored","org":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example","standing":"valid","witnessed":{"have":1,"need":2,"by":[{"org":"did:web:beta.example","at":"2026-12-15T09:00:06Z"}]},"words":"scheduled: 1 key in, 1 out"},
{"id":"zQmSoaAAQ3FvrBX1Tbc23vnVydMxAEHDq8Zo5XNQKkGtLsZ","index":12,"level":"logged","org":"did:webvh:QmZZZZZZZZv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:twin.example","reason":"form","standing":"void","witnessed":{"have":0,"need":2,"by":[]},"words":"not an event"},
{"event":{"at":"2026-12-15T09:00:05Z","data":{},"kid":"k2","refs":[],"type":"agent.issued"},"id":"zQmNnpBmTPoj2CCNdCwtuVkgDihpKbCE5h8hBnRwXfWEm4Y","index":4,"level":"logged","org":"did:webvh:QmYYYYYYYYv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:twin.example","reason":"rotation","standing":"pending","witnessed":{"have":0,"need":2,"by":[]},"words":"agent \"\u001b[31mbilling\", z6MkjJ6a…,\nserial 1"}],
"origins":[{"age_s":41,"held":4,"known":4,"org":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"},{"age_s":7300,"held":13,"known":20,"org":"did:webvh:QmZZZZZZZZv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:twin.example"},{"held":5,"known":5,"org":"did:webvh:QmYYYYYYYYv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:twin.example"}]}`

const goldenList = `2026-12-01 10:00:00  acme.example 0             log.opened    the log begins, under DID version 1-QmNi12…  authored, witnessed 2/2
2026-12-15 09:00:05  acme.example 3             key.rotated   scheduled: 1 key in, 1 out                   authored, witnessed 1/2
                     twin.example[QmZZZZZZ] 12                not an event                                 logged, void (form), witnessed 0/2
2026-12-15 09:00:05  twin.example[QmYYYYYY] 4   agent.issued  agent "[31mbilling", z6MkjJ6a…, serial 1     logged, pending (rotation), witnessed 0/2
more  the same with --cursor AgFx, or --all
held  acme.example            4 entries         its length was said 41 s ago
held  twin.example[QmZZZZZZ]  13 of 20 entries  its length was said 2 h ago
held  twin.example[QmYYYYYY]  5 entries         nobody has said since the start how far it goes
absence is claimed only up to held
`

func goldenEvents(t *testing.T) (out httpapi.Events) {
	t.Helper()
	if err := json.Unmarshal([]byte(goldenPage), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAListIsGolden(t *testing.T) {
	var b bytes.Buffer
	s := &streams{out: &b}
	out := goldenEvents(t)
	if err := s.result(out, func(w writer) { printEvents(w, out, false) }); err != nil || b.String() != goldenList {
		t.Errorf("got\n%s\nwant\n%s", b.String(), goldenList)
	}
	b.Reset()
	s.json = true
	if err := s.result(out, nil); err != nil {
		t.Fatal(err)
	}
	var was, is any
	if json.Unmarshal([]byte(goldenPage), &was) != nil || json.Unmarshal(b.Bytes(), &is) != nil {
		t.Fatal(b.String())
	}
	x, _ := json.Marshal(was)
	y, _ := json.Marshal(is)
	if !bytes.Equal(x, y) {
		t.Errorf("got  %s\nwant %s", y, x)
	}
	b.Reset()
	printEvents(&b, httpapi.Events{}, false)
	if b.String() != "no events\n" {
		t.Errorf("nothing is shown as %q", b.String())
	}
}

func TestAnEventIsShownGolden(t *testing.T) {
	e := httpapi.EventDetail{Event: goldenEvents(t).Events[1]}
	e.Missing = []httpapi.Silent{{Org: "did:web:core.example", SilentS: new(int64)}}
	*e.Missing[0].SilentS = 725
	e.Elsewhere = []httpapi.Place{{Org: "did:web:thief.example", Index: 7}}
	const want = `event      zQmbQuHr9YkdJrEPfziDL3Mfi3KCMiZePaKsEZks8pmzNNe
says       key.rotated: scheduled: 1 key in, 1 out
log        entry 3 of did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example
at         2026-12-15T09:00:05Z
key        k2
subject    did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example
level      authored
standing   valid
witnessed  1 of 2: did:web:beta.example 2026-12-15T09:00:06Z
also       entry 7 of did:web:thief.example, which counts for nothing
data       {
             "reason": "scheduled"
           }
`
	var b bytes.Buffer
	if printEvent(&b, e); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	e.Clock = new(int64)
	*e.Clock = 725
	if printEvent(&b, e); !strings.Contains(b.String(), "at         2026-12-15T09:00:05Z\nclock      12 min ahead of when this node had seen it; it has no other effect\nkey        k2\n") {
		t.Errorf("a clock that is ahead: %s", b.String())
	}
	if row := eventRow(orgNames{}, e.Event, false); row[4] != "authored, witnessed 1/2, clock 12 min ahead" {
		t.Errorf("a clock that is ahead in a list: %q", row)
	}
	e.Clock = nil
	if got := tooFew(e); got != "witnessed 1 of 2, core.example silent for 12 min: trustnode doctor" {
		t.Errorf("hint %q", got)
	}
	e.Missing[0].SilentS = nil
	if got := tooFew(e); got != "witnessed 1 of 2, core.example not heard since the start: trustnode doctor" {
		t.Errorf("hint %q", got)
	}
	if e.Witnessed.Have = 2; tooFew(e) != "" {
		t.Error("enough is too few")
	}
	if got := witnessedBy(httpapi.Witnessed{}); got != "0 of 0: no charter asks for a witness" {
		t.Error(got)
	}
	if got := because("void", "repeat"); got != "void: its id stands at a lower index" {
		t.Error(got)
	}
}

func TestSpans(t *testing.T) {
	for s, want := range map[int64]string{0: "0 s", 59: "59 s", 60: "1 min", 3599: "59 min", 3600: "1 h", 47 * 3600: "47 h", 48 * 3600: "2 d"} {
		if got := span(time.Duration(s) * time.Second); got != want {
			t.Errorf("%d: %s, want %s", s, got, want)
		}
	}
}

// TestEventVerbsRefuse: each refusal of a query names what to do.
func TestEventVerbsRefuse(t *testing.T) {
	dir, other := logged(t), filepath.Join(t.TempDir(), "none")
	var l httpapi.Events
	if a := call("event", "list", "--data", dir, "--limit", "2", "--json"); a.code != exitDone || json.Unmarshal([]byte(a.out), &l) != nil || l.Cursor == "" {
		t.Fatal(a)
	}
	var tail httpapi.Events
	if a := call("event", "list", "--data", dir, "--order", "ingest", "--json"); a.code != exitDone || json.Unmarshal([]byte(a.out), &tail) != nil || tail.Tail == "" {
		t.Fatal(a)
	}
	fewer := home(t)
	if a := call("agent", "add", "--data", fewer, "x", "--can", "lend"); a.code != exitDone {
		t.Fatal(a)
	}
	for _, c := range []struct {
		name, args string
		code       int
		err        string
	}{
		{"a cursor of another filter", "list --type agent. --cursor " + l.Cursor, exitUsage, "hint: start again without --cursor"},
		{"a cursor of another order", "list --order ingest --cursor " + l.Cursor, exitUsage, "hint: start again without --cursor"},
		{"a cursor of a node that holds more", "list --order ingest --data " + fewer + " --cursor " + tail.Tail, exitRefused, "hint: start again without --cursor: events"},
		{"a level that is none", "list --level high", exitUsage, "none of logged, authored"},
		{"a standing that is none", "list --standing good", exitUsage, "none of valid"},
		{"an order that is none", "list --order time", exitUsage, "none of log, ingest"},
		{"a time that is none", "list --since today", exitUsage, "hint: in UTC, to the second: --since"},
		{"a ref that is none", "list --ref x", exitUsage, "ref"},
		{"too many at once", "list --limit 1001", exitUsage, "1..1000"},
		{"an event that is not held", "show zQmYTRT2UXE1RcWseGhfU87x1PYmz5i2kmmqr91waoTT4o6", exitFailed, "hint: trustnode event list"},
		{"an index past the log", "show 4711", exitFailed, "none of index 4711"},
		{"the word of a route", "show watch", exitUsage, "hint: name an event by its id"},
		{"no event", "show", exitUsage, "ID|INDEX is missing"},
		{"a watch where no node runs", "watch", exitFailed, "hint: trustnode run --data " + dir},
		{"a watch since no time", "watch --since bogus", exitUsage, "hint: in UTC"},
		{"a period that ends first", "list --since 2026-12-02T00:00:00Z --until 2026-12-01T00:00:00Z", exitUsage, "--since is not before --until"},
		{"a type without its dot", "list --type loan", exitUsage, "hint: --type loan. lists all that begin so"},
		{"the same of a watch", "watch --type loan", exitUsage, "hint: --type loan. lists all that begin so"},
		{"a type that nobody has", "list --type loan.isued", exitUsage, "no type \"loan.isued\" is known"},
		{"an organization that is none", "list --org x", exitUsage, "no organization held here has that name or domain"},
		{"a DID that is none", "list --org did:x", exitUsage, "org"},
		{"an organization that is not held", "list --org did:web:nobody.example", exitFailed, "no log of did:web:nobody.example is held here"},
		{"no directory", "list --data " + other, exitFailed, "holds no node"},
	} {
		args := strings.Fields(c.args)
		if !strings.Contains(c.args, "--data") {
			args = append(args, "--data", dir)
		}
		a := call(append([]string{"event"}, args...)...)
		if a.code != c.code || !strings.Contains(a.err, c.err) || a.out != "" {
			t.Errorf("%s: want exit %d and %q, got %s", c.name, c.code, c.err, a)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a list makes a directory")
	}
	for _, name := range []string{"self", "solo.example", "Solo"} {
		if a := call("event", "list", "--org", name, "--type", "log.", "--ids", "--data", dir); a.code != exitDone || !strings.HasPrefix(a.out, "zQm") || !strings.Contains(a.out, "solo.example 0  log.opened") {
			t.Errorf("the log of %s: %s", name, a)
		}
	}
	if a := call("event", "show", "0", "--data", dir); a.code != exitDone || !strings.Contains(a.out, "log.opened") {
		t.Errorf("by its index: %s", a)
	}
}
