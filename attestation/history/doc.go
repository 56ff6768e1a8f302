// Package history answers: which key counted at which index of one log? It is
// a pure fold over the log's own events: log.opened and key.rotated tie
// versions of the organization's DID document to indexes, agent.issued and
// agent.revoked do the same for agents. A key's validity is judged by that
// position, never by a time its signer chose.
//
// Which keys a version lists is asked of a [Versions]; the package holds no
// document, store or clock.
package history
