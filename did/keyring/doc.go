// Package keyring answers, with no network: which key does this organization's
// document list, in its newest version and in each one before, and may this
// agent act for it?
//
// A Ring holds one verified did:webvh log per DID. It takes logs from anywhere,
// since a log proves itself, and accepts only what extends what it holds: a
// shorter log is a rollback, another entry of the same number is a fork and
// freezes the DID until somebody decides. Each step is pinned before it is
// stored, so a restored old state is noticed. A did:web is held as snapshots of
// its document, whose keys change only by a decision or an event signed by a
// key it had. A did:key needs no log and has the one version "static".
//
// The package also holds the agent object, signed by an organization and by
// the agent's own key: who acts for whom, until when, with which capabilities.
//
// It knows versions and no attestation log: which key counted at which log
// index is attestation/history's question. It fetches nothing and decides no
// fork: it carries out what a charter or the operator decided. SPEC.md has the
// rules.
package keyring
