package did

// Caps on foreign input, checked before parsing. Sizes are bytes.
const (
	// MaxDID is the length of a DID. Long enough for any did:peer:2 or did:jwk in use, short enough for a database key.
	MaxDID = 2048
	// MaxLongDID is the length of a did:peer:4 long form, which carries its whole document.
	MaxLongDID = 16 << 10
	// MaxURLTail is what a DID URL may have beyond its DID: path, query and fragment together.
	MaxURLTail = 4096
	// maxFragment is the length of a fragment that names a key; multikey texts have 48 bytes.
	maxFragment = 1024
	// MaxMultibase is the length of a multibase key text: base58 takes time quadratic in it. The longest codec read
	// here, 144 bytes, needs 200.
	MaxMultibase = 1024
	// MaxJWK is the length of one JSON Web Key; a P-256 key takes 130 bytes, the rest is room for foreign members.
	MaxJWK = 2048
	// jwkDepth is the nesting of a JWK: the object and one array, such as key_ops or x5c, and one level to spare.
	jwkDepth = 3
	// MaxDocument is the length of a DID document, as large as a did.json may be.
	MaxDocument = 256 << 10
	// MaxDocumentDepth is the nesting of a document's JSON. Documents in the wild reach 6.
	MaxDocumentDepth = 32
	// MaxMethods is the number of verification methods in one document, embedded ones included.
	MaxMethods = 64
	// MaxServices is the number of services in one document.
	MaxServices = 64
	// MaxReferences is the number of entries in one verification relationship.
	MaxReferences = 64
)
