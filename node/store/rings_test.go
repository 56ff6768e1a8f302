package store_test

import (
	"testing"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/did/keyring/keyringtest"
	"trustnode/node/store"
)

var subjectDID = did.MustParse("did:example:a")

func TestRingOverADatabaseKeepsTheSuite(t *testing.T) {
	keyringtest.Run(t, func(t *testing.T) keyring.Store { return store.NewRing(store.Memory()) })
}

func TestRingOverBadgerKeepsTheSuite(t *testing.T) {
	keyringtest.Run(t, func(t *testing.T) keyring.Store {
		db, err := openBadger(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return store.NewRing(db)
	})
}

// TestPiecesOfARecordAreNotLeftBehind: what a large record was cut into goes when it is replaced.
func TestPiecesOfARecordAreNotLeftBehind(t *testing.T) {
	db := store.Memory()
	ring := store.NewRing(db)
	large := keyring.Record{Version: keyring.Version{DID: subjectDID, Number: 1, ID: "1-x", State: 1}, Log: make([]byte, 3<<20)}
	for i := range large.Log {
		large.Log[i] = byte(i >> 16)
	}
	if err := ring.Advance(t.Context(), keyring.Version{}, large); err != nil {
		t.Fatal(err)
	}
	if n := keysUnder(t, db, "dc/"); n < 6 {
		t.Fatalf("%d pieces of 3 MiB", n)
	}
	small := keyring.Record{Version: keyring.Version{DID: subjectDID, Number: 2, ID: "2-x", State: 1}, Log: []byte("x")}
	if err := ring.Advance(t.Context(), large.Version, small); err != nil {
		t.Fatal(err)
	}
	if n := keysUnder(t, db, "dc/"); n != 0 {
		t.Errorf("%d pieces are left", n)
	}
}

func keysUnder(t *testing.T, db store.DB, prefix string) int {
	t.Helper()
	n := 0
	if err := db.View(t.Context(), func(r store.Reader) error {
		return r.Scan([]byte(prefix), nil, func(_, _ []byte) bool { n++; return true })
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
