package casefile

import "trustnode/node/recorder"

// A recorder is the half of a Source that reads logs.
var _ Ledger = (*recorder.Recorder)(nil)
