package httpapi

// Accepted is accepted, for its fuzz test.
var Accepted = accepted
