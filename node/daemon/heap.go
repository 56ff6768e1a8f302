package daemon

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap of a running node grows over what is in use
// before it is collected. What is in use is mostly memtables, 150 to 230 MB of bytes without
// a pointer, so that collecting more often costs little. At the usual 100 a node had 460 MB
// resident after 300,000 events, where it may have 400 after a million (C-10).
const heapGrowth = 30

// spareMemory sets heapGrowth for the process, unless who runs it has set GOGC or
// GOMEMLIMIT.
func spareMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
