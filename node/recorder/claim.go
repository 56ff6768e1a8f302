package recorder

import (
	"context"
	"runtime"
	"sync"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did/envelope"
)

// claim is an entry on its way to a verdict: it is decoded once, and opened once.
type claim struct {
	entry  attestation.Entry
	said   envelope.Claim[attestation.Event]
	event  attestation.Event // what it claims to be; the zero one where it is none
	id     envelope.ID
	form   bool // it has the form of an event
	repeat bool // its id stands at a lower index

	tried  bool // it was opened, or was not to be
	opened envelope.Verified[attestation.Event]
	known  bool  // it also has the form of its type
	err    error // why it did not open
}

// claimsOf decodes entries on all cores.
func claimsOf(entries []attestation.Entry) []claim {
	out := make([]claim, len(entries))
	onAllCores(len(out), func(i int) { out[i].read(entries[i]) })
	return out
}

func (c *claim) read(en attestation.Entry) {
	said, err := en.Claim()
	c.entry, c.said, c.event, c.form = en, said, said.Body(), err == nil
	if en.Check() == nil {
		c.id = en.ID()
	}
}

// opens reports whether it claims to put a version of the organization's document in force.
func (c *claim) opens() bool { return c.event.Type == "log.opened" || c.event.Type == "key.rotated" }

// open checks the signature under a key that src names.
func (c *claim) open(ctx context.Context, src envelope.KeySource) {
	c.tried = true
	if c.opened, c.err = c.said.Open(ctx, src); c.err == nil {
		c.known = attestation.CheckKnown(c.event) == nil
	}
}

// openNext opens what stands at index i, right after what k covers or below.
func (c *claim) openNext(ctx context.Context, ring Ring, k history.Keys, i uint64) {
	src := k.At(i)
	if i >= k.Size() {
		if src, c.err = k.Next(ctx, ring, i, c.event); c.err != nil {
			return
		}
	}
	c.open(ctx, src)
}

// eventsOf returns what claims say, in order.
func eventsOf(claims []claim) []attestation.Event {
	out := make([]attestation.Event, len(claims))
	for i := range claims {
		out[i] = claims[i].event
	}
	return out
}

// grain is how many events are worth a goroutine: about a quarter of a millisecond of
// signatures.
const grain = 8

// onAllCores calls f for each of 0..n-1, on as many cores as that many are worth.
func onAllCores(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+grain-1)/grain)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * n / workers; i < (w+1)*n/workers; i++ {
				f(i)
			}
		})
	}
	wg.Wait()
}
