package didwebvh

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// alone is the number of pieces of work up to which starting goroutines costs more than it saves.
const alone = 8

// parallel calls do with 0 to n-1, each once, on at most GOMAXPROCS goroutines,
// and returns when all calls have. The calls must not depend on each other.
func parallel(n int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if n <= alone || workers < 2 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
