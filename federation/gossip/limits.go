package gossip

import "time"

const (
	// DefaultSyncEvery is how often each linked peer is synced with, ±20 %.
	DefaultSyncEvery = 60 * time.Second
	// askAll bounds a use case's question to all members.
	askAll = 5 * time.Second

	// maxHello caps a hello in bytes. A binding of the greatest size would not fit.
	maxHello = 4 << 10
	// maxGossip is how many entry bytes one gossiped package carries: in base64, and
	// with a note of 32 KiB, it stays below the message's 256 KiB.
	maxGossip = 150 << 10
	// maxLine is how many entry bytes one line of sync carries: 1 MiB in base64 and
	// what stands around it is below the frame's 2 MiB.
	maxLine = 1 << 20
	// maxReply is how many bytes of lines one ask is answered with.
	maxReply = 8 << 20
	// maxAsks bounds the asks of one turn, so that a stream ends some day.
	maxAsks = 4096
	// maxHave is how many ids an ask may name: every node of every record.
	maxHave = 1024
	// maxBodies is how many bodies one ask may name.
	maxBodies = 64
	// maxWants is how many missing things one round asks for.
	maxWants = 256
	// maxNotes is how many notes one line carries, and one answer at most asks for at a time.
	maxNotes = 32
	// turnWait is how long a pull waits for another of the same log.
	turnWait = 500 * time.Millisecond
	// recentNotes is how far below the head cosigned notes are compared first.
	recentNotes = 256
	// maxDIDs is how many organizations heads can speak of: every record of a charter.
	maxDIDs = 128
	// syncStreams is how many sync streams are opened to one peer at once; it
	// grants four, and one is left for a question that cannot wait.
	syncStreams = 3
	// syncApart is the least time between two syncs with one peer that were asked for.
	syncApart = 100 * time.Millisecond
	// greetWait is how long a stream waits for the hello of its link.
	greetWait = 3 * time.Second
	// greetMin and greetMax bound the wait before a refused hello is tried again.
	greetMin = time.Second
	greetMax = 30 * time.Second

	// queueLength and queueBytes bound what waits to be ingested.
	queueLength = 1024
	queueBytes  = 64 << 20
	// perSecond is how many messages of one signer are accepted in a second.
	perSecond = 50
	// chartersPerSecond is how many charters passed on by the nodes of one
	// organization are judged in a second. Each may cost a signature check for
	// every signature and member; what is over is read from the next sync.
	chartersPerSecond = 2
	// newcomersPerHour is how many DID logs of organizations that are no members yet
	// are asked of one organization in an hour: as many as can be active members. A
	// node holds a DID log for good, and the charter that names it may never hold.
	newcomersPerHour = 64
	// maxDIDLog and maxBranchBytes cap, in bytes, what is taken of one DID log, and of
	// the branches beside it, at most maxBranches of them: what a node may hold.
	maxDIDLog      = 8 << 20
	maxBranchBytes = 16 << 20
	maxBranches    = 8
	// chaseAgain is how long the same head of a DID log that nobody here knows is not
	// asked of the same node again, nor synced for when the same member's beacon shows
	// it. chasesPerHour is how many of them one organization may show in an hour, as
	// heads and as beacons each: every member may have rotated. maxChased is how many
	// are remembered.
	chaseAgain    = time.Hour
	chasesPerHour = 64
	maxChased     = 8192
	// parkedBytes, parkedPeer and parkedFor bound what waits for something missing.
	parkedBytes = 16 << 20
	parkedPeer  = 2 << 20
	parkedFor   = time.Hour
	// lagWait is how long a gap may close by itself before it is pulled.
	lagWait = 50 * time.Millisecond
	// lagAgain is how long after that it is pulled again where it did not close, from
	// another peer, and lagTries how often.
	lagAgain = time.Second
	lagTries = 20
	// maxLags is how many gaps are remembered, and maxShowing how many peers that showed one.
	maxLags    = 1024
	maxShowing = 8

	// beaconApart is the least time between two beacons, but at a start and
	// when a link comes up; linkApart that between two beacons of links that
	// come up together.
	beaconApart = 5 * time.Second
	linkApart   = 200 * time.Millisecond
	// beaconIdle is how often it is looked whether a beacon may be made, where
	// there is no charter that says how often to make one.
	beaconIdle = time.Minute

	// publishApart and publishBurst keep the messages of one log below perSecond: 45 in any
	// second, which leaves some for heads that were cosigned.
	publishApart = 25 * time.Millisecond
	publishBurst = 5
	// publishMost is how many entries are published at most; for more, the head alone.
	publishMost = 1024
	// roundApart and promptApart are the least times between two cosign rounds.
	roundApart  = time.Second
	promptApart = 100 * time.Millisecond
	// roundTime is how long a witness may take; roundWait how long the
	// cosignatures of the quick wait for the slow before they are published.
	roundTime = 5 * time.Second
	roundWait = 300 * time.Millisecond

	// wantAgain is how long something missing is not asked for again unasked.
	wantAgain = 20 * time.Second
	// wantWait lets what comes together be asked for together.
	wantWait = 20 * time.Millisecond
	// maxAsked is how many ids are remembered as asked for.
	maxAsked = 8192
)
