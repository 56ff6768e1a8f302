package envelope_test

import (
	"context"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

func mustDID(s string) did.DID { return did.MustParse(s) }

func keysOf(kid string, seed byte) map[string]did.PublicKey {
	return map[string]did.PublicKey{kid: envelopetest.Repeat(seed).Public()}
}

func anyKey(seed byte) func(context.Context, did.DID, string) (did.Key, error) {
	return func(context.Context, did.DID, string) (did.Key, error) {
		return did.Key{Public: envelopetest.Repeat(seed).Public()}, nil
	}
}

func sampleReadRequest(t testing.TB) readRequest {
	return readRequest{
		Aud: harbor, Borrower: line, Kid: "key-1", Op: "read",
		Perm:    id(t, "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"),
		Purpose: "check berth 7 before the January call", Limit: 20,
		Nonce: "AAECAwQFBgcICQoLDA0ODw", At: at(t, "2026-12-02T09:15:30Z"),
	}
}

func sampleBallot(t testing.TB) ballot {
	return ballot{
		At: at(t, "2026-12-01T10:00:00Z"), Body: id(t, "zQmPuNwV6L2Gg5Nxweqx6Z5ndtifWUqfj2M9oxDG1oWfoMw"),
		DIDVersion: "2-QmQ127T74CtJYzUXakWXviGTggUPnCZXyBHebs8Hf5757d",
		Federation: id(t, "zQmPWbE8mF9t2EFMGGq4SqQ8xwMf9j9oTGxaZhChMrwZ7P2"), Kid: "sign-1", N: 1,
		Org:  mustDID("did:webvh:QmPK4RScVUX9gTSC8ZbT7B2b3CFLHNwkGx8VmwKbGjTi4r:acme.example"),
		Prev: id(t, "zQmet7AfK9xFRsLqLDHQdn1hy33mn7fR6gHXU94juvcQ8kZ"), Round: 0, Seq: 7, Vote: "for",
	}
}

type badChange struct {
	name   string
	change func(envelope.Envelope) []byte
}

// badChanges are the changes every object must survive refused. A changed body keeps the good signature.
func badChanges(t *testing.T, e envelope.Envelope) []badChange {
	names, texts := members(t, e.Body)
	first, last := names[0], names[len(names)-1]
	edit := func(old, new string) func(envelope.Envelope) []byte {
		return func(e envelope.Envelope) []byte {
			return withBody(e, strings.Replace(string(e.Body), old, new, 1)).DSSE()
		}
	}
	all := []badChange{
		{"duplicate", edit(texts[first], texts[first]+","+texts[first])},
		{"duplicate-last", edit(texts[last]+"}", texts[last]+","+texts[last]+"}")},
		{"case", edit(`"`+first+`"`, `"`+strings.ToUpper(first)+`"`)},
		{"unknown", edit(texts[last]+"}", texts[last]+`,"zzz":0}`)},
		{"missing", edit(texts[first]+",", "")},
		{"order", edit(texts[first]+","+texts[names[1]], texts[names[1]]+","+texts[first])},
		{"white-space", edit(`,"kid"`, `, "kid"`)},
		{"line-feed-at-the-end", func(e envelope.Envelope) []byte { return withBody(e, string(e.Body)+"\n").DSSE() }},
		{"null", edit(texts[last], `"`+last+`":null`)},
		{"kid-swapped", edit(`"kid":"`, `"kid":"x`)},
		{"keyid", func(e envelope.Envelope) []byte {
			return []byte(strings.Replace(string(e.DSSE()), `"keyid":"`, `"keyid":"x`, 1))
		}},
		{"type", func(e envelope.Envelope) []byte { e.Type = envelope.TypeOf("receipt"); return e.DSSE() }},
		{"signature", func(e envelope.Envelope) []byte {
			sig := e.Signatures[0]
			sig.Sig[63] ^= 0x10 // bit 252 of S
			e.Signatures = []envelope.Signature{sig}
			return e.DSSE()
		}},
	}
	if e.Type.What() != "permission" {
		return all[:10]
	}
	return append(all, badChange{"reads-raised", edit(`"max_reads":5000`, `"max_reads":9000`)})
}
