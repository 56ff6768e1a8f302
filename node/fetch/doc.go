// Package fetch answers: what does an organization's web server say now?
//
// It gets did.json (did:web) and did.jsonl with did-witness.json (did:webvh) over
// https and is a did.Source of their bytes. A DID is text that a stranger may have
// chosen, so the request is held short: TLS 1.2 or newer with a certificate for the
// host, no redirect, no proxy, no cookie, capped header and body, five seconds in
// all, two requests to one host at once, one for each DID. Connections to addresses
// that are not public are refused after the name was looked up, on the address
// itself, so a name that resolves otherwise the next time leads nowhere else.
// NewTransport has these rules for other outgoing requests too.
//
// It does not verify what it gets and does not decide who may cause a request:
// only pinned members and an operator's command do, and their caller sees to it.
package fetch
