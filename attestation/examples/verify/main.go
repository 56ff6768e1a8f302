// Verify checks a case file with the Go standard library alone: a second opinion on trustnode verify that shares no
// line with it. It recomputes DID logs, signatures, charters, inclusion proofs, heads, cosignatures and rows, and refuses
// what it does not know. What statements mean it does not judge. It exits 1 with the first thing that is wrong.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"os"
	"slices"
	"strings"
)

type object = map[string]any
type version struct { // of a DID
	id, witness string
	next        []any             // hashes of the keys that may write the version after it
	keys        map[string]string // of assertions, by fragment
	from        uint64            // the index in the log of the DID from which they count
}
type entry struct {
	raw                      []byte
	event, data              object
	id, org, typ, head, sigs string
	index, size              uint64
}
type file struct {
	dids              map[string][]version
	entries           []entry
	agents            map[string]string // keys by DID and fragment
	charters, members []string
}

func main() {
	b, err := os.ReadFile(os.Args[len(os.Args)-1])
	if err == nil {
		err = verify(b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "does not verify:", err)
		os.Exit(1)
	}
	fmt.Println("verifies")
}

// verify returns the first thing that is wrong. What has another form than it must have ends in a panic somewhere below.
func verify(b []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	f := &file{dids: map[string][]version{}, agents: map[string]string{}}
	lines, leaves, of := bytes.Split(b, []byte("\n")), [][]byte{}, map[string][]object{}
	for _, l := range lines[1 : len(lines)-1] {
		form := strings.Join(slices.Sorted(maps.Keys(parse(l))), " ")
		leaves, of[form] = append(leaves, sum([]byte{0}, l)), append(of[form], parse(l))
	}
	about, envelopes := list(parse(lines[0])["about"]), of["payload payloadType signatures"]
	need(string(lines[0]) == fmt.Sprintf(`{"about":["%s","z%s"],"trustnode":"bundle","v":1}`, about[0], multihash(rootOf(leaves))) &&
		len(lines[len(lines)-1]) == 0, "the lines below are not the ones the header was written over: one was dropped, added or changed")
	take := func(form string, judge func(object)) {
		for _, o := range of[form] {
			judge(o)
		}
		delete(of, form)
	}
	take("did did_log from", f.didLog)
	take("entry proof", f.entry)
	f.judge()
	slices.SortStableFunc(envelopes, func(a, b object) int { return strings.Compare(turn(a), turn(b)) })
	take("payload payloadType signatures", f.envelope)
	take("body id", func(o object) {
		need(parse(url(o["body"])) != nil && idOf(url(o["body"])) == o["id"], "body %s is another", o["id"])
	})
	take("event index path row size", f.row)
	need(len(of) == 0, "a line of a kind that is not known here: %v", of)
	need(f.find("dispute.filed", func(e entry) bool { return e.event["subject"] == about[0] }).raw != nil, "the case %s is filed by no event in the file", about[0])
	for did := range f.dids {
		need(slices.Contains(f.members, did), "%s is no member, its DID log is not needed", did)
	}
	return nil
}

// didLog checks did:webvh 1.0 with pre-rotation, without witnesses, moves and ends.
func (f *file) didLog(o object) {
	did := text(o["did"])
	need(fmt.Sprint(o["from"]) == fmt.Sprint(len(f.dids[did])+1), "DID log of %s goes on at version %v", did, o["from"])
	for l := range bytes.Lines(url(o["did_log"])) {
		e, known, last := parse(l[:len(l)-1]), f.dids[did], version{id: strings.Split(did, ":")[2]}
		if len(known) > 0 {
			last = known[len(known)-1]
		}
		state, params, proof, update := e["state"].(object), e["parameters"].(object), list(e["proof"])[0].(object), list(e["parameters"].(object)["updateKeys"])
		v := version{id: text(e["versionId"]), next: list(params["nextKeyHashes"]), keys: map[string]string{}, from: ^uint64(0)}
		need(state["id"] == did && params["witness"] == nil && params["deactivated"] == nil && len(list(e["proof"])) == 1, "%s: what is not judged here", v.id)
		delete(e, "proof")
		unsigned := sum(jcs(e))
		e["versionId"] = last.id
		need(v.id == fmt.Sprintf("%d-%s", len(known)+1, multihash(sum(jcs(e)))), "%s is not the hash of its entry", v.id)
		need(len(known) > 0 || multihash(sum(bytes.ReplaceAll(jcs(e), []byte(last.id), []byte("{SCID}")))) == last.id, "%s has another SCID", did)
		for _, k := range update {
			need(len(known) == 0 || slices.Contains(last.next, any(multihash(sum([]byte(text(k)))))), "%s: an update key nobody announced", v.id)
		}
		sig := bytes58(text(proof["proofValue"]), 64)
		delete(proof, "proofValue")
		_, key, _ := strings.Cut(text(proof["verificationMethod"]), "#")
		need(slices.Contains(update, any(key)) && proof["cryptosuite"] == "eddsa-jcs-2022" && signs(key, append(sum(jcs(proof)), unsigned...), sig), "%s: a false proof", v.id)
		for _, m := range list(state["verificationMethod"]) {
			if id := m.(object)["id"]; slices.Contains(list(state["assertionMethod"]), id) {
				v.keys[strings.TrimPrefix(text(id), did+"#")] = text(m.(object)["publicKeyMultibase"])
			}
		}
		for _, s := range list(state["service"]) {
			if s.(object)["id"] == did+"#witness" {
				v.witness = strings.TrimPrefix(text(s.(object)["serviceEndpoint"]), "did:key:")
			}
		}
		f.dids[did] = append(known, v)
	}
}

// entry reads an event with its tlog-proof and checks that it lies under the head.
func (f *file) entry(o object) {
	raw, proof, path := url(o["entry"]), strings.SplitN(string(url(o["proof"])), "\n\n", 3), []byte{}
	e := entry{raw: raw, event: parse(raw[65:]), id: idOf(raw[65:]), head: proof[1] + "\n", sigs: proof[2]}
	e.org, e.typ, e.data = text(e.event["org"]), text(e.event["type"]), e.event["data"].(object)
	p, h := strings.Split(proof[0], "\n"), strings.Split(proof[1], "\n")
	_, err := fmt.Sscan(strings.TrimPrefix(p[1], "index ")+" "+h[1], &e.index, &e.size)
	need(err == nil && p[0] == "c2sp.org/tlog-proof@v1" && p[1] == fmt.Sprint("index ", e.index) && proof[1] == fmt.Sprintf("%s/log\n%d\n%s", e.org, e.size, h[2]), "%s: its proof has not the form of one", e.id)
	for _, l := range p[2:] {
		need(len(std(l)) == sha256.Size, "%s: its proof has not the form of one", e.id)
		path = append(path, std(l)...)
	}
	need(raw[0] == 1 && bytes.Equal(climb(sum([]byte{0}, raw), e.index, e.size, path), std(h[2])), "%s %d does not lead to the head of size %d", e.org, e.index, e.size)
	f.entries = append(f.entries, e)
}

// judge checks, log by log, each event under the key of its place, and then the heads.
func (f *file) judge() {
	slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.place(), b.place()) })
	inForce, heads := map[string]int{}, map[string]string{} // number of a version; what a log signed at a size
	for i, e := range f.entries {
		need(i == 0 || f.entries[i-1].place() != e.place(), "%s stands twice", e.place())
		if opens := e.typ == "log.opened"; opens || e.typ == "key.rotated" {
			n := slices.IndexFunc(f.dids[e.org], func(v version) bool { return v.id == e.data["did_version"] })
			need(n >= 0 && (opens && e.index == 0 || !opens && n > 0 && n == inForce[e.org]), "%s %d %s: a version out of turn", e.org, e.index, e.typ)
			f.dids[e.org][n].from, inForce[e.org] = e.index, n+1
		}
		need(signs(f.keys(e.org, e.index)[text(e.event["kid"])], pae(media+"event.v1+json", e.raw[65:]), e.raw[1:65]), "%s %d %s is not signed by a key of its place", e.org, e.index, e.typ)
	}
	for _, e := range f.entries {
		size := fmt.Sprint(e.org, " ", e.size)
		need(heads[size] == "" || heads[size] == e.head, "%s signed two heads of size %d", e.org, e.size)
		need(inForce[e.org] == len(f.dids[e.org]), "%s is pending: no key.rotated to its newest version is in the file", e.org)
		heads[size] = e.head
		f.signers(e)
	}
}

// signers checks each line of a head: of its log under a key that may sign the last index, of a witness under one it ever named.
func (f *file) signers(e entry) {
	seen := map[string]bool{}
	for l := range strings.Lines(e.sigs) {
		name, sig, _ := strings.Cut(strings.TrimPrefix(l, "— "), " ")
		b, alg, at, message, keys := std(strings.TrimSuffix(sig, "\n")), "\x01", 4, e.head, slices.Collect(maps.Values(f.keys(e.org, e.size-1)))
		if org, ok := strings.CutSuffix(name, "/witness"); ok && org != e.org {
			alg, at, message, keys = "\x04", 12, fmt.Sprintf("cosignature/v1\ntime %d\n%s", new(big.Int).SetBytes(b[4:12]), e.head), nil
			for _, v := range f.dids[org] {
				keys = append(keys, v.witness)
			}
		}
		need(l == "— "+name+" "+sig && strings.HasSuffix(l, "\n") && (at == 12 || name == e.org+"/log") && !seen[name] && slices.ContainsFunc(keys, func(k string) bool {
			return k != "" && bytes.Equal(b[:4], sum([]byte(name+"\n"+alg), bytes58(k, 34)[2:])[:4]) && signs(k, []byte(message), b[at:])
		}), "the head of %s of size %d has a false or unknown line by %s", e.org, e.size, name)
		seen[name] = true
	}
	need(seen[e.org+"/log"], "the head of %s of size %d is not signed by a key valid there", e.org, e.size)
}

// keys are those that may sign at an index of a log.
func (f *file) keys(org string, index uint64) (keys map[string]string) {
	for _, v := range f.dids[org] {
		if v.from <= index {
			keys = v.keys
		}
	}
	return keys
}

// find gives the first event of a type that is the one looked for, the zero entry for none.
func (f *file) find(typ string, is func(entry) bool) (found entry) {
	if i := slices.IndexFunc(f.entries, func(e entry) bool { return e.typ == typ && is(e) }); i >= 0 {
		found = f.entries[i]
	}
	return found
}

// envelope checks that every signature of an object is by another key that may sign it.
func (f *file) envelope(o object) {
	typ, b, keys := text(o["payloadType"]), std(o["payload"]), [][2]string{} // keys after the keyid they must have; "" for any: of several signatures it is a hint
	p, id, enough := parse(b), idOf(b), false
	switch what := strings.TrimSuffix(strings.TrimPrefix(typ, media), ".v1+json"); what {
	case "agent": // by itself, and by its organization where agent.issued stands
		own, e := p["key"].(object), f.find("agent.issued", func(e entry) bool { return e.org == p["org"] && e.data["id"] == id })
		need(e.data["agent"] == p["agent"] && e.data["name"] == p["name"] && e.data["serial"] == p["serial"], "agent object %s: no agent.issued in the file names it so", id)
		keys = append(keys, [2]string{text(own["kid"]), text(own["pub"])}, [2]string{text(p["kid"]), f.keys(e.org, e.index)[text(p["kid"])]})
		f.agents[text(p["agent"])+"#"+text(own["kid"])] = text(own["pub"])
	case "charter": // by members, with keys they had
		enough = len(f.charters) > 0 // of a later one its parent says how many
		need(fmt.Sprint(p["seq"]) == fmt.Sprint(len(f.charters)) && (!enough || p["prev"] == f.charters[len(f.charters)-1]), "charter %s is out of turn", id)
		for _, m := range list(p["members"]) {
			did, key, head := text(m.(object)["did"]), m.(object)["key"].(object), m.(object)["did_head"]
			kid, pub, v := text(key["kid"]), text(key["pub"]), f.dids[did]
			signed := f.find("charter.signed", func(e entry) bool { return e.org == did && e.data["body"] == id && f.keys(did, e.index)[kid] == pub })
			need(slices.ContainsFunc(v, func(v version) bool { return v.id == head && v.keys[kid] == pub }), "charter %s: no key of %s", id, did)
			need(v[len(v)-1].keys[kid] == pub || signed.raw != nil, "charter %s: the key of %s is retired, and nothing shows that it signed before", id, did)
			keys, f.members = append(keys, [2]string{"", pub}), append(f.members, did)
		}
		f.charters = append(f.charters, id)
	default: // by the agent it names
		signer := map[string]string{"permission": "lender", "revocation": "issuer", "readrequest": "borrower", "receipt": "signer"}[what]
		keys = append(keys, [2]string{text(p["kid"]), f.agents[text(p[signer])+"#"+text(p["kid"])]})
	}
	for _, s := range list(o["signatures"]) {
		n := slices.IndexFunc(keys, func(k [2]string) bool {
			return (k[0] == "" || k[0] == s.(object)["keyid"]) && signs(k[1], pae(typ, b), std(s.(object)["sig"]))
		})
		need(n >= 0, "%s %s: a signature nobody may give", typ, id)
		keys = slices.Delete(keys, n, n+1)
	}
	need(len(keys) == 0 || enough, "%s %s lacks %d signatures", typ, id, len(keys))
}

// row checks that an audit row lies under its audit.rows event.
func (f *file) row(o object) {
	var n, size uint64
	_, err := fmt.Sscan(fmt.Sprint(o["index"], " ", o["size"]), &n, &size)
	root := climb(sum([]byte{0}, url(o["row"])), n, size, url(o["path"]))
	need(err == nil && parse(url(o["row"])) != nil && f.find("audit.rows", func(e entry) bool { return e.id == o["event"] }).data["root"] == "z"+multihash(root), "row %d does not lead to the root of %s", n, o["event"])
}

// need ends the verification unless ok.
func need(ok bool, format string, a ...any) {
	if !ok {
		panic(fmt.Sprintf(format, a...))
	}
}

// parse reads one object that is its own canonical form (RFC 8785, of ASCII names and integers), so that no member stands twice.
func parse(raw []byte) (o object) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	need(d.Decode(&o) == nil && bytes.Equal(jcs(o), raw), "not a canonical JSON object: %.60q", raw)
	return o
}

func jcs(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	need(e.Encode(v) == nil, "no JSON")
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// base reads base64 in its one spelling.
func base(e *base64.Encoding, v any) []byte {
	b, err := e.DecodeString(text(v))
	need(err == nil && e.EncodeToString(b) == v, "%.40q is no base64 in its one spelling", v)
	return b
}

const digits, bigDigits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"

// text58 writes base58btc, bytes58 reads it as multibase of a size, in its one spelling.
func text58(b []byte) string {
	s := strings.Map(func(r rune) rune { return rune(digits[strings.IndexRune(bigDigits, r)]) }, new(big.Int).SetBytes(b).Text(58))
	return strings.Repeat("1", len(b)-len(bytes.TrimLeft(b, "\x00"))) + s
}

func bytes58(s string, size int) []byte {
	n, _ := new(big.Int).SetString(strings.Map(func(r rune) rune { return rune(bigDigits[strings.IndexRune(digits, r)]) }, s[1:]), 58)
	b := n.FillBytes(make([]byte, size))
	need(s == "z"+text58(b), "%.60q is not base58 of %d bytes", s, size)
	return b
}

const media = "application/vnd.trustnode."

func list(v any) []any          { l, _ := v.([]any); return l }
func text(v any) string         { s, _ := v.(string); return s }
func std(v any) []byte          { return base(base64.StdEncoding, v) }
func url(v any) []byte          { return base(base64.RawURLEncoding, v) }
func sum(b ...[]byte) []byte    { h := sha256.Sum256(bytes.Join(b, nil)); return h[:] }
func multihash(b []byte) string { return text58(append([]byte{0x12, 0x20}, b...)) }
func idOf(b []byte) string      { return "z" + multihash(sum(b)) }
func (e entry) place() string   { return fmt.Sprintf("%s %20d", e.org, e.index) }
func turn(o object) string {
	return fmt.Sprintf("%s %20v", o["payloadType"], parse(std(o["payload"]))["seq"])
} // agents first, charters by seq
func pae(t string, b []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(t), t, len(b), b)
}

// signs says whether an Ed25519 key in multibase signed a message; nobody's key signs nothing.
func signs(key string, message, sig []byte) bool {
	return strings.HasPrefix(key, "z6Mk") && len(sig) == 64 && ed25519.Verify(bytes58(key, 34)[2:], message, sig)
}

// rootOf is the root over leaf hashes, climb the one that an inclusion path leads to: RFC 6962, sections 2.1 and 2.1.1.
func rootOf(l [][]byte) []byte {
	if len(l) == 1 {
		return l[0]
	}
	k := 1 << (bits.Len(uint(len(l)-1)) - 1)
	return sum([]byte{1}, rootOf(l[:k]), rootOf(l[k:]))
}

func climb(h []byte, n, size uint64, path []byte) []byte {
	if size == 1 && n == 0 && len(path) == 0 {
		return h
	}
	rest, top, k := path[:len(path)-32], path[len(path)-32:], uint64(1)<<(bits.Len64(size-1)-1)
	if n < k {
		return sum([]byte{1}, climb(h, n, k, rest), top)
	}
	return sum([]byte{1}, top, climb(h, n-k, size-k, rest))
}
