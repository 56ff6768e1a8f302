package resolution

import (
	"time"

	"trustnode/did"
)

// Caps on what a stranger sends, checked before parsing. Sizes are bytes.
const (
	// maxIdentifier is the path of a request: the longest DID URL with every byte percent-encoded.
	maxIdentifier = 3 * (did.MaxLongDID + did.MaxURLTail)
	// maxQuery is one query, that of the HTTP request or that within the DID URL.
	maxQuery = did.MaxURLTail
	// maxPairs is the number of options in one query; eleven names are known.
	maxPairs = 16
	// maxAccept is an Accept value; those of browsers stay below 300.
	maxAccept = 1024
	// maxRanges is the number of media ranges in an Accept value.
	maxRanges = 32
	// maxParameters is the number of parameters of one media range; the longest known has a profile and a q.
	maxParameters = 8
	// maxVersionID is a versionId; those of did:webvh have 48 to 51.
	maxVersionID = 256
	// maxDetail is the text for people in an error object.
	maxDetail = 512
)

// maxWait is how long one HTTP request may take to resolve. Fetching, the slowest way, has 5 s in all.
const maxWait = 10 * time.Second
