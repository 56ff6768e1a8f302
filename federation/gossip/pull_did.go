package gossip

import (
	"bytes"
	"context"
	"slices"

	"trustnode/did"
	"trustnode/federation/bundle"
)

// pullDIDs asks for what the other end holds of DID logs and is not known here: what
// comes after the head, and where the other's head is on no log that is known, all of
// the log. Then for what its organization says to be forked.
func (c *conversation) pullDIDs(ctx context.Context) error {
	held, err := c.n.cfg.Identities.Heads(ctx)
	if err != nil {
		return err
	}
	for _, x := range c.theirs.DIDs {
		if x.DIDHead == "" || c.n.cfg.Members.Status(x.DID) == "" || c.n.cfg.Identities.Knows(ctx, x.DID, x.DIDHead) {
			continue
		}
		if err := c.pullHead(ctx, x, versionNumber(held[x.DID])); err != nil {
			return err
		}
	}
	doubted, err := c.n.cfg.Identities.Doubted(ctx, c.org)
	if err != nil {
		return err
	}
	for _, d := range doubted {
		if c.n.cfg.Members.Status(d) == "" {
			continue
		}
		if err := c.pullWhole(ctx, didHead{DID: d}); err != nil {
			return err
		}
	}
	return nil
}

// pullHead asks for an unknown head of a log of which held is the newest number here.
// A head without number is that of a did:web.
func (c *conversation) pullHead(ctx context.Context, x didHead, held uint64) error {
	if versionNumber(x.DIDHead) > held {
		if o, err := c.pullDID(ctx, x.DID, held); err != nil || o != Behind {
			return err
		}
	}
	return c.pullWhole(ctx, x)
}

// pullWhole asks for a DID log from its first line, for x.DIDHead cannot be reached from
// what is held: it is on another branch, or it is invented. A log that verifies and
// contradicts the held one is the fork; who serves one without the head it showed is to
// blame. One pull of a log at a time, and no head twice of one node within chaseAgain.
func (c *conversation) pullWhole(ctx context.Context, x didHead) error {
	defer c.n.takeTurn(ctx, turn{"did", x.DID})()
	if x.DIDHead != "" && c.n.cfg.Identities.Knows(ctx, x.DID, x.DIDHead) {
		return nil // another pull has just brought it
	}
	h := shownHead{"node " + c.p.id.String(), x.DID, x.DIDHead}
	if !c.n.mayAsk(h, c.org) {
		return nil
	}
	o, err := c.pullDID(ctx, x.DID, 0)
	switch {
	case err != nil && !isFault(err):
		c.n.askAnew(h)
	case err == nil && o == Held && versionNumber(x.DIDHead) > 0 && !c.n.cfg.Identities.Knows(ctx, x.DID, x.DIDHead):
		err = blame("head %.80q of %s is shown and not served", x.DIDHead, x.DID)
	}
	return err
}

// pullDID asks for a DID log after a version, and with it for the branches that are kept
// beside it. All that came is offered; the outcome is that of the log itself.
func (c *conversation) pullDID(ctx context.Context, d did.DID, after uint64) (Outcome, error) {
	l := didLines{main: Branch{After: after}, next: after + 1}
	for more := true; more; {
		from := l.next
		e, err := c.ask(ask{DIDLog: &didLogAsk{After: from - 1, DID: d}}, func(b []byte) error {
			line, err := bundle.ParseLine(b)
			part, ok := line.(bundle.DIDLog)
			if err != nil || !ok || part.DID != d {
				return blame("not the log of %s from %d", d, from)
			}
			return l.add(part)
		})
		if err != nil {
			return 0, err
		}
		more = e.More && l.next > from
	}
	return c.offerDID(ctx, d, l)
}

// offerDID offers a log, then its branches.
func (c *conversation) offerDID(ctx context.Context, d did.DID, l didLines) (Outcome, error) {
	out, news := Held, false
	offer := func(b Branch) (Outcome, error) {
		o, err := c.n.cfg.Identities.Offer(ctx, d, b.After+1, b.Log, b.Witness)
		news = news || o == Taken
		return o, c.judged("DID log of "+d.String(), o, err)
	}
	if len(l.main.Log) > 0 {
		var err error
		if out, err = offer(l.main); err != nil {
			return 0, err
		}
	}
	for _, b := range l.branches {
		if _, err := offer(l.whole(b)); err != nil {
			return 0, err
		}
	}
	if news {
		c.n.rejudge(ctx)
	}
	return out, nil
}

// didLines is an answer to an ask for a DID log: its lines after main.After, then
// branches that part from it.
type didLines struct {
	main     Branch
	branches []Branch
	next     uint64 // number of the line that would go on
	bytes    int    // of the branches
}

// add takes one bundle line: it goes on with what came before it, or begins a branch.
func (l *didLines) add(part bundle.DIDLog) error {
	to := &l.main
	switch {
	case part.From == l.next:
	case part.From == 0 || part.From > l.main.After+1+lines(l.main.Log):
		return blame("lines of %s from %d, where %d is the next", part.DID, part.From, l.next)
	case len(l.branches) == maxBranches:
		return blame("more than %d branches of %s", maxBranches, part.DID)
	default:
		l.branches = append(l.branches, Branch{After: part.From - 1})
	}
	if n := len(l.branches); n > 0 {
		to = &l.branches[n-1]
		l.bytes += len(part.Log) + len(part.Witness) - len(to.Witness)
	}
	to.Log, to.Witness = append(to.Log, part.Log...), part.Witness
	l.next = to.After + 1 + lines(to.Log)
	if len(l.main.Log) > maxDIDLog || l.bytes > maxBranchBytes {
		return blame("log of %s is too long", part.DID)
	}
	return nil
}

// whole is a branch with the lines of the answer that come before it, as the held log
// may have others in their place.
func (l *didLines) whole(b Branch) Branch {
	if b.After <= l.main.After {
		return b
	}
	head, n := l.main.Log, b.After-l.main.After
	end := 0
	for ; n > 0; n-- {
		i := bytes.IndexByte(head[end:], '\n')
		if i < 0 {
			break
		}
		end += i + 1
	}
	return Branch{After: l.main.After, Log: slices.Concat(head[:end], b.Log), Witness: b.Witness}
}

func lines(log []byte) uint64 { return uint64(bytes.Count(log, []byte("\n"))) }
