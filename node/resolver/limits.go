package resolver

// maxReason is what an operator writes about an act, in bytes: two sentences, and short
// enough for a row that names the act besides.
const maxReason = 512
