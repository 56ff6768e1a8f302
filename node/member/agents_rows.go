package member

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// Keys in the state database about own agents. Rows are canonical JSON.
const (
	keyEnded  = "ar/"  // ar/<agent>: endedRow of an own agent that was revoked here
	keyToken  = "tok/" // tok/<prefix>: tokenRow
	keyTokens = "tka/" // tka/<agent>: tokensRow
	keyVC     = "vc/"  // vc/<object id>: the bytes of its credential, as signed when it was issued
)

// endedRow remembers the agent.revoked of an own agent, so that it is logged once.
type endedRow struct {
	Event envelope.ID `json:"event"`
	// Kept says that the agent ended with the key that issued it and nobody has revoked it by hand: its own key is not
	// known to be in doubt, and may come back.
	Kept   bool   `json:"kept,omitempty"`
	Reason string `json:"reason"`
}

// tokenRow is one token: who holds a text with this hash acts as the agent.
type tokenRow struct {
	Agent   did.DID       `json:"agent"`
	Hash    string        `json:"hash"` // SHA-256 of the text, base64url
	Lent    *lentRow      `json:"lent,omitempty"`
	Made    envelope.Time `json:"made"`
	Surface string        `json:"surface"`
}

// lentRow says that content of a loan was handed out by a token, 04 section 1.
type lentRow struct {
	Ends    envelope.Time `json:"ends"`    // earliest end of the permissions read under
	Perm    envelope.ID   `json:"perm"`    // the one read under last
	Receipt envelope.ID   `json:"receipt"` // of a read under it
	Until   envelope.Time `json:"until"`   // from then on the token is clean again
}

// tokensRow lists the tokens of an agent, so that they end with it in one transaction.
type tokensRow struct {
	Prefixes []string `json:"prefixes"`
}

func endedKey(d did.DID) string     { return keyEnded + d.String() }
func tokenKey(prefix string) string { return keyToken + prefix }
func tokensKey(d did.DID) string    { return keyTokens + d.String() }
func vcKey(id envelope.ID) string   { return keyVC + id.String() }
