package casefile

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// grain is how many calls a processor takes at a time: enough that taking them costs nothing, few enough that no
// processor is left with the rest.
const grain = 16

// Parallel calls f with 0 to n-1, each once, on all processors, and returns when all calls have: what they found is then
// looked at in order, so that a file is refused for its first fault, whichever was found first. Once ctx ends it makes no
// more calls and returns its error.
func Parallel(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var all sync.WaitGroup
	work := func() {
		for ctx.Err() == nil {
			from := int(next.Add(grain)) - grain
			if from >= n {
				return
			}
			for i := from; i < min(from+grain, n); i++ {
				f(i)
			}
		}
	}
	for range min(runtime.GOMAXPROCS(0), (n+grain-1)/grain) - 1 {
		all.Go(work)
	}
	work()
	all.Wait()
	return ctx.Err()
}
