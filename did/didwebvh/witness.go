package didwebvh

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// run is a stretch of entries that one list had to witness. A proof counts for
// its own version and all before it, so the last entry of a run asks the most.
type run struct {
	list WitnessList
	to   int // number of the last entry of the run
}

// govern adds the entry n to the runs. The list in force before an entry
// governs it, so nobody can shed its witnesses without them; a first list
// governs the entry that names it: did:webvh 1.0, "Witness Lists".
func govern(prev, n *node) []run {
	list := prev.Parameters.Witness
	if list.None() {
		list = n.Parameters.Witness
	}
	if list.None() {
		return prev.runs
	}
	runs := slices.Clone(prev.runs)
	if last := len(runs) - 1; last >= 0 && runs[last].to == prev.Number && runs[last].list.equal(list) {
		runs[last].to = n.Number
		return runs
	}
	return append(runs, run{list, n.Number})
}

func (w WitnessList) equal(o WitnessList) bool {
	return w.Threshold == o.Threshold && slices.Equal(w.Keys, o.Keys)
}

// approval is one witness proof for one version of the log.
type approval struct {
	version *node
	proof   proof
}

// ballots holds, by witness key, its proofs, the newest version first.
type ballots map[string][]approval

// witnessed checks all runs of h with the file that came, then with the file h
// holds beside it, and answers the file to keep.
func (h History) witnessed(file []byte) ([]byte, error) {
	runs := h.last().runs
	if len(runs) == 0 {
		return nil, nil
	}
	came, err := h.parseWitness(file)
	if err != nil {
		return nil, err
	}
	if _, err = came.satisfy(runs); err == nil {
		return file, nil
	}
	held, heldErr := h.parseWitness(h.witness)
	if heldErr != nil || len(held) == 0 {
		return nil, err
	}
	best, err := came.join(held).satisfy(runs)
	if err != nil {
		return nil, err
	}
	return writeWitness(best)
}

// parseWitness reads the proofs for versions of h. Proofs for versions that
// are not in the log, and proofs of another form, are left aside:
// did:webvh 1.0, "Verifying Witness Proofs During Resolution".
func (h History) parseWitness(file []byte) (ballots, error) {
	if len(file) == 0 {
		return nil, nil
	}
	if len(file) > maxWitness {
		return nil, refuse(ReasonTooLarge, "witness file of %d bytes, at most %d", len(file), maxWitness)
	}
	v, err := strictjson.Parse(file, maxDepth)
	if err != nil {
		return nil, caused(ReasonWitness, "the witness file is not JSON", err)
	}
	if v.Kind() != strictjson.Array {
		return nil, refuse(ReasonWitness, "the witness file is not an array")
	}
	b := ballots{}
	for _, item := range v.Elements() {
		h.collect(b, item)
	}
	b.sort()
	return b, nil
}

func (h History) collect(b ballots, item strictjson.Value) {
	id, _ := item.Get("versionId")
	s, _ := id.Text()
	v, ok := h.ByID(s)
	proofs, _ := item.Get("proof")
	if !ok || len(proofs.Elements()) > maxWitnesses {
		return
	}
	for _, el := range proofs.Elements() {
		if p, err := parseProof(el); err == nil {
			b[p.key] = append(b[p.key], approval{h.nodes[v.Number-1], p})
		}
	}
}

func (b ballots) sort() {
	for _, list := range b {
		slices.SortStableFunc(list, func(x, y approval) int { return cmp.Compare(y.version.Number, x.version.Number) })
	}
}

func (b ballots) join(o ballots) ballots {
	all := ballots{}
	for _, from := range []ballots{b, o} {
		for key, list := range from {
			all[key] = append(all[key], list...)
		}
	}
	all.sort()
	return all
}

// satisfy answers the newest valid proof of each witness, if every run has its threshold.
func (b ballots) satisfy(runs []run) ([]approval, error) {
	best := map[did.PublicKey]approval{}
	for _, r := range runs {
		count := 0
		for _, k := range r.list.Keys {
			if _, known := best[k]; !known {
				best[k] = b.newest(k)
			}
			if v := best[k].version; v != nil && v.Number >= r.to {
				count++
			}
		}
		if count < r.list.Threshold {
			return nil, &Error{Number: r.to, Reason: ReasonWitness,
				What: refuse(0, "%d of %d witness proofs", count, r.list.Threshold).What}
		}
	}
	var out []approval
	for _, a := range best {
		if a.version != nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// newest is the valid proof of k for the newest version, or nothing.
func (b ballots) newest(k did.PublicKey) approval {
	for _, a := range b[k.Multikey()] {
		if a.proof.verify(k, witnessSum(a.version.ID)) == nil {
			return a
		}
	}
	return approval{}
}

// witnessSum hashes what a witness signs: {"versionId":"…"} in its RFC 8785 form.
func witnessSum(versionID string) [32]byte {
	return sha256.Sum256([]byte(`{"versionId":"` + versionID + `"}`))
}

// writeWitness makes a witness file of one proof per witness.
func writeWitness(all []approval) ([]byte, error) {
	slices.SortFunc(all, func(x, y approval) int {
		return cmp.Or(cmp.Compare(x.version.Number, y.version.Number), cmp.Compare(x.proof.key, y.proof.key))
	})
	var items []strictjson.Value
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(a approval) bool { return a.version != all[0].version })
		if n < 0 {
			n = len(all)
		}
		var proofs []strictjson.Value
		for _, a := range all[:n] {
			proofs = append(proofs, a.proof.raw)
		}
		items = append(items, strictjson.ObjectOf(
			member("versionId", strictjson.StringOf(all[0].version.ID)), member("proof", strictjson.ArrayOf(proofs...))))
		all = all[n:]
	}
	return strictjson.ArrayOf(items...).Canonical()
}
