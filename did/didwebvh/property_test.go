package didwebvh_test

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// attacks are entries a thief or a dishonest controller could sign, none of which may be accepted.
var attacks = map[string]func(*forge){
	"the spent key signs":             func(f *forge) { f.signers = []seed{u1} },
	"a key not committed to is shown": func(f *forge) { f.swap(u2, u3); f.signers = []seed{u3} },
	"update keys are left out":        func(f *forge) { f.parameters = `{"nextKeyHashes":[]}` },
	"hashes are left out":             func(f *forge) { f.parameters = `{"updateKeys":["` + u2.Public().Multikey() + `"]}` },
	"a stranger signs too":            func(f *forge) { f.signers = []seed{u2, w} },
	"another entry is before it":      func(f *forge) { f.before = "1-" + goldenSCID },
	"a number is skipped":             func(f *forge) { f.number = 3 },
	"the method is a later one": func(f *forge) {
		f.parameters = strings.Replace(f.parameters, "{", `{"method":"did:webvh:1.1",`, 1)
	},
	"a list nobody of which has signed": func(f *forge) {
		f.parameters = strings.Replace(f.parameters, "{", `{"witness":{"threshold":1,"witnesses":[{"id":"did:key:`+w.Public().Multikey()+`"}]},`, 1)
	},
	"the DID moves without a word": func(f *forge) { f.state = strings.ReplaceAll(f.state, "acme.example", "evil.example") },
	"the purpose is another": func(f *forge) {
		f.proof = func(v strictjson.Value) strictjson.Value {
			return v.With("proofPurpose", strictjson.StringOf("authentication"))
		}
	},
}

// swap shows another key.
func (f *forge) swap(old, next seed) {
	f.parameters = strings.Replace(f.parameters, old.Public().Multikey(), next.Public().Multikey(), 1)
}

var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// TestTimesTurnNoRefusalIntoAnAcceptance is I-6: whatever times an entry, its
// proofs and the reader claim, what is refused for another reason stays refused,
// and a time that was signed cannot be changed.
func TestTimesTurnNoRefusalIntoAnAcceptance(t *testing.T) {
	h := create(t, acme())
	names := make([]string, 0, len(attacks))
	for name := range attacks {
		names = append(names, name)
	}
	slices.Sort(names)
	good, witness := golden(t)
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 200*365*86400).Draw(t, "seconds"), 0).UTC()
	})
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "attack")
		f := second(h)
		attacks[name](&f)
		f.time = instant.Draw(rt, "versionTime").Format(time.RFC3339)
		f.created = instant.Draw(rt, "created").Format(time.RFC3339)
		now := instant.Draw(rt, "now")
		if got, err := h.Extend(f.line(t), nil, now); err == nil {
			rt.Fatalf("%s, at %s, read at %s: accepted as %s", name, f.time, now, got.Head().ID)
		}
		log, file := edited(rt, good.Log(), instant), edited(rt, witness, instant)
		if bytes.Equal(log, good.Log()) && bytes.Equal(file, witness) {
			return
		}
		if _, err := didwebvh.Verify(log, file, now); err == nil {
			rt.Fatalf("changed times verify, read at %s", now)
		}
	})
}

// edited is text with one of its time stamps, or none, changed.
func edited(rt *rapid.T, text []byte, instant *rapid.Generator[time.Time]) []byte {
	all := stamp.FindAllIndex(text, -1)
	i := rapid.IntRange(-1, len(all)-1).Draw(rt, "stamp")
	if i < 0 {
		return text
	}
	out := bytes.Clone(text)
	copy(out[all[i][0]:], instant.Draw(rt, "time").Format(time.RFC3339))
	return out
}

// TestRetiredKeysStayRetired is the part of I-8 a DID log decides: no entry made
// here lists a key that any entry before it knew, in whatever role, so the
// versions that list a key follow one another.
func TestRetiredKeysStayRetired(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := acme()
		r.Governance = gov.Public()
		h := create(t, r)
		known := []seed{u1, u2, rec, i1, gov, w0}
		update := u2
		key := rapid.Custom(func(rt *rapid.T) seed {
			if rapid.Bool().Draw(rt, "old") {
				return rapid.SampledFrom(known).Draw(rt, "known")
			}
			return seed(rapid.IntRange(0x80, 0xff).Draw(rt, "key"))
		})
		for range rapid.IntRange(1, 8).Draw(rt, "entries") {
			next := key.Draw(rt, "next")
			used := []seed{next}
			req := didwebvh.RotateRequest{Update: update, Next: next.Public(), At: day2}
			for _, role := range []*did.PublicKey{&req.Issuer, &req.Governance, &req.WitnessKey} {
				if rapid.Bool().Draw(rt, "replace") {
					k := key.Draw(rt, "role")
					*role, used = k.Public(), append(used, k)
				}
			}
			fresh := true
			for i, k := range used {
				fresh = fresh && !slices.Contains(known, k) && !slices.Contains(used[:i], k)
			}
			line, err := didwebvh.Rotate(t.Context(), h, req)
			if (err == nil) != fresh {
				rt.Fatalf("keys %v after %v: %v", used, known, err)
			}
			if err == nil {
				h, known, update = extended(t, h, line, nil), append(known, used...), next
			}
		}
		contiguous(rt, h)
	})
}

// contiguous checks that no key left the documents of h and came back.
func contiguous(rt *rapid.T, h didwebvh.History) {
	last := map[did.PublicKey]int{}
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		r := didwebvh.RolesOf(v.Document)
		for _, k := range []did.PublicKey{r.Issuer, r.Governance, r.Witness} {
			if k.IsZero() {
				rt.Fatalf("entry %d lacks a key: %v", n, r)
			}
			if before, seen := last[k]; seen && before != n-1 {
				rt.Fatalf("key %s of entry %d is back in entry %d", k.Multikey(), before, n)
			}
			last[k] = n
		}
	}
}

// TestNothingExtendsADeactivatedLog is I-16.
func TestNothingExtendsADeactivatedLog(t *testing.T) {
	one := create(t, acme())
	line := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), At: day2})
	long := deactivated(t, extended(t, one, line, nil), u3, day2)
	ends := []didwebvh.History{deactivated(t, one, u2, day2), deactivated(t, one, rec, day2), long}
	signers := []seed{u1, u2, u3, rec, i1, w}
	rapid.Check(t, func(rt *rapid.T) {
		h := rapid.SampledFrom(ends).Draw(rt, "log")
		signer := rapid.SampledFrom(signers).Draw(rt, "signer")
		f := forge{
			before: h.Head().ID, number: h.Len() + 1, signers: []seed{signer}, state: string(h.Head().Document.Raw()),
			time: day2.Add(time.Duration(rapid.IntRange(1, 3600).Draw(rt, "later")) * time.Second).Format(time.RFC3339),
		}
		var members []string
		for _, m := range []string{
			`"deactivated":false`, `"deactivated":true`, `"nextKeyHashes":[]`, `"portable":false`,
			`"updateKeys":["` + signer.Public().Multikey() + `"]`, `"nextKeyHashes":["` + didwebvh.KeyHash(u3.Public()) + `"]`,
		} {
			name, _, _ := strings.Cut(m, ":")
			if rapid.Bool().Draw(rt, m) && !slices.ContainsFunc(members, func(s string) bool { return strings.HasPrefix(s, name) }) {
				members = append(members, m)
			}
		}
		f.parameters = "{" + strings.Join(members, ",") + "}"
		if _, err := h.Extend(f.line(t), nil, day2.Add(time.Hour)); didwebvh.ReasonOf(err) != didwebvh.ReasonDeactivated {
			rt.Fatalf("%s by %v: %v", f.parameters, signer, err)
		}
		for what, try := range after(h, signer, seed(0x99)) {
			if _, err := try(t.Context()); didwebvh.ReasonOf(err) != didwebvh.ReasonDeactivated {
				rt.Fatalf("%s by %v: %v", what, signer, err)
			}
		}
	})
}

// TestAThresholdIsMetByDistinctKeys is I-17.
func TestAThresholdIsMetByDistinctKeys(t *testing.T) {
	one := create(t, acme())
	members := []seed{0x71, 0x72, 0x73, 0x74, 0x75, 0x76}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "members")
		threshold := rapid.IntRange(1, n).Draw(rt, "threshold")
		line := rotate(t, one, didwebvh.RotateRequest{Update: u2, Next: u3.Public(), Witness: list(threshold, members[:n]...), At: day2})
		votes := rapid.SliceOfN(rapid.SampledFrom(members), 0, 12).Draw(rt, "votes") // repeats, and strangers from n on
		distinct := map[seed]bool{}
		for _, v := range votes {
			if slices.Contains(members[:n], v) {
				distinct[v] = true
			}
		}
		got, err := one.Proofs(line, approve(t, line, votes...))
		if err != nil || len(got.By) != len(distinct) || got.Need != threshold || got.Met() != (len(distinct) >= threshold) {
			rt.Fatalf("%d of %d by %v: got %v, met %v, %v", threshold, n, votes, got.By, got.Met(), err)
		}
		all, err := one.Extend(line, witnessed(t, day2, didwebvh.VersionID(line), votes...), day2)
		if (err == nil) != got.Met() {
			rt.Fatalf("%d of %d by %v: met %v, and the file they make: %v", threshold, n, votes, got.Met(), err)
		}
		pruned, err := one.Extend(line, got.Witness, day2)
		if (err == nil) != got.Met() || err == nil && pruned.Head().ID != all.Head().ID {
			rt.Fatalf("%d of %d by %v: met %v, and the pruned file: %v", threshold, n, votes, got.Met(), err)
		}
	})
}

// TestForeignBytesPanicNothing is I-11: pieces of real logs and witness files,
// cut and put together anew, are refused with a reason or verify, and never more.
func TestForeignBytesPanicNothing(t *testing.T) {
	var pieces [][]byte
	for _, v := range suite(t) {
		pieces = append(pieces, bytes.SplitAfter(v.log, []byte("\n"))...)
		pieces = append(pieces, v.witness)
	}
	good, witness := golden(t)
	one := good.Prefix(1)
	piece := rapid.Custom(func(rt *rapid.T) []byte {
		p := rapid.SampledFrom(pieces).Draw(rt, "piece")
		from := rapid.IntRange(0, len(p)).Draw(rt, "from")
		return p[from:rapid.IntRange(from, len(p)).Draw(rt, "to")]
	})
	rapid.Check(t, func(rt *rapid.T) {
		b := bytes.Join(rapid.SliceOfN(rapid.OneOf(piece, rapid.SampledFrom(pieces), rapid.SliceOfN(rapid.Byte(), 0, 64)), 0, 12).Draw(rt, "bytes"), nil)
		b = b[:min(len(b), 64<<10)]
		_, whole := didwebvh.Verify(b, b, present)
		_, part := didwebvh.VerifyPart(b, witness, present)
		_, line := one.Check(b, present)
		_, file := one.Extend(good.Head().Line, b, present)
		_, proof := didwebvh.CheckWitnessProof(*list(1, w), goldenNext, b)
		_, _, compared := good.Compare(b, b, present)
		_, proofs := one.Proofs(b, [][]byte{b})
		for i, err := range []error{whole, part, line, file, proof, compared, proofs} {
			var e *didwebvh.Error
			if err != nil && (!errors.As(err, &e) || e.Reason == 0) {
				rt.Fatalf("%d: refused without a reason: %v", i, err)
			}
		}
	})
}
