package httpapi

import (
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// clockAhead tells by how many seconds an event's own time lies after the moment at which
// this node had seen it, which its earliest cosignature over it proves; nil where that is
// within what clocks may differ by, or it has cosigned no head over it (03, section 7).
//
// When an event came is kept nowhere else. That one came late cannot be told: a cosignature
// is as late as the newest head was when the node next cosigned, whatever the event's clock.
func clockAhead(at envelope.Time, seen []attestation.Seen, me did.DID, skew time.Duration) *int64 {
	for _, s := range seen {
		if s.Org != me {
			continue
		}
		if ahead := at.Time().Sub(s.At.Time()); ahead > skew {
			return seconds(ahead)
		}
	}
	return nil
}
