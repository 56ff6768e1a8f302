package oracle_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/oracle"
	"trustnode/node/self"
)

// TestWhatAnOracleKeepsChangesNoAnswer: one that has been asked before answers as one that
// has not, whatever came in between and whatever moment is asked for.
func TestWhatAnOracleKeepsChangesNoAnswer(t *testing.T) {
	w := newWorld(t)
	old := w.oracle(w.acme)
	var times []time.Time
	same := func(step string) {
		t.Helper()
		w.settle(t)
		w.Advance(time.Second)
		times = append(times, w.Now())
		var asking sync.WaitGroup
		for _, at := range times {
			for _, who := range []did.DID{w.quant.DID, w.research.DID, w.acme.Node.Org} {
				asking.Go(func() {
					if got, want := answer(t, old, who, at), answer(t, w.oracle(w.acme), who, at); !bytes.Equal(got, want) {
						t.Errorf("%s: %s as of %s is\n%s\nwant\n%s", step, who, at, got, want)
					}
				})
			}
		}
		asking.Wait()
	}
	same("nothing was lent")
	l := w.ReadAfterEnd(w.research, w.quant, 2)
	same("a loan was revoked and read")
	l.Ended()
	l.EndSeen()
	same("both saw its end")
	w.ruled(t, l)
	same("a ruling may be appealed")
	w.Advance(9 * 24 * time.Hour)
	same("a ruling is final, by time alone")
	before, after := answer(t, old, w.quant.DID, times[1]), answer(t, old, w.quant.DID, times[len(times)-1])
	if bytes.Equal(before, after) {
		t.Error("the steps changed nothing, so nothing was tested")
	}
}

func answer(t *testing.T, o *oracle.Oracle, who did.DID, at time.Time) []byte {
	t.Helper()
	s, err := o.Show(t.Context(), who, at, did.DID{})
	if err != nil {
		t.Error(err)
		return nil
	}
	b, err := s.Answer.Public()
	if err != nil {
		t.Error(err)
	}
	return b
}

// counting are peers that count who asks them at once.
type counting struct {
	self.Peers
	now, most atomic.Int64
}

func (c *counting) Sync(ctx context.Context) error {
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.now.Add(-1)
	return c.Peers.Sync(ctx)
}

// TestQuestionsAboutNobodyShareARound: whoever asks for DIDs that do not exist cannot make
// the node ask the members several times at once.
func TestQuestionsAboutNobodyShareARound(t *testing.T) {
	w := newWorld(t)
	p := &counting{Peers: w.acme.Peers}
	w.acme.Peers = p
	o := w.oracle(w.acme)
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			if _, err := o.Show(t.Context(), did.MustParse("did:web:nobody.example"), time.Time{}, did.DID{}); fault.Of(err) != fault.NotFound {
				t.Errorf("nobody is %v", err)
			}
		})
	}
	asking.Wait()
	if n := p.most.Load(); n != 1 {
		t.Errorf("%d rounds at once", n)
	}
}
