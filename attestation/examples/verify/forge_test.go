package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// claimed reads an entry line without judging it; the zero entry for another line.
func claimed(l []byte) entry {
	var f file
	if o := parse(l); o["entry"] != nil {
		f.entry(o)
		return f.entries[0]
	}
	return entry{}
}

// forged has whoever holds all keys sign heads over entries that are signed falsely, or by a
// key of another place: the trees are true, so that the signature alone is left to find it.
func (j *judges) forged(name string, lines content, about string, rnd *rand.Rand) {
	keys := goldenKeys()
	for i, l := range lines {
		e := claimed(l)
		if e.raw == nil {
			continue
		}
		if !bytes.Equal(jcs(resigned(parse(l), e, e.raw, keys)), l) {
			j.t.Errorf("%s: line %d is not signed again as it was", name, i+2)
		}
		raw := bytes.Clone(e.raw)
		raw[1+rnd.IntN(64)] ^= 1 << rnd.IntN(8)
		j.both(fmt.Sprintf("%s, a false signature in line %d", name, i+2), lines.with(i, resigned(parse(l), e, raw, keys)).file(about))
		for k := range keys {
			if k != text(e.event["kid"]) && rnd.IntN(8) == 0 {
				event := maps.Clone(e.event)
				event["kid"] = k
				body := jcs(event)
				sig := ed25519.Sign(keys[k], pae(media+"event.v1+json", body))
				j.agree(fmt.Sprintf("%s, line %d by another key", name, i+2), lines.with(i, resigned(parse(l), e, slices.Concat([]byte{1}, sig, body), keys)).file(about))
			}
		}
	}
}

// goldenKeys are those of the seeds of the golden files, by multikey.
func goldenKeys() map[string]ed25519.PrivateKey {
	keys := map[string]ed25519.PrivateKey{}
	for n := byte(1); n < 60; n++ {
		k, private := goldenKey(n)
		keys[k] = private
	}
	return keys
}

func goldenKey(seed byte) (multikey string, private ed25519.PrivateKey) {
	private = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	return "z" + text58(append([]byte{0xed, 1}, private.Public().(ed25519.PublicKey)...)), private
}

// controllers has those who hold the update keys write entries of DID logs anew, each false
// in one way alone.
func (j *judges) controllers(name string, lines content, about string) {
	keys := goldenKeys()
	other, private := goldenKey(99) // of nobody
	keys[other] = private
	for i, l := range lines {
		o := parse(l)
		if o["did_log"] == nil {
			continue
		}
		log := bytes.SplitAfter(url(text(o["did_log"])), []byte("\n"))
		log = log[:len(log)-1]
		for n := range log {
			last := strings.Split(text(o["did"]), ":")[2]
			if n > 0 {
				last = text(parse(bytes.TrimSuffix(log[n-1], []byte("\n")))["versionId"])
			}
			for what, change := range map[string]func(e map[string]any){
				"as it was":       func(e map[string]any) { rewrite(e, n+1, last, "", keys) },
				"of another time": func(e map[string]any) { e["versionTime"] = "2026-12-01T10:00:59Z"; rewrite(e, n+1, last, "", keys) },
				"of another parent": func(e map[string]any) {
					rewrite(e, n+1, "1-QmQmNiNvcrst2EVsKesiwXhRbArLw7xo1XYCq9BfKP6vm5dS", "", keys)
				},
				"by another key": func(e map[string]any) { rewrite(e, n+1, last, other, keys) },
				"for another key": func(e map[string]any) {
					e["parameters"].(object)["updateKeys"] = []any{other}
					rewrite(e, n+1, last, other, keys)
				},
			} {
				e := parse(bytes.TrimSuffix(log[n], []byte("\n")))
				change(e)
				c := slices.Clone(log)
				c[n] = append(jcs(e), '\n')
				if what == "as it was" {
					if !bytes.Equal(c[n], log[n]) {
						j.t.Errorf("%s: entry %d of line %d is not written again as it was", name, n+1, i+2)
					}
					continue
				}
				o["did_log"] = base64.RawURLEncoding.EncodeToString(bytes.Join(c, nil))
				j.both(fmt.Sprintf("%s, entry %d of line %d %s", name, n+1, i+2, what), lines.with(i, o).file(about))
			}
		}
	}
}

// rewrite gives an entry of a DID log its hash after last, and the proof of its signer or of
// another one.
func rewrite(e map[string]any, n int, last, signer string, keys map[string]ed25519.PrivateKey) {
	proof := list(e["proof"])[0].(map[string]any)
	delete(e, "proof")
	delete(proof, "proofValue")
	e["versionId"] = last
	e["versionId"] = fmt.Sprintf("%d-%s", n, multihash(sum(jcs(e))))
	if signer == "" {
		_, signer, _ = strings.Cut(text(proof["verificationMethod"]), "#")
	}
	proof["verificationMethod"] = "did:key:" + signer + "#" + signer
	proof["proofValue"] = "z" + text58(ed25519.Sign(keys[signer], append(sum(jcs(proof)), sum(jcs(e))...)))
	e["proof"] = []any{proof}
}

// resigned puts other bytes into the place of an entry, and has the head over them signed
// by whoever signed the old one.
func resigned(o map[string]any, e entry, raw []byte, keys map[string]ed25519.PrivateKey) map[string]any {
	proof := string(url(text(o["proof"])))
	var path []byte
	for _, l := range strings.Split(proof[:strings.Index(proof, "\n\n")], "\n")[2:] {
		path = append(path, std(l)...)
	}
	root := climb(sum([]byte{0}, raw), e.index, e.size, path)
	head := fmt.Sprintf("%s/log\n%d\n%s", e.org, e.size, base64.StdEncoding.EncodeToString(root))
	lines := ""
	for l := range strings.Lines(e.sigs) {
		name, sig, _ := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(l, "\n"), "— "), " ")
		b, alg, message := std(sig), "\x01", head+"\n"
		if strings.HasSuffix(name, "/witness") {
			alg, message = "\x04", fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(b[4:]), message)
		}
		for k, private := range keys {
			if bytes.Equal(b[:4], sum([]byte(name+"\n"+alg), bytes58(k, 34)[2:])[:4]) {
				b = append(b[:len(b)-64], ed25519.Sign(private, []byte(message))...)
			}
		}
		lines += "— " + name + " " + base64.StdEncoding.EncodeToString(b) + "\n"
	}
	o["entry"] = base64.RawURLEncoding.EncodeToString(raw)
	o["proof"] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(proof, e.head+"\n"+e.sigs, head+"\n\n"+lines, 1)))
	return o
}
