package mcp

import "time"

// Caps of this surface.
const (
	// MaxMessage is the longest message taken, in bytes: as long as a frame of federation.
	MaxMessage = 1 << 20
	// maxDepth is how deep a message may nest; clients describe themselves in a few levels.
	maxDepth = 16
	// maxAnswer is the longest answer of a node that the bridge reads, in bytes: entries
	// (960 KiB) as JSON and as text, with room for escapes.
	maxAnswer = 16 << 20
	// maxCalls is how many calls are under way at once, maxCallsEach of one agent.
	maxCalls     = 64
	maxCallsEach = 16
	// maxListed is the most loans of one answer.
	maxListed = 200
)

const (
	bodyTime = 30 * time.Second // for a request to arrive
	sendTime = 60 * time.Second // for a call to be done and its answer taken
)
