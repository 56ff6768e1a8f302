package inproc

import "time"

// What libp2p was measured to do, so that tests meet it here.
const (
	// queue is how many messages wait at one node; what does not fit is lost.
	queue = 1024
	// sticky is how long a message seen once is not judged again.
	sticky = 120 * time.Second
	// sweep is how often forgotten messages are removed from memory.
	sweep = time.Minute
	// watchdog is how long a link over which gossip died is kept before it is
	// made anew.
	watchdog = 15 * time.Second
	// window is how many bytes a stream holds that were not read.
	window = 256 << 10
	// apart is the least time between two deliveries in one network.
	apart = time.Microsecond
	// shuffle is how late a reordered message can come.
	shuffle = 50 * time.Millisecond
)
