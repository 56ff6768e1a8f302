package member

import (
	"trustnode/did/pins"
	"trustnode/node/store"
)

// hearFrom lets one organization hear the others.
func hearFrom(to *org, from ...*org) {
	for _, f := range from {
		to.take(f.beacon())
	}
}

// forgetCommits drops what a node remembers of its signatures beside the pins.
func forgetCommits(o *org) func(store.Tx) error {
	chain, _ := o.Charter()
	return func(tx store.Tx) error { return tx.Delete([]byte(commitKey(chain.Federation().String(), 8))) }
}

func dropRow(key string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Delete([]byte(key)) }
}

func entrySlot(scid string, n uint64) pins.Slot {
	return pins.Slot{Kind: pins.KindEntry, Key: scid, N: n}
}
