package store

import (
	"bytes"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
)

// FuzzDecodeRecord: damage on disk is an error, never a panic, and what reads back writes the same bytes.
func FuzzDecodeRecord(f *testing.F) {
	d := did.MustParse("did:example:a")
	at := time.Unix(1_800_000_000, 0).UTC()
	rec := keyring.Record{
		Version: keyring.Version{DID: d, Number: 2, ID: "2-x", State: did.Frozen, VerifiedAt: at},
		Log:     []byte("a\nb\n"), Witness: []byte("[]"),
		Branches: []keyring.Branch{{Parent: 1, Lines: []byte("c\n"), Decided: "zQm"}},
		Web:      []keyring.Snapshot{{Number: 1, Bytes: []byte("{}"), ApprovedBy: "join", FetchedAt: at, SPKI: "ab"}},
		Offered:  []keyring.Snapshot{{Bytes: []byte("[]"), FetchedAt: at}},
	}
	f.Add(row{version: rec.Version, rest: encodeRest(rec)}.encode(), encodeRest(rec))
	f.Add(row{version: rec.Version, pieces: [][32]byte{{1}, {2}}}.encode(), encodeRest(keyring.Record{}))
	f.Fuzz(func(t *testing.T, head, rest []byte) {
		if r, err := decodeRow(d, head); err == nil {
			again, err := decodeRow(d, r.encode())
			if err != nil || !again.version.Same(r.version) || len(again.pieces) != len(r.pieces) || !bytes.Equal(again.rest, r.rest) {
				t.Errorf("%x reads as %+v, again %+v, %v", head, r, again, err)
			}
		}
		if rec, err := decodeRest(keyring.Version{DID: d}, rest); err == nil {
			if again := encodeRest(rec); len(again) > len(rest) {
				t.Errorf("%x is written as %x", rest, again)
			}
		}
	})
}
