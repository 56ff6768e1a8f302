package audit

// Caps on a row and its proof; that of its bytes is attestation.MaxRow.
const (
	maxKind  = 32  // bytes of an op
	maxFor   = 16  // who may see one row
	maxKeys  = 64  // what finds one row
	maxKey   = 256 // bytes of one of these: a permission's id, or a pseudonym
	maxDepth = 8   // nesting of a row, as of a signed body
	maxPath  = 63  // hashes of a path: a tree of 2^63 rows
)
