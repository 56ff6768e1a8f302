package memory

import (
	"container/list"
	"sync"
	"time"

	"trustnode/federation/lending"
)

// hotBytes is about how much memory the answers given lately may take.
const hotBytes = 32 << 20

// question is what an answer belongs to.
type question struct {
	in     Place
	scope  string
	limit  int
	cursor string // without a cursor's binding, the position it names
	bind   string
}

// warm is an answer and the state of the place that it is an answer to. While
// both numbers are what they were the place is what it was: only time can take
// a match out then, and none can come in.
type warm struct {
	q            question
	vis, changes uint64
	at           time.Time
	out          Found
	cards        []card // of the matches, and of the next one if there is one
	bytes        int
}

// fits reports whether w answers at another time too: every match, and the one
// that says that more follow, still matches.
func (w *warm) fits(s lending.Scope, at time.Time) bool {
	if at.Before(w.at) {
		return false
	}
	for i := range w.cards {
		if !w.cards[i].matches(s, at) {
			return false
		}
	}
	return true
}

// hot keeps answers in memory, the least used leaving first. It decides nothing: what it
// gives is what an evaluation would have found.
type hot struct {
	mu    sync.Mutex
	byKey map[question]*list.Element // of *warm; guarded by mu
	used  *list.List                 // front: used last; guarded by mu
	bytes int                        // guarded by mu
	most  int
	turn  uint64 // number of calls of clear; guarded by mu
}

func newHot(most int) *hot {
	return &hot{byKey: map[question]*list.Element{}, used: list.New(), most: most}
}

// get returns the answer kept for a question, nil for none, and the turn to put
// a new one under.
func (h *hot) get(q question) (*warm, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	el := h.byKey[q]
	if el == nil {
		return nil, h.turn
	}
	h.used.MoveToFront(el)
	return el.Value.(*warm), h.turn
}

// put keeps an answer, unless something was forgotten since get.
func (h *hot) put(w *warm, turn uint64) {
	w.bytes = 512
	for _, v := range w.out.Views {
		w.bytes += len(v)
	}
	for _, c := range w.cards {
		w.bytes += len(c.stored) + 128 + 16*(len(c.tags)+len(c.subjects))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if turn != h.turn || w.bytes > h.most/8 {
		return
	}
	if el := h.byKey[w.q]; el != nil {
		h.drop(el)
	}
	h.byKey[w.q] = h.used.PushFront(w)
	h.bytes += w.bytes
	for h.bytes > h.most {
		h.drop(h.used.Back())
	}
}

func (h *hot) drop(el *list.Element) {
	w := h.used.Remove(el).(*warm)
	delete(h.byKey, w.q)
	h.bytes -= w.bytes
}

// clear drops everything: what was forgotten leaves memory too.
func (h *hot) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn++
	clear(h.byKey)
	h.used.Init()
	h.bytes = 0
}
