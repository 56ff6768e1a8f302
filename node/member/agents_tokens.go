package member

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// A token lets a program call this node as one agent: `tn1_` and 32 random bytes in
// base64url. It is told once; kept are its SHA-256 and its first 12 characters, by which
// people name it.
const (
	// TokenMark begins every token of an agent.
	TokenMark = "tn1_"

	tokenBytes  = 32
	tokenLen    = len(TokenMark) + 43
	tokenPrefix = len(TokenMark) + 8
)

// The surfaces a token may be for.
const (
	ForHTTP = "http"
	ForMCP  = "mcp"
)

// AgentToken is a token as it is listed: without its text.
type AgentToken struct {
	Prefix  string
	Surface string
	Made    envelope.Time
}

// MakeToken makes a token of a live own agent for one surface and returns its text, which
// is kept nowhere. It ends with the agent's object, renewals apart, or by RevokeToken.
func (m *Member) MakeToken(ctx context.Context, nameOrDID, surface string) (text string, t AgentToken, err error) {
	if surface != ForHTTP && surface != ForMCP {
		return "", t, fault.New(fault.Invalid, "surface", "surface %.40q is neither http nor mcp", surface).WithHint("a token is for one of them: --for http")
	}
	at, err := m.now()
	if err != nil {
		return "", t, err
	}
	row, err := m.ownAgent(self.ViewGetter(ctx, m.n.DB), nameOrDID)
	if err != nil {
		return "", t, err
	}
	if _, _, err := m.n.Signers.Agent(ctx, row.Agent); errors.Is(err, self.ErrNoKey) || row.Kind != string(keyring.KindAgent) {
		return "", t, fault.New(fault.Refused, "no_key", "the key of %s is not held here, so this node cannot act as it", row.Name).WithHint("a token is for agents whose key this node has")
	} else if err != nil {
		return "", t, err
	}
	var b [tokenBytes]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", t, err
	}
	text = TokenMark + base64.RawURLEncoding.EncodeToString(b[:])
	t = AgentToken{Prefix: text[:tokenPrefix], Surface: surface, Made: envelope.TimeOf(at)}
	err = m.n.DB.Update(ctx, func(tx store.Tx) error {
		now, err := self.Agent(tx, row.Agent)
		if err != nil {
			return err
		}
		if s := now.State(at); s != self.AgentLive {
			return notLive(now, s)
		}
		return m.putToken(tx, now, text, t)
	})
	if err != nil {
		return "", AgentToken{}, err
	}
	return text, t, nil
}

func (m *Member) putToken(tx store.Tx, a self.AgentRow, text string, t AgentToken) error {
	_, taken, err := get[tokenRow](tx, tokenKey(t.Prefix))
	if err != nil {
		return err
	}
	if taken {
		return fault.New(fault.Unavailable, "token", "another token begins like the one made").WithHint("try again")
	}
	list, _, err := get[tokensRow](tx, tokensKey(a.Agent))
	if err != nil {
		return err
	}
	if len(list.Prefixes) >= maxTokens {
		return fault.New(fault.Conflict, "tokens", "agent %s has %d tokens, as many as it may", a.Name, len(list.Prefixes)).WithHint("end one: trustnode agent token --revoke %s", list.Prefixes[0])
	}
	list.Prefixes = append(list.Prefixes, t.Prefix)
	row := tokenRow{Agent: a.Agent, Hash: hashOf(text), Made: t.Made, Surface: t.Surface}
	return errors.Join(put(tx, tokenKey(t.Prefix), row), put(tx, tokensKey(a.Agent), list))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return b64.EncodeToString(sum[:])
}

// Authenticate finds the live agent that a token of one surface speaks for. Every refusal
// is fault.Unauthenticated, and none repeats the text. Which tokens begin how is no secret,
// they are listed by that; the rest is compared as hashes, in constant time.
func (m *Member) Authenticate(ctx context.Context, text, surface string) (self.AgentRow, error) {
	at, err := m.now()
	if err != nil {
		return self.AgentRow{}, err
	}
	var row self.AgentRow
	var known bool
	err = m.n.DB.View(ctx, func(r store.Reader) (err error) {
		row, known, err = lookUp(r, text, surface)
		return err
	})
	if err != nil {
		return self.AgentRow{}, err
	}
	if !known {
		return self.AgentRow{}, fault.New(fault.Unauthenticated, "token", "the token is not one of an agent here, or not for %s", surface).
			WithHint("trustnode agent token NAME --for %s makes one; it ends with its agent", surface)
	}
	if s := row.State(at); s != self.AgentLive {
		d := fault.From(notLive(row, s))
		d.Code = fault.Unauthenticated
		return self.AgentRow{}, d
	}
	return row, nil
}

// lookUp finds the agent of a token, whatever the agent's state.
func lookUp(g library.Getter, text, surface string) (self.AgentRow, bool, error) {
	if len(text) != tokenLen || !strings.HasPrefix(text, TokenMark) {
		return self.AgentRow{}, false, nil
	}
	t, ok, err := get[tokenRow](g, tokenKey(text[:tokenPrefix]))
	if err != nil {
		return self.AgentRow{}, false, err
	}
	same := subtle.ConstantTimeCompare([]byte(hashOf(text)), []byte(t.Hash)) == 1
	if !ok || !same || t.Surface != surface {
		return self.AgentRow{}, false, nil
	}
	row, err := self.Agent(g, t.Agent)
	return row, err == nil, err
}

// RevokeToken ends one token, named by its first 12 characters or more.
func (m *Member) RevokeToken(ctx context.Context, prefix string) error {
	missing := fault.New(fault.NotFound, "token", "no token begins with these 12 characters").WithHint("trustnode agent show NAME lists an agent's tokens")
	if len(prefix) < tokenPrefix || len(prefix) > tokenLen {
		return missing
	}
	prefix = prefix[:tokenPrefix]
	return m.n.DB.Update(ctx, func(tx store.Tx) error {
		t, ok, err := get[tokenRow](tx, tokenKey(prefix))
		if err != nil {
			return err
		}
		if !ok {
			return missing
		}
		list, _, err := get[tokensRow](tx, tokensKey(t.Agent))
		if err != nil {
			return err
		}
		list.Prefixes = slices.DeleteFunc(list.Prefixes, func(p string) bool { return p == prefix })
		return errors.Join(tx.Delete([]byte(tokenKey(prefix))), put(tx, tokensKey(t.Agent), list))
	})
}

// dropTokens ends all tokens of an agent, in the transaction that ends the agent.
func (m *Member) dropTokens(tx store.Tx, d did.DID) error {
	list, ok, err := get[tokensRow](tx, tokensKey(d))
	if err != nil || !ok {
		return err
	}
	for _, p := range list.Prefixes {
		if err := tx.Delete([]byte(tokenKey(p))); err != nil {
			return err
		}
	}
	return tx.Delete([]byte(tokensKey(d)))
}

// tokensOf lists an agent's tokens, oldest first.
func tokensOf(g library.Getter, d did.DID) ([]AgentToken, error) {
	list, _, err := get[tokensRow](g, tokensKey(d))
	if err != nil {
		return nil, err
	}
	var out []AgentToken
	for _, p := range list.Prefixes {
		t, ok, err := get[tokenRow](g, tokenKey(p))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("token %s of %s has no row", p, d)
		}
		out = append(out, AgentToken{Prefix: p, Surface: t.Surface, Made: t.Made})
	}
	return out, nil
}
