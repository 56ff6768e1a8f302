// Package resolution answers: how is a DID or DID URL asked for, and how is what was found said to anybody?
//
// It speaks DID Resolution 1.0 (W3C Candidate Recommendation of 2026): resolution and dereferencing options (sections 4.1
// and 5.1), results and metadata (9, 10), errors (11) and the GET binding of HTTP (12.1). Request is what is asked, Service
// turns it into an Answer with a status, a body and an exit code, Handler puts it behind net/http. A document leaves in the
// bytes its controller wrote; what this node knows of them stands beside it, in didResolutionMetadata.trustnode.
//
// It finds, fetches and verifies nothing: a Resolve function of the caller does. Services, relativeRef and paths are not
// followed: the draft's own example of them contradicts RFC 3986, and that section is at risk.
package resolution
