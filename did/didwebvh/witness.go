package didwebvh

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// run is a stretch of entries that one list had to witness, and the runs before
// it. A proof counts for its own version and all before it, so the last entry
// of a run asks the most.
type run struct {
	list     WitnessList
	from, to int // numbers of its first and last entry
	before   *run
}

// governing is the list that must witness n. The list in force before an entry
// governs it, so nobody can shed its witnesses without them; a first list
// governs the entry that names it: did:webvh 1.0, "Witness Lists".
func governing(prev, n *node) WitnessList {
	if prev.Parameters.Witness.None() {
		return n.Parameters.Witness
	}
	return prev.Parameters.Witness
}

// govern adds the entry n to the runs.
func govern(prev, n *node) *run {
	list := governing(prev, n)
	if list.None() {
		return prev.run
	}
	if r := prev.run; r != nil && r.to == prev.Number && r.list.equal(list) {
		return &run{list, r.from, n.Number, r.before}
	}
	return &run{list, n.Number, n.Number, prev.run}
}

func (w WitnessList) equal(o WitnessList) bool {
	return w.Threshold == o.Threshold && slices.Equal(w.Keys, o.Keys)
}

// approval is one witness proof for one version of the log.
type approval struct {
	version        *node
	proof          proof
	checked, valid bool // of the signature, once it was verified
}

// number is the version's, 0 for no approval.
func (a *approval) number() int {
	if a == nil {
		return 0
	}
	return a.version.Number
}

// ballots holds, by witness key, its proofs, the newest version first.
type ballots map[string][]*approval

// witnessed checks all runs of h with the file that came, then with the file h
// holds beside it, and answers the file to keep.
func (h History) witnessed(file []byte) ([]byte, error) {
	if h.last().run == nil {
		return nil, nil
	}
	came, err := h.parseWitness(file)
	if err != nil {
		return nil, err
	}
	if _, _, err = came.satisfy(h.last()); err == nil {
		return file, nil
	}
	held, heldErr := h.parseWitness(h.witness)
	if heldErr != nil || len(held) == 0 {
		return nil, err
	}
	best, _, err := came.join(held).satisfy(h.last())
	if err != nil {
		return nil, err
	}
	return writeWitness(proofsOf(best))
}

// provable is the longest part of h, from its first entry, that the file proves.
func (h History) provable(file []byte) History {
	came, err := h.parseWitness(file)
	if err != nil {
		came = nil
	}
	for h.Len() > 0 && h.last().run != nil {
		_, until, err := came.satisfy(h.last())
		if err == nil {
			h.witness = file
			return h
		}
		h = h.Prefix(until)
	}
	return h
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
	if !ok {
		return
	}
	for _, el := range proofs.Elements() {
		if p, err := parseProof(el); err == nil {
			b.add(h.nodes[v.Number-1], p)
		}
	}
}

func (b ballots) add(v *node, p proof) { b[p.key] = append(b[p.key], &approval{version: v, proof: p}) }

func (b ballots) sort() {
	for _, list := range b {
		slices.SortStableFunc(list, func(x, y *approval) int { return cmp.Compare(y.number(), x.number()) })
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

// satisfy answers the newest valid proof of each witness, if every run up to
// the entry last has its threshold. Else it answers how many entries, from the
// first, may have theirs: no more than that many can be proved by b.
func (b ballots) satisfy(last *node) (best map[did.PublicKey]*approval, until int, err error) {
	best, until = map[did.PublicKey]*approval{}, last.Number
	for r := last.run; r != nil; r = r.before {
		reach := make([]int, len(r.list.Keys))
		for i, k := range r.list.Keys {
			if _, known := best[k]; !known {
				best[k] = b.newest(k, last.Number)
			}
			reach[i] = best[k].number()
		}
		slices.SortFunc(reach, func(x, y int) int { return cmp.Compare(y, x) })
		if met := reach[r.list.Threshold-1]; met < r.to {
			until, err = max(met, r.from-1), short(r, reach)
		}
	}
	return best, until, err
}

// short refuses a run whose proofs reach these entries, the newest first.
func short(r *run, reach []int) error {
	count := 0
	for count < len(reach) && reach[count] >= r.to {
		count++
	}
	return at(r.to, refuse(ReasonWitness, "%d of %d witness proofs", count, r.list.Threshold))
}

// newest is the valid proof of k for the newest version up to a number, nil if there is none.
func (b ballots) newest(k did.PublicKey, number int) *approval {
	for _, a := range b[k.Multikey()] {
		if a.number() <= number && a.verify(k) {
			return a
		}
	}
	return nil
}

func (a *approval) verify(k did.PublicKey) bool {
	if !a.checked {
		a.checked, a.valid = true, a.proof.verify(k, witnessSum(a.version.ID)) == nil
	}
	return a.valid
}

// witnessSum hashes what a witness signs: {"versionId":"…"} in its RFC 8785 form.
func witnessSum(versionID string) [32]byte {
	return sha256.Sum256([]byte(`{"versionId":"` + versionID + `"}`))
}

// proofsOf are the proofs that satisfy found.
func proofsOf(best map[did.PublicKey]*approval) []*approval {
	return slices.DeleteFunc(slices.Collect(maps.Values(best)), func(a *approval) bool { return a == nil })
}

// writeWitness makes a witness file of proofs, each of which may be there twice; it is at most as long as one that is
// read.
func writeWitness(all []*approval) ([]byte, error) {
	slices.SortFunc(all, func(x, y *approval) int {
		return cmp.Or(cmp.Compare(x.number(), y.number()), cmp.Compare(x.proof.key, y.proof.key))
	})
	all = slices.Compact(all)
	var items []strictjson.Value
	for len(all) > 0 {
		n := slices.IndexFunc(all, func(a *approval) bool { return a.version != all[0].version })
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
	file, err := strictjson.ArrayOf(items...).Canonical()
	if err == nil && len(file) > maxWitness {
		return nil, refuse(ReasonTooLarge, "witness file of %d bytes, at most %d", len(file), maxWitness)
	}
	return file, err
}

// Idle counts the proofs of a witness file, and those of them that count for no version of h: they do not verify, are by
// no witness that h ever named, or name no version of it. A log is none the worse for them, since a file may be pruned
// or run ahead of its log (did:webvh 1.0, "The Witness Proofs File"), but nobody vouches for their bytes. A file that is
// not JSON has none.
func (h History) Idle(file []byte) (idle, all int) {
	v, err := strictjson.Parse(file, maxDepth)
	if err != nil || len(file) > maxWitness {
		return 0, 0
	}
	for _, item := range v.Elements() {
		proofs, _ := item.Get("proof")
		all += len(proofs.Elements())
	}
	b, err := h.parseWitness(file)
	if err != nil {
		return all, all
	}
	good := 0
	for _, k := range h.everWitness() {
		for _, a := range b[k.Multikey()] {
			if a.verify(k) {
				good++
			}
		}
	}
	return all - good, all
}

// everWitness are the keys that ever governed an entry of h.
func (h History) everWitness() []did.PublicKey {
	seen := map[did.PublicKey]bool{}
	for r := h.last().run; r != nil; r = r.before {
		for _, k := range r.list.Keys {
			seen[k] = true
		}
	}
	return slices.Collect(maps.Keys(seen))
}
