package didpeer

import "trustnode/did"

// The length of what is read here has its caps in package did: did.MaxDID bytes for numalgo 0 and 2, did.MaxLongDID for
// numalgo 4, did.MaxDocument for a document with its DID written into it, did.MaxServices services. One more:

// maxServiceDepth is the nesting of one service of numalgo 2: what a document may have, less the document and its list.
const maxServiceDepth = did.MaxDocumentDepth - 2
