package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// version is one of a DID; of a log, it is in force from an index on.
type version struct {
	id, witness string
	next        []any
	keys        map[string]string // of assertions, by fragment
	n           int
	from        uint64
}

// didLog checks did:webvh 1.0 with pre-rotation, without witnesses, moves and ends.
func (f *file) didLog(o map[string]any) {
	did := text(o, "did")
	need(fmt.Sprint(o["from"]) == fmt.Sprint(len(f.dids[did])+1), "%s goes on at another version", did)
	for line := range bytes.Lines(url(text(o, "did_log"))) {
		e, known, scid := parse(bytes.TrimSuffix(line, []byte("\n"))), f.dids[did], strings.Split(did, ":")[2]
		state, proof, update := e["state"], list(e, "proof"), list(e, "parameters", "updateKeys")
		v := version{n: len(known) + 1, id: text(e, "versionId"), next: list(e, "parameters", "nextKeyHashes"), keys: map[string]string{}}
		delete(e, "proof")
		unsigned := sum(jcs(e))
		if e["versionId"] = "{SCID}"; v.n == 1 {
			need(hashText(sum(bytes.ReplaceAll(jcs(e), []byte(scid), []byte("{SCID}")))) == scid, "%s has another SCID", did)
			e["versionId"] = scid
		} else {
			e["versionId"] = known[v.n-2].id
			for _, k := range update {
				need(slices.Contains(known[v.n-2].next, any(hashText(sum([]byte(k.(string)))))), "%s: an update key nobody announced", v.id)
			}
		}
		need(v.id == fmt.Sprintf("%d-%s", v.n, hashText(sum(jcs(e)))), "%s is not the hash of its entry", v.id)
		need(at(state, "id") == did && at(e, "parameters", "witness") == nil && at(e, "parameters", "deactivated") == nil && len(proof) == 1, "%s: what is not judged here", v.id)
		sig, key := bytes58(text(proof[0], "proofValue"), 64), strings.TrimPrefix(text(proof[0], "verificationMethod"), "did:key:")
		key = key[strings.Index(key, "#")+1:]
		delete(proof[0].(map[string]any), "proofValue")
		need(slices.Contains(update, any(key)) && text(proof[0], "cryptosuite") == "eddsa-jcs-2022" && signed(key, append(sum(jcs(proof[0])), unsigned...), sig), "%s: a false proof", v.id)
		for _, m := range list(state, "verificationMethod") {
			if slices.Contains(list(state, "assertionMethod"), at(m, "id")) {
				v.keys[strings.TrimPrefix(text(m, "id"), did+"#")] = text(m, "publicKeyMultibase")
			}
		}
		for _, s := range list(state, "service") {
			if text(s, "id") == did+"#witness" {
				v.witness = strings.TrimPrefix(text(s, "serviceEndpoint"), "did:key:")
			}
		}
		f.dids[did] = append(known, v)
	}
}
