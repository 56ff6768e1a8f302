package keyring_test

import (
	"sync"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

// witnessed is h and n rotations, each approved by the one witness of the log.
func witnessed(t *testing.T, h didwebvh.History, n int) []didwebvh.History {
	t.Helper()
	all := []didwebvh.History{h}
	update := u2
	for i := range n {
		next := seed(0x50 + i)
		r := didwebvh.RotateRequest{Update: update, Next: next.Public(), At: day2}
		if i == 0 {
			r.Witness = &didwebvh.WitnessList{Threshold: 1, Keys: []did.PublicKey{w.Public()}}
		}
		line, err := didwebvh.Rotate(t.Context(), h, r)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := didwebvh.SignWitness(t.Context(), w, didwebvh.VersionID(line), day2)
		if err != nil {
			t.Fatal(err)
		}
		tally, err := h.Proofs(line, [][]byte{proof})
		if err != nil || !tally.Met() {
			t.Fatalf("%+v, %v", tally, err)
		}
		if h, err = h.Extend(line, tally.Witness, seen); err != nil {
			t.Fatal(err)
		}
		all, update = append(all, h), next
	}
	return all
}

// TestI15WhatIsServedHasItsProofs (identity I-15): whenever a log and its witness file are
// read, while entries arrive, the file has the proofs of all entries of the log; an entry
// that comes without them is not served.
func TestI15WhatIsServedHasItsProofs(t *testing.T) {
	all := witnessed(t, acme(t), 12)
	d := all[0].DID()
	r := fresh(t)
	r.hold(t, all[0])
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				log, file, err := r.Files(t.Context(), d, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := didwebvh.Verify(log, file, seen); err != nil {
					t.Errorf("what is served does not verify: %v", err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i, h := range all[1:] {
		if _, err := r.Offer(t.Context(), d, h.Log(), all[i].Witness()); didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
			t.Errorf("entry %d without its proof: %v", h.Len(), err)
		}
		if head, err := r.Head(t.Context(), d); err != nil || head.Number != i+1 {
			t.Errorf("head %+v, %v", head, err)
		}
		r.hold(t, h)
	}
	close(done)
	wg.Wait()
}
