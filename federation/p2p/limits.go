package p2p

import "time"

const (
	// queues is the length of the validate queue and of the outbound queue of
	// each peer in messages: a slow reader got 32 of 40 with the usual 32.
	queues = 1024
	// allDirect is up to how many member nodes every peer is a direct peer.
	allDirect = 12
	// perSubnet is how many connections one /32 or /56 may hold: all members can
	// sit behind one address.
	perSubnet = 64
	// perSecond and burst bound new connections of one /32 or /56.
	perSecond, burst = 1, 64

	dialMin     = time.Second
	dialMax     = 30 * time.Second
	dialTimeout = 10 * time.Second
	// eagerFor is how long after a good link its peer is dialled every dialMin: a cut
	// heals within two seconds for all. eagerTimeout then bounds each try: where packets
	// vanish, TCP asks again ever later, and a new try asks at once.
	eagerFor     = 10 * time.Minute
	eagerTimeout = 4 * time.Second
	// dialLater is how long the node with the greater peer id waits before it
	// dials first, so that two nodes do not make two links.
	dialLater = time.Second
	// goodLink is how long a link must live for the next dial to come soon.
	goodLink = 10 * time.Second

	// absent is how long a linked peer may be missing from a topic. The wait
	// doubles each time closing the link did not help, up to absentMax.
	absent    = 15 * time.Second
	absentMax = 5 * time.Minute

	tick     = time.Second
	openWait = 10 * time.Second
	// maxSubs is how many subscriptions one announcement of a peer may hold.
	maxSubs = 16
)
