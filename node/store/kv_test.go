package store_test

import (
	"log/slog"
	"testing"

	"trustnode/node/store"
	"trustnode/node/store/storetest"
)

func openBadger(dir string) (store.DB, error) {
	return store.OpenBadger(dir, slog.New(slog.DiscardHandler))
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.DB { return store.Memory() })
}

func TestBadger(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.DB {
		db, err := openBadger(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

func TestBadgerDurable(t *testing.T) {
	storetest.RunDurable(t, openBadger)
}
