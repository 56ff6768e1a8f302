package keyring_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/strictjson"
)

// wild is a log entry as the holder of update keys could write it, by the
// standard and not by this project's rules for its own DIDs.
type wild struct {
	parameters string // JSON; {SCID} stands for the SCID
	state      string // JSON; the same
	by         seed
	at         time.Time // versionTime; a second after the entry before, where zero
}

func digest(t testing.TB, text string) (sum [32]byte, canonical []byte) {
	t.Helper()
	b, err := strictjson.Canonicalize([]byte(text), 32)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b), b
}

func hashText(sum [32]byte) string { return did.Base58(append([]byte{0x12, 0x20}, sum[:]...)) }

// after is h and the entry, verified.
func (e wild) after(t testing.TB, h didwebvh.History) didwebvh.History {
	t.Helper()
	next, err := h.Extend(e.line(t, h), nil, seen)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// line is the entry after h as its author would publish it.
func (e wild) line(t testing.TB, h didwebvh.History) []byte {
	t.Helper()
	before, scid := h.Head().ID, h.SCID()
	if e.at.IsZero() {
		e.at = day1
		if h.Len() > 0 {
			e.at = h.Head().Time.Add(time.Second)
		}
	}
	body := func(id string) string {
		return fmt.Sprintf(`{"parameters":%s,"state":%s,"versionId":%q,"versionTime":%q}`, e.parameters, e.state, id, e.at.Format(time.RFC3339))
	}
	if h.Len() == 0 {
		sum, _ := digest(t, body("{SCID}"))
		scid = hashText(sum)
		before = scid
	}
	e.parameters, e.state = strings.ReplaceAll(e.parameters, "{SCID}", scid), strings.ReplaceAll(e.state, "{SCID}", scid)
	sum, _ := digest(t, body(before))
	_, signed := digest(t, body(fmt.Sprintf("%d-%s", h.Len()+1, hashText(sum))))
	v, err := strictjson.Parse(signed, 32)
	if err != nil {
		t.Fatal(err)
	}
	line, err := v.With("proof", strictjson.ArrayOf(e.proof(t, signed))).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func (e wild) proof(t testing.TB, document []byte) strictjson.Value {
	t.Helper()
	config := fmt.Sprintf(`{"created":"2026-12-01T10:00:00Z","cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",`+
		`"type":"DataIntegrityProof","verificationMethod":"did:key:%[1]s#%[1]s"}`, e.by.kid())
	a, b := sha256.Sum256([]byte(config)), sha256.Sum256(document)
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat(string([]byte{byte(e.by)}), ed25519.SeedSize)))
	v, err := strictjson.Parse([]byte(config), 2)
	if err != nil {
		t.Fatal(err)
	}
	return v.With("proofValue", strictjson.StringOf(did.Multibase(ed25519.Sign(key, append(a[:], b[:]...)))))
}

// document is a DID document with keys under relationships.
func document(id string, assertion, authentication []seed, more string) string {
	var methods, a, b []string
	ref := func(s seed) string { return fmt.Sprintf("%q", id+"#"+s.kid()) }
	for _, s := range append(assertion[:len(assertion):len(assertion)], authentication...) {
		methods = append(methods, fmt.Sprintf(`{"id":%s,"type":"Multikey","controller":%q,"publicKeyMultibase":%q}`, ref(s), id, s.kid()))
	}
	for _, s := range assertion {
		a = append(a, ref(s))
	}
	for _, s := range authentication {
		b = append(b, ref(s))
	}
	return fmt.Sprintf(`{"@context":["https://www.w3.org/ns/did/v1"],"id":%q,"verificationMethod":[%s],"assertionMethod":[%s],"authentication":[%s]%s}`,
		id, strings.Join(methods, ","), strings.Join(a, ","), strings.Join(b, ","), more)
}

// plain is the first entry of a log without pre-rotation, as other organizations may have.
func plain(t testing.TB, update seed, assertion, authentication []seed) didwebvh.History {
	t.Helper()
	return wild{
		parameters: fmt.Sprintf(`{"method":"did:webvh:1.0","scid":"{SCID}","updateKeys":[%q]}`, update.kid()),
		state:      document("did:webvh:{SCID}:plain.example", assertion, authentication, ""), by: update,
	}.after(t, didwebvh.History{})
}

// moved is h after its document moved to another domain.
func moved(t testing.TB, h didwebvh.History, update, next seed, domain string) didwebvh.History {
	t.Helper()
	old := h.DID().String()
	name := "did:webvh:" + h.SCID() + ":" + domain
	state := strings.ReplaceAll(string(h.Head().Document.Raw()), old, name)
	v, err := strictjson.Parse([]byte(state), 32)
	if err != nil {
		t.Fatal(err)
	}
	return wild{
		parameters: fmt.Sprintf(`{"updateKeys":[%q],"nextKeyHashes":[%q]}`, update.kid(), didwebvh.KeyHash(next.Public())),
		state:      string(v.With("alsoKnownAs", strictjson.StringsOf(old)).Raw()), by: update,
	}.after(t, h)
}

// ended is h after the entry that deactivates it.
func ended(t testing.TB, h didwebvh.History, update seed) didwebvh.History {
	t.Helper()
	return wild{
		parameters: fmt.Sprintf(`{"updateKeys":[%q],"nextKeyHashes":[],"deactivated":true}`, update.kid()),
		state:      string(h.Head().Document.Raw()), by: update,
	}.after(t, h)
}
