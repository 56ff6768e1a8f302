package client

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// cache keeps answers in memory for the window that their lender signed into permission
// and receipt (04 section 8), and nowhere else: without cache_s nothing comes in. What is
// kept of a permission is dropped at any answer about it but a valid one. It is safe for
// concurrent use.
type cache struct {
	mu    sync.Mutex
	perms map[envelope.ID]*cachedPerm // guarded by mu
	bytes int                         // guarded by mu; of the entries kept
}

type cachedPerm struct {
	wiped   uint64 // how often
	answers map[string]cached
}

type cached struct {
	result ReadResult
	from   time.Time // when it was received
	until  time.Time
	bytes  int
}

// question is a request without nonce and time.
func question(as did.DID, in ReadInput) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s\x00%d", as, in.Purpose, in.Filter, in.Query, in.Cursor, in.Limit)
}

// find returns the answer kept to a question, if its window is open at at, and a mark of
// what was wiped so far.
func (c *cache) find(perm envelope.ID, q string, at time.Time) (r ReadResult, ok bool, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.perms[perm]
	if p == nil {
		return ReadResult{}, false, 0
	}
	a, ok := p.answers[q]
	if ok && (at.Before(a.from) || !at.Before(a.until)) {
		c.bytes -= a.bytes
		delete(p.answers, q)
		return ReadResult{}, false, p.wiped
	}
	return a.result, ok, p.wiped
}

// put keeps an answer, unless the permission was wiped since mark: an answer that was on
// its way when the end was told comes too late.
func (c *cache) put(perm envelope.ID, q string, r ReadResult, at time.Time, mark uint64) {
	until := r.Receipt.CacheUntil
	if until.IsZero() || !at.Before(until.Time()) {
		return
	}
	size := 0
	for _, e := range r.Entries {
		size += len(e)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.perms[perm]
	if p == nil {
		p = &cachedPerm{}
	}
	if p.wiped != mark {
		return
	}
	if c.bytes+size > maxCachedBytes {
		c.clear()
	}
	if c.perms[perm] == nil {
		if !c.room() {
			return
		}
		c.perms[perm] = p
	}
	if p.answers == nil || len(p.answers) >= maxCachedAnswers {
		c.drop(p)
	}
	if old, ok := p.answers[q]; ok {
		c.bytes -= old.bytes
	}
	r.Entries, r.Refs = slices.Clone(r.Entries), slices.Clone(r.Refs)
	p.answers[q] = cached{result: r, from: at, until: until.Time(), bytes: size}
	c.bytes += size
}

// wipe drops what is kept of a permission.
func (c *cache) wipe(perm envelope.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.perms[perm]
	if p == nil {
		p = &cachedPerm{}
		if c.room() {
			c.perms[perm] = p
		}
	}
	c.drop(p)
	p.wiped++
}

// drop forgets the answers of a permission. The caller holds mu.
func (c *cache) drop(p *cachedPerm) {
	for _, a := range p.answers {
		c.bytes -= a.bytes
	}
	p.answers = map[string]cached{}
}

// clear forgets all answers. What was wiped stays marked. The caller holds mu.
func (c *cache) clear() {
	for _, p := range c.perms {
		c.drop(p)
	}
}

// room says whether one more permission may be kept. It never makes room by forgetting
// that something was wiped. The caller holds mu.
func (c *cache) room() bool {
	if c.perms == nil {
		c.perms = map[envelope.ID]*cachedPerm{}
	}
	return len(c.perms) < maxCachedPerms
}
