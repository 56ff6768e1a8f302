package member

import "time"

const (
	// bindingLife is how long an own binding holds: the longest there is, so that a
	// node may be away for weeks and still be found.
	bindingLife = 90 * 24 * time.Hour
	// maxAgentDays is how many days an agent object may hold, and does unless less is asked
	// for: keyring allows no more.
	maxAgentDays = 30
	// maxAgents is how many names of agents an organization may have.
	maxAgents = 1_000
	// requestLife is how long a request may be on its way back to the organization, and
	// requestLead how far ahead of this clock it may be dated.
	requestLife = 7 * 24 * time.Hour
	requestLead = 300 * time.Second
	// maxTokens is how many tokens one agent may have at a time.
	maxTokens = 16
	// renewShare is the part of its life that is left when something is renewed: a third.
	renewShare = 3
	// maxAddrs is how many addresses an own binding names, at most federation.MaxAddrs.
	maxAddrs = 8
	// maxRecoveryKeys bounds what a founder may name; the charter's own cap is the same.
	maxRecoveryKeys = 16
	// maxParked is how many agent objects of one organization may be missing at once.
	maxParked = 10_000
	// projectBatch is how many terms of agents one state transaction applies.
	projectBatch = 256
	// appendPoll is how often a wait for the own log looks whether that still moves.
	appendPoll = 250 * time.Millisecond
	// maxForks is how many forks of one DID log are logged here: one is enough to have
	// it frozen, and who signs more of them should not fill the log.
	maxForks = 16
	// maxClaims is how many fork.proven of one organization are looked at, from the first.
	maxClaims = 64
	// maxEntry is the greatest number of an entry of a DID log.
	maxEntry = 4096
	// maxVoices bounds how many organizations' words on our numbers are kept.
	maxVoices = 128
)
