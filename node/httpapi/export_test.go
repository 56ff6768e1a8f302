package httpapi

// Accepted is accepted, for its fuzz test.
var Accepted = accepted

// MaxPublicCalls is maxPublicCalls.
const MaxPublicCalls = maxPublicCalls
