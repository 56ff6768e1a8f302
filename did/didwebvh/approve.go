package didwebvh

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// Governing is the list that must approve line as the entry after h: the one in
// force at h, or where there is none the one that line itself names. The zero
// list says that nobody has to. The line is verified as Check does, but for how
// far its time is ahead of the clock, so the list is one the controller signed
// for. Refusals are *Error.
func Governing(h History, line []byte) (WitnessList, error) {
	_, list, err := h.candidate(line)
	return list, err
}

// endOfTime is after every versionTime that can be written.
var endOfTime = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)

// candidate is h with the line after it, its witnesses not yet asked, and the list that governs it.
func (h History) candidate(line []byte) (History, WitnessList, error) {
	next, err := h.grow([][]byte{line}, endOfTime)
	if err != nil {
		return History{}, WitnessList{}, err
	}
	return next, governing(h.last(), next.last()), nil
}

// SignWitness makes the proof of a witness for one version: eddsa-jcs-2022 over
// {"versionId":"…"}, as it stands in did-witness.json, in RFC 8785 form. Created
// is written in whole seconds. Whether the version deserves it, and whether
// another of its number was signed before, is the caller's to know: a signature
// made here cannot be taken back. Errors of the signer come back as they are; a
// text that is no versionId is an *Error with ReasonHash.
func SignWitness(ctx context.Context, s envelope.Signer, versionID string, created time.Time) ([]byte, error) {
	if _, _, err := parseVersionID(versionID); err != nil {
		return nil, err
	}
	if s.Public().Algorithm() != did.Ed25519 {
		return nil, fmt.Errorf("witness key: %w", did.ErrNotSigning)
	}
	p, err := prove(ctx, s, witnessSum(versionID), created)
	if err != nil {
		return nil, err
	}
	return p.Canonical()
}

// CheckWitnessProof verifies one proof, at most 4 KiB of JSON, for a version
// and answers which member of the list made it. Refusals are *Error:
// ReasonProof for what is no valid proof of this version, ReasonWitness for
// that of a stranger.
func CheckWitnessProof(list WitnessList, versionID string, proof []byte) (did.PublicKey, error) {
	p, err := readWitnessProof(proof)
	if err != nil {
		return did.PublicKey{}, err
	}
	if _, _, err := parseVersionID(versionID); err != nil {
		return did.PublicKey{}, err
	}
	i := slices.IndexFunc(list.Keys, func(k did.PublicKey) bool { return k.Multikey() == p.key })
	if i < 0 {
		return did.PublicKey{}, refuse(ReasonWitness, "%s is no witness of this entry", p.key)
	}
	if err := p.verify(list.Keys[i], witnessSum(versionID)); err != nil {
		return did.PublicKey{}, caused(ReasonProof, "proof by "+p.key+" for "+versionID, err)
	}
	return list.Keys[i], nil
}

func readWitnessProof(b []byte) (proof, error) {
	if len(b) > maxWitnessProof {
		return proof{}, refuse(ReasonTooLarge, "witness proof of %d bytes, at most %d", len(b), maxWitnessProof)
	}
	v, err := strictjson.Parse(b, maxDepth)
	if err != nil {
		return proof{}, caused(ReasonProof, "the witness proof is not JSON", err)
	}
	p, err := parseProof(v)
	if err != nil {
		return proof{}, caused(ReasonProof, "witness proof", err)
	}
	return p, nil
}

// Tally is how far the witnesses of an entry have approved it.
type Tally struct {
	By   []did.PublicKey // the witnesses whose proof is valid, each once, in the order of the list
	Need int             // how many there must be; 0: nobody witnesses this entry

	// Witness is the did-witness.json to publish before the entry: the newest
	// proof of every witness that the log with the entry needs, and of those that
	// the log without it needs, for whoever has read that one. nil until the
	// threshold is met, and where nobody ever witnessed.
	Witness []byte
}

// Met reports whether the entry may be published as far as its witnesses go.
func (t Tally) Met() bool { return len(t.By) >= t.Need }

// Proofs counts the proofs collected for line, a candidate for the entry after
// h. Proofs that are broken, repeated, for another version or by a stranger
// count for nothing and are no error, so that no one witness can hold up an
// entry; CheckWitnessProof says what is wrong with one. At most 64 are read: a
// list has 16 members. The line is verified as Governing does. Refusals are
// *Error.
func (h History) Proofs(line []byte, proofs [][]byte) (Tally, error) {
	next, list, err := h.candidate(line)
	if err != nil {
		return Tally{}, err
	}
	if len(proofs) > maxCollected {
		return Tally{}, refuse(ReasonTooLarge, "%d witness proofs, at most %d", len(proofs), maxCollected)
	}
	t := Tally{Need: list.Threshold}
	fresh := ballots{}
	for _, b := range proofs {
		k, err := CheckWitnessProof(list, next.Head().ID, b)
		if p, bad := readWitnessProof(b); err == nil && bad == nil && len(fresh[p.key]) == 0 {
			t.By = append(t.By, k)
			fresh.add(next.last(), p)
		}
	}
	slices.SortFunc(t.By, func(a, b did.PublicKey) int {
		return cmp.Compare(slices.Index(list.Keys, a), slices.Index(list.Keys, b))
	})
	if !t.Met() {
		return t, nil
	}
	t.Witness, err = next.provedWith(fresh)
	return t, err
}

// provedWith is the witness file of h that takes the proofs in beside those it holds.
func (h History) provedWith(fresh ballots) ([]byte, error) {
	if h.last().run == nil || len(fresh) == 0 {
		return h.witness, nil
	}
	held, err := h.parseWitness(h.witness)
	if err != nil {
		return nil, err
	}
	best, _, err := held.join(fresh).satisfy(h.last())
	if err != nil {
		return nil, err
	}
	all := proofsOf(best)
	// The log without its newest entry may have been read a moment ago, or lie in a cache: the file proves that one too,
	// as did:webvh 1.0, "The Witness Proofs File", allows.
	if before := h.Prefix(h.Len() - 1); before.Len() > 0 && before.last().run != nil {
		still, _, err := held.satisfy(before.last())
		if err != nil {
			return nil, err
		}
		all = append(all, proofsOf(still)...)
	}
	return writeWitness(all)
}

// Candidate is a member of a federation that may witness, and the key it does it with.
type Candidate struct {
	DID did.DID
	Key did.PublicKey
}

// maxDefault is how many members DefaultWitnesses takes.
const maxDefault = 5

// DefaultWitnesses is the list of witnesses a node proposes for the log of an
// SCID: of the candidates up to five, those with the lowest SHA-256 of SCID and
// DID, in that order, and half of them, rounded up, as the threshold, so that
// one dead peer of two blocks nothing. Every node picks the same from the same
// members. The log's own DID, keys that are not Ed25519, and a second candidate
// of one DID or key are left out; the zero list where none remains.
func DefaultWitnesses(scid string, candidates []Candidate) WitnessList {
	type ranked struct {
		Candidate
		rank [32]byte
	}
	var all []ranked
	for _, c := range candidates {
		if id, err := ParseIdentifier(c.DID); (err != nil || id.SCID != scid) && c.Key.Algorithm() == did.Ed25519 {
			all = append(all, ranked{c, sha256.Sum256([]byte(scid + c.DID.String()))})
		}
	}
	slices.SortFunc(all, func(x, y ranked) int {
		return cmp.Or(bytes.Compare(x.rank[:], y.rank[:]), cmp.Compare(x.Key.Multikey(), y.Key.Multikey()))
	})
	all = slices.CompactFunc(all, func(x, y ranked) bool { return x.DID == y.DID })
	var list WitnessList
	for _, c := range all {
		if len(list.Keys) < maxDefault && !slices.Contains(list.Keys, c.Key) {
			list.Keys = append(list.Keys, c.Key)
		}
	}
	list.Threshold = (len(list.Keys) + 1) / 2
	return list
}
