package store_test

import (
	"testing"

	"trustnode/did/keyring"
	"trustnode/did/keyring/keyringtest"
	"trustnode/node/store"
)

func TestRingOverADatabaseKeepsTheSuite(t *testing.T) {
	keyringtest.Run(t, func(t *testing.T) keyring.Store { return store.NewRing(store.Memory()) })
}
