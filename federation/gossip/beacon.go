package gossip

import (
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/federation"
)

func (n *Node) beaconEvery() time.Duration {
	if head, ok := n.cfg.Members.Head(); ok && head.BeaconEvery > 0 {
		return head.BeaconEvery
	}
	return beaconIdle
}

// beaconLoop sends beacons in their time, and soon after something changed.
func (n *Node) beaconLoop(ctx context.Context) {
	for {
		t := time.NewTimer(jitter(n.beaconEvery()))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		case <-n.beats:
			t.Stop()
			if !sleep(ctx, n.sinceBeacon(beaconApart)) {
				return
			}
		}
		n.beaconNow(ctx, beaconApart)
	}
}

// sinceBeacon is how long it takes until the newest own beacon is apart old.
func (n *Node) sinceBeacon(apart time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.beacon.IsZero() {
		return 0
	}
	return apart - n.cfg.Now().Sub(n.beacon)
}

// Beat has a beacon sent soon, at least 5 s after the one before: what it says
// has changed, or it may be made again.
func (n *Node) Beat() { n.beats.give() }

// Again has every linked peer synced with soon: what was learned of this node asks for
// their word once more.
func (n *Node) Again() { n.kickAll() }

// SyncSoon has the linked nodes of an organization synced with soon: it says something
// that only they can show.
func (n *Node) SyncSoon(org did.DID) {
	for _, p := range n.bounded(ofOrg(org)) {
		p.kick.give()
	}
}

// beaconNow makes and gossips a beacon. Where one was made less than apart ago it is left
// to the loop: a peer that just came back counts only beacons it has not seen, so the
// newest one is not enough for it.
func (n *Node) beaconNow(ctx context.Context, apart time.Duration) {
	n.beaconing.Lock()
	defer n.beaconing.Unlock()
	if n.sinceBeacon(apart) > 0 {
		n.beats.give()
		return
	}
	e, err := n.cfg.Beacons.Make(ctx)
	if errors.Is(err, ErrAbsent) {
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			n.cfg.Log.WarnContext(ctx, "no beacon made", "err", err)
		}
		return
	}
	n.mu.Lock()
	n.beacon = n.cfg.Now()
	n.mu.Unlock()
	n.publish(ctx, federation.TopicBeacons, e.DSSE())
}
