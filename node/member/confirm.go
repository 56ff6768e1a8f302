package member

import (
	"bytes"
	"context"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

// confirm notes who stated, and when, that a version is a DID's newest one. A statement
// about another version than the one held says nothing here, and none decides anything:
// an error is only told.
func (m *Member) confirm(ctx context.Context, d did.DID, version string, by keyring.Confirmation, at time.Time) {
	if version == "" {
		return // a did:key, which has none, or a DID its sender does not hold
	}
	if err := m.n.Ring.Confirm(ctx, d, version, by, at); err != nil {
		m.n.Log.DebugContext(ctx, "a confirmation is not noted", "did", d.String(), "err", err)
	}
}

// confirmHeads takes what a member's beacon says of everybody's DID. Its own head is
// confirmed by itself.
func (m *Member) confirmHeads(ctx context.Context, b federation.Beacon) {
	for _, h := range b.Heads {
		if h.DID != b.Org {
			m.confirm(ctx, h.DID, h.DIDHead, keyring.ByBeacon, b.At.Time())
		}
	}
	m.confirm(ctx, b.Org, b.DIDVersion, keyring.ByOwn, b.At.Time())
}

// confirmImport takes the DID logs of a file that the operator brought: whoever sent it
// held these heads.
func (m *Member) confirmImport(ctx context.Context, logs []bundle.DIDLog, at time.Time) {
	for _, l := range logs {
		m.confirm(ctx, l.DID, endOf(l), keyring.ByImport, at)
	}
}

// endOf is the version that the bytes of a line end with, unverified; "" if they are none.
func endOf(l bundle.DIDLog) string {
	if l.DID.Method() != didwebvh.Method {
		return envelope.IDOf(l.Log).String() // did.json of a did:web
	}
	lines := bytes.TrimRight(l.Log, "\n")
	return didwebvh.VersionID(lines[bytes.LastIndexByte(lines, '\n')+1:])
}
