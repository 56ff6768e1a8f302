package gossip

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// requestSize is the size of the head a witness request is about; 0 where it is none.
func requestSize(text []byte) uint64 {
	r, err := attlog.ParseRequest(text)
	if err != nil {
		return 0
	}
	return r.Note.Head.Size
}

// Cosign sends a tlog-witness request about the own log to a node of d and
// returns its answer: whoever keeps the own log asks witnesses by it. It returns
// federation.ErrUnreachable where no node of d can be had.
func (n *Node) Cosign(ctx context.Context, d did.DID, request []byte) (status int, body []byte, err error) {
	return n.askWitness(ctx, d, witnessAsk{Checkpoint: string(request)})
}

// Endorse sends the next line of the own DID log, without its newline, to a node of
// the witness d and returns its answer, as Witnessing.Entry of that node gave it. It
// returns federation.ErrUnreachable where no node of d can be had.
func (n *Node) Endorse(ctx context.Context, d did.DID, line []byte) (status int, body []byte, err error) {
	return n.askWitness(ctx, d, witnessAsk{Entry: base64.RawURLEncoding.EncodeToString(line)})
}

func (n *Node) askWitness(ctx context.Context, d did.DID, ask witnessAsk) (status int, body []byte, err error) {
	b, err := envelope.Marshal(ask)
	if err != nil {
		return 0, nil, err
	}
	b, err = n.askOrg(ctx, d, federation.ProtocolWitness, b)
	if err != nil {
		return 0, nil, err
	}
	a, err := parseWitnessAnswer(b)
	if err != nil {
		n.stats.blamed.Add(1)
		return 0, nil, err
	}
	return int(a.Status), []byte(a.Body), nil
}

// askOrg exchanges one frame with a node of an organization. The next node is
// tried only where nothing was sent to the one before.
func (n *Node) askOrg(ctx context.Context, org did.DID, proto federation.Protocol, b []byte) ([]byte, error) {
	err := fmt.Errorf("%s: %w", org, federation.ErrUnreachable)
	for _, p := range n.bounded(ofOrg(org)) {
		if err = n.reach(ctx, p); err != nil {
			continue
		}
		var got []byte
		if got, err = n.exchange(ctx, p, proto, b); err == nil {
			return got, nil
		}
		break
	}
	if !errors.Is(err, federation.ErrUnreachable) && !isFault(err) {
		err = fmt.Errorf("%s: %w: %v", org, federation.ErrUnreachable, err)
	}
	return nil, err
}

// cosignLoop has every own head cosigned by all active members: one with a
// prompt event within 100 ms, others at most once a second, and an unchanged one
// once in a while.
func (n *Node) cosignLoop(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var last time.Time
	for {
		t := time.NewTimer(jitter(n.beaconEvery()))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-n.cosigns:
			t.Stop()
		case <-t.C:
		}
		prompt, ok := n.awaitRound(ctx, last)
		if !ok {
			return
		}
		last = n.cfg.Now()
		n.round(ctx, &wg, prompt)
	}
}

// awaitRound waits until the next round may begin.
func (n *Node) awaitRound(ctx context.Context, last time.Time) (prompt, ok bool) {
	for {
		n.mu.Lock()
		prompt = n.prompt
		n.mu.Unlock()
		apart := roundApart
		if prompt {
			apart = promptApart
		}
		wait := apart - n.cfg.Now().Sub(last)
		if last.IsZero() || wait <= 0 {
			n.mu.Lock()
			n.prompt = false
			n.mu.Unlock()
			return prompt, ctx.Err() == nil
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return false, false
		case <-n.cosigns:
			t.Stop()
		case <-t.C:
		}
	}
}

// round asks all active members at once. It returns when all have answered, or
// the quick ones have and the slow ones would keep them waiting; these are heard
// in the background.
func (n *Node) round(ctx context.Context, wg *sync.WaitGroup, prompt bool) {
	orgs := n.witnesses()
	if len(orgs) == 0 {
		return
	}
	n.stats.rounds.Add(1)
	answers := make(chan bool, len(orgs))
	for _, w := range orgs {
		wg.Go(func() { answers <- n.cosignBy(ctx, w) })
	}
	left, good := n.hear(ctx, answers, len(orgs), roundWait)
	wg.Go(func() {
		if good > 0 {
			n.cosigned(ctx, prompt)
		}
		if left == 0 {
			return
		}
		if _, good := n.hear(ctx, answers, left, roundTime); good > 0 {
			n.cosigned(ctx, prompt)
		}
	})
}

// hear counts answers until all came or the time is over.
func (n *Node) hear(ctx context.Context, answers <-chan bool, left int, d time.Duration) (still, good int) {
	t := time.NewTimer(d)
	defer t.Stop()
	for ; left > 0; left-- {
		select {
		case ok := <-answers:
			if ok {
				good++
			}
		case <-t.C:
			return left, good
		case <-ctx.Done():
			return 0, 0
		}
	}
	return 0, good
}

// witnesses are the active members with a linked node that are not being asked.
func (n *Node) witnesses() (out []did.DID) {
	seen := map[did.DID]bool{}
	for _, p := range n.bounded(greeted) {
		org, ok := n.orgOf(p.id)
		if !ok || seen[org] || n.cfg.Members.Status(org) != "active" {
			continue
		}
		seen[org] = true
		n.mu.Lock()
		if !n.busy[org] {
			n.busy[org] = true
			out = append(out, org)
		}
		n.mu.Unlock()
	}
	return out
}

func (n *Node) cosignBy(ctx context.Context, w did.DID) bool {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	before := n.ownSize(ctx)
	err := n.cfg.Witnessing.Cosign(ctx, w)
	n.mu.Lock()
	delete(n.busy, w)
	grown := n.own.Size > before
	n.mu.Unlock()
	if grown { // a round passed it by
		n.cosigns.give()
	}
	if err != nil {
		n.cfg.Log.DebugContext(ctx, "not cosigned", "witness", w.String(), "err", err)
	}
	return err == nil
}

// cosigned spreads the own head with its new cosignatures. After what is prompt
// everybody syncs too, once gossip had its chance: so all fold the same times soon.
func (n *Node) cosigned(ctx context.Context, prompt bool) {
	n.dropNoteSet(n.cfg.Me)
	head, ok := n.cfg.Members.Head()
	_, note, err := n.head(ctx, n.cfg.Me)
	if err != nil || !ok || len(note) == 0 {
		return
	}
	p := attestation.Package{Did: n.cfg.Me, Federation: head.Federation, From: noteSize(note), Note: note}
	if b, err := p.Bytes(); err == nil {
		n.publish(ctx, federation.TopicEvents, b)
	}
	if prompt && sleep(ctx, lagWait) {
		n.kickAll()
	}
}
