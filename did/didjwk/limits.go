package didjwk

// The length of what is read here has its caps in package did: did.MaxDID bytes of a DID leave 1,530 for its JSON Web Key,
// less than did.MaxJWK. One more:

// maxDepth is the nesting of a JSON Web Key: the object and one array, such as key_ops or x5c, and one level to spare.
const maxDepth = 3
