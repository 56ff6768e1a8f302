package didwebvh

import "time"

// Metadata is what did:webvh 1.0, "Read (Resolve)", tells about a resolved
// version, in the order of that section. VersionID, VersionTime and
// VersionNumber are the version's; all else is the DID's as its newest verified
// entry leaves it. Times are as the controller claims them.
type Metadata struct {
	VersionID     string
	VersionTime   time.Time
	Created       time.Time // versionTime of the first entry
	Updated       time.Time // versionTime of the newest
	SCID          string
	Portable      bool // may still move
	Deactivated   bool // has ended, though the version asked for may be older
	TTL           uint64
	Witness       WitnessList // zero: nobody witnesses
	Watchers      []string    // the caller must not change them
	VersionNumber int         // not named by the method; its test suite and resolvers give it
}

// Metadata answers the metadata of the version with this versionId; false if h has none.
func (h History) Metadata(versionID string) (Metadata, bool) {
	v, ok := h.ByID(versionID)
	if !ok {
		return Metadata{}, false
	}
	head, first := h.Head(), h.nodes[0]
	return Metadata{
		VersionID: v.ID, VersionTime: v.Time, VersionNumber: v.Number,
		Created: first.Time, Updated: head.Time, SCID: head.Parameters.SCID,
		Portable: head.Parameters.Portable, Deactivated: head.Parameters.Deactivated, TTL: head.Parameters.TTL,
		Witness: head.Parameters.Witness, Watchers: head.Parameters.Watchers,
	}, true
}
