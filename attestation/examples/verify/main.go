// Verify checks a case file with the Go standard library alone: a second opinion on trustnode
// verify that shares no line with it. From the file it recomputes DID logs, signatures, inclusion
// proofs, heads and cosignatures. What the statements mean it does not judge; what it does not
// know it refuses. It exits 0 and says what it verified, or 1 with the first thing that is wrong.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
)

const media = "application/vnd.trustnode."

type entry struct {
	event       map[string]any
	raw         []byte
	id, org     string
	head, lines string
	index, size uint64
}

type file struct {
	dids, logs map[string][]version
	entries    []entry
	agents     map[string]string // keys by DID and fragment
	charters   []string          // ids, from the genesis on
	members    map[string]bool
}

func main() {
	b, err := os.ReadFile(os.Args[len(os.Args)-1])
	if err == nil {
		err = verify(b, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "does not verify:", err)
		os.Exit(1)
	}
}

// verify returns the first thing that is wrong. What has another form than it must have ends in a
// panic somewhere below, and is wrong as well.
func verify(b []byte, w io.Writer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	f := &file{dids: map[string][]version{}, logs: map[string][]version{}, agents: map[string]string{}, members: map[string]bool{}}
	lines, leaves, by := bytes.Split(b, []byte("\n")), [][]byte{}, map[string][]map[string]any{}
	for _, l := range lines[1 : len(lines)-1] {
		o := parse(l)
		form := strings.Join(slices.Sorted(maps.Keys(o)), " ")
		leaves, by[form] = append(leaves, sum([]byte{0}, l)), append(by[form], o)
	}
	about := list(parse(lines[0]), "about")
	need(string(lines[0]) == fmt.Sprintf(`{"about":["%s","z%s"],"trustnode":"bundle","v":1}`, about[0], hashText(rootOf(leaves))) && len(lines[len(lines)-1]) == 0, "the lines are not those the header was written over")
	turn := func(o map[string]any) string {
		return fmt.Sprintf("%s %20v", text(o, "payloadType"), parse(std(text(o, "payload")))["seq"])
	}
	slices.SortStableFunc(by["payload payloadType signatures"], func(a, b map[string]any) int { return strings.Compare(turn(a), turn(b)) }) // agents first, charters by seq
	for _, kind := range []struct {
		form string
		read func(map[string]any)
		then func()
	}{{"did did_log from", f.didLog, nil}, {"entry proof", f.entry, f.judge}, {"payload payloadType signatures", f.object, nil}, {"body id", body, nil}, {"event index path row size", f.row, nil}} {
		for _, o := range by[kind.form] {
			kind.read(o)
		}
		if kind.then != nil {
			kind.then()
		}
		fmt.Fprintf(w, "%4d  %s\n", len(by[kind.form]), kind.form)
		delete(by, kind.form)
	}
	need(len(by) == 0, "%d forms of lines that are not judged here", len(by))
	need(slices.ContainsFunc(f.entries, func(e entry) bool { return e.event["type"] == "dispute.filed" && e.event["subject"] == about[0] }), "nobody filed %s", about[0])
	for did := range f.dids {
		need(f.members[did], "%s is no member", did)
	}
	return nil
}

// entry reads an event with its tlog-proof and checks that it lies under the head.
func (f *file) entry(o map[string]any) {
	e := entry{raw: url(text(o, "entry"))}
	e.event, e.id = parse(e.raw[65:]), idOf(e.raw[65:])
	e.org = text(e.event, "org")
	proof, note, _ := strings.Cut(string(url(text(o, "proof"))), "\n\n")
	e.head, e.lines, _ = strings.Cut(note, "\n\n")
	p, h, path := strings.Split(proof, "\n"), strings.Split(e.head, "\n"), []byte{}
	for _, l := range p[2:] {
		need(len(std(l)) == 32, "%s: its proof has not the form of one", e.id)
		path = append(path, std(l)...)
	}
	_, err := fmt.Sscan(strings.TrimPrefix(p[1], "index ")+" "+h[1], &e.index, &e.size)
	need(err == nil && p[0] == "c2sp.org/tlog-proof@v1" && p[1] == fmt.Sprint("index ", e.index) && e.head == fmt.Sprintf("%s/log\n%d\n%s", e.org, e.size, h[2]), "%s: its proof has not the form of one", e.id)
	need(e.raw[0] == 1 && bytes.Equal(climb(sum([]byte{0}, e.raw), e.index, e.size, path), std(h[2])), "%s is not under its head", e.id)
	f.entries = append(f.entries, e)
}

// inForce are the keys that may sign at an index.
func (f *file) inForce(org string, index uint64) (keys map[string]string) {
	for _, v := range f.logs[org] {
		if v.from <= index {
			keys = v.keys
		}
	}
	return keys
}

// judge checks each event under the key of its place, log by log, and then the heads.
func (f *file) judge() {
	slices.SortFunc(f.entries, func(a, b entry) int { return cmp.Or(strings.Compare(a.org, b.org), cmp.Compare(a.index, b.index)) })
	for i, e := range f.entries {
		need(i == 0 || f.entries[i-1].org != e.org || f.entries[i-1].index != e.index, "%s: two entries of index %d", e.org, e.index)
		if typ, l := text(e.event, "type"), f.logs[e.org]; typ == "log.opened" || typ == "key.rotated" {
			n := slices.IndexFunc(f.dids[e.org], func(v version) bool { return v.id == at(e.event, "data", "did_version") })
			need(n >= 0 && (len(l) == 0) == (typ == "log.opened") && (len(l) > 0 || e.index == 0) && (len(l) == 0 || n == l[len(l)-1].n), "%s: a version out of turn", e.id)
			f.logs[e.org] = append(l, f.dids[e.org][n])
			f.logs[e.org][len(l)].from = e.index
		}
		need(signed(f.inForce(e.org, e.index)[text(e.event, "kid")], pae(media+"event.v1+json", e.raw[65:]), e.raw[1:65]), "%s is not signed by a key of its place", e.id)
	}
	heads := map[string]string{}
	for _, e := range f.entries {
		size, l := fmt.Sprint(e.org, e.size), f.logs[e.org]
		need(heads[size] == "" || heads[size] == e.head, "%s signed two heads of size %d", e.org, e.size)
		need(l[len(l)-1].n == len(f.dids[e.org]), "%s: a version that its log does not announce", e.org)
		heads[size] = e.head
		f.lines(e)
	}
}

// lines checks each line of a head under a key of whom it names.
func (f *file) lines(e entry) {
	seen := map[string]bool{}
	for l := range strings.Lines(e.lines) {
		name, sig, _ := strings.Cut(strings.TrimPrefix(l, "— "), " ")
		b, alg, message, keys := std(strings.TrimSuffix(sig, "\n")), "\x01", e.head+"\n", slices.Collect(maps.Values(f.inForce(e.org, e.size-1)))
		if org, ok := strings.CutSuffix(name, "/witness"); ok && org != e.org {
			alg, message, keys = "\x04", fmt.Sprintf("cosignature/v1\ntime %d\n%s", new(big.Int).SetBytes(b[4:12]), message), nil
			for _, v := range f.dids[org] {
				keys = append(keys, v.witness)
			}
		} else {
			need(name == e.org+"/log", "%s: a line of %q", e.id, name)
		}
		need(!seen[name] && l == fmt.Sprintf("— %s %s\n", name, strings.TrimSuffix(sig, "\n")) && slices.ContainsFunc(keys, func(k string) bool {
			return k != "" && bytes.Equal(b[:4], sum([]byte(name+"\n"+alg), keyBytes(k))[:4]) && signed(k, []byte(message), b[map[string]int{"\x01": 4, "\x04": 12}[alg]:])
		}), "%s: a false line of %s under its head", e.id, name)
		seen[name] = true
	}
	need(seen[e.org+"/log"], "%s: its head is not signed", e.id)
}

// object checks that every signature of an object is by another key that may sign it.
func (f *file) object(o map[string]any) {
	typ, b, keys := text(o, "payloadType"), std(text(o, "payload")), []string{}
	p, id, enough := parse(b), idOf(b), false
	switch what := strings.TrimSuffix(strings.TrimPrefix(typ, media), ".v1+json"); what {
	case "agent": // by itself, and by its organization where agent.issued stands
		keys = append(keys, text(p, "key", "pub"), "")
		for _, e := range f.entries {
			if d, ok := e.event["data"].(map[string]any); ok && e.event["type"] == "agent.issued" && e.org == p["org"] && d["id"] == id && d["agent"] == p["agent"] && d["name"] == p["name"] && d["serial"] == p["serial"] {
				keys[1], f.agents[text(p, "agent")+"#"+text(p, "key", "kid")] = f.inForce(e.org, e.index)[text(p, "kid")], keys[0]
			}
		}
	case "charter": // by keys of its members
		need(fmt.Sprint(p["seq"]) == fmt.Sprint(len(f.charters)) && (len(f.charters) == 0 || p["prev"] == f.charters[len(f.charters)-1]), "charter %s is out of turn", id)
		for _, m := range list(p, "members") {
			did, kid, pub := text(m, "did"), text(m, "key", "kid"), text(m, "key", "pub")
			n := slices.IndexFunc(f.dids[did], func(v version) bool { return v.id == text(m, "did_head") })
			need(n >= 0 && f.dids[did][n].keys[kid] == pub, "charter %s: no key of %s", id, did)
			need(f.dids[did][len(f.dids[did])-1].keys[kid] == pub || slices.ContainsFunc(f.entries, func(e entry) bool { // signed before it was retired
				return e.org == did && e.event["type"] == "charter.signed" && text(e.event, "data", "body") == id && f.inForce(did, e.index)[kid] == pub
			}), "charter %s: the key of %s is retired", id, did)
			keys, f.members[did] = append(keys, pub), true
		}
		f.charters, enough = append(f.charters, id), len(f.charters) > 0 // of a later one its parent says how many
	default: // by the agent it names
		keys = append(keys, f.agents[text(p, map[string]string{"permission": "lender", "revocation": "issuer", "readrequest": "borrower", "receipt": "signer"}[what])+"#"+text(p, "kid")])
	}
	for _, s := range list(o, "signatures") {
		n := slices.IndexFunc(keys, func(k string) bool { return signed(k, pae(typ, b), std(text(s, "sig"))) })
		need(n >= 0, "%s %s: a signature nobody may give", typ, id)
		keys = slices.Delete(keys, n, n+1)
	}
	need(len(keys) == 0 || enough, "%s %s lacks %d signatures", typ, id, len(keys))
}
