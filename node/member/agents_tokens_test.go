package member

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

func (o *org) token(name, surface string) (string, AgentToken) {
	o.t.Helper()
	text, t, err := o.MakeToken(o.t.Context(), name, surface)
	if err != nil {
		o.t.Fatalf("%s: token: %v", o.name, err)
	}
	return text, t
}

// turnedAway wants a token refused, and its text nowhere in the refusal.
func (o *org) turnedAway(text, surface, reason string) {
	o.t.Helper()
	row, err := o.Authenticate(o.t.Context(), text, surface)
	refusedAs(o.t, err, fault.Unauthenticated, reason)
	d := fault.From(err)
	if row.Name != "" || len(text) > 12 && strings.Contains(d.Error()+d.Hint, text) {
		o.t.Errorf("got %+v, %v", row, err)
	}
}

func TestTokens(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	a := acme.agent("research", "borrow")
	acme.agent("other", "borrow")
	text, tok := acme.token("research", ForHTTP)
	second, _ := acme.token(a.Agent.String(), ForMCP)
	if len(text) != 47 || !strings.HasPrefix(text, "tn1_") || tok.Prefix != text[:12] || tok.Surface != "http" || tok.Made != envelope.TimeOf(t0) || text == second {
		t.Errorf("got %q, %+v", text, tok)
	}
	if row, err := acme.Authenticate(t.Context(), text, ForHTTP); err != nil || row.Agent != a.Agent {
		t.Errorf("got %+v, %v", row, err)
	}
	if row, err := acme.Authenticate(t.Context(), second, ForMCP); err != nil || row.Agent != a.Agent {
		t.Errorf("got %+v, %v", row, err)
	}
	flip := func(i int) string {
		b := []byte(text)
		if b[i]++; b[i] == 'z'+1 || b[i] == 'Z'+1 || b[i] == '9'+1 {
			b[i] = 'a'
		}
		return string(b)
	}
	for _, wrong := range []string{"", "tn1_", text[:46], text + "A", text[:12], strings.ToUpper(text), flip(4), flip(11), flip(12), flip(46), "tno_" + text[4:], " " + text[:46], strings.Repeat("x", 1<<20)} {
		acme.turnedAway(wrong, ForHTTP, "token")
	}
	acme.turnedAway(text, ForMCP, "token") // for another surface
	acme.turnedAway(second, ForHTTP, "token")
	v, err := acme.ShowAgent(t.Context(), "research")
	if err != nil || len(v.Tokens) != 2 || v.Tokens[0] != tok || v.Tokens[1].Prefix != second[:12] {
		t.Errorf("shown are %+v, %v", v.Tokens, err)
	}
	if err := acme.RevokeToken(t.Context(), tok.Prefix); err != nil {
		t.Fatal(err)
	}
	acme.turnedAway(text, ForHTTP, "token")
	if _, err := acme.Authenticate(t.Context(), second, ForMCP); err != nil {
		t.Errorf("the other one: %v", err)
	}
	for _, p := range []string{tok.Prefix, "", "tn1_", "tn1_AAAAAAAA", strings.Repeat("x", 100)} {
		err := acme.RevokeToken(t.Context(), p)
		refusedAs(t, err, fault.NotFound, "token")
	}
	if err := acme.RevokeToken(t.Context(), second); err != nil { // the whole text will do
		t.Error(err)
	}
	acme.turnedAway(second, ForMCP, "token")
}

// TestTheTextOfATokenIsKeptNowhere looks through the whole state for it.
func TestTheTextOfATokenIsKeptNowhere(t *testing.T) {
	acme := found(t, "acme", newDial())
	acme.agent("research", "borrow")
	text, _ := acme.token("research", ForHTTP)
	for _, db := range []store.DB{acme.state, acme.audit} {
		err := db.View(t.Context(), func(r store.Reader) error {
			return r.Scan(nil, nil, func(k, v []byte) bool {
				if all := string(k) + string(v); strings.Contains(all, text[12:]) || strings.Contains(all, text[12:40]) {
					t.Errorf("%q holds it", k)
				}
				return true
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestATokenEndsWithItsAgent: with its revocation at once, with its last second, and not
// with a renewal; an agent that comes back does not bring its tokens along.
func TestATokenEndsWithItsAgent(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	a := acme.agent("research", "borrow")
	text, _ := acme.token("research", ForHTTP)
	clock.turn(21 * 24 * time.Hour)
	if err := acme.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if row, err := acme.Authenticate(ctx, text, ForHTTP); err != nil || row.Serial != 2 {
		t.Errorf("after a renewal: %+v, %v", row, err)
	}
	clock.turn(30 * 24 * time.Hour)
	acme.turnedAway(text, ForHTTP, "agent_ended")
	_, _, err := acme.MakeToken(ctx, "research", ForHTTP)
	refusedAs(t, err, fault.Expired, "agent_ended")
	if b, err := acme.AddAgent(ctx, AgentInput{Name: "research"}); err != nil || b.Agent != a.Agent || !slices.Equal(b.Capabilities, a.Capabilities) {
		t.Fatalf("renewed by hand: %+v, %v", b, err)
	}
	acme.turnedAway(text, ForHTTP, "token")
	text, _ = acme.token("research", ForHTTP)
	acme.revokes(AgentRevokeInput{Agent: "research"})
	acme.turnedAway(text, ForHTTP, "token")
	_, _, err = acme.MakeToken(ctx, "research", ForHTTP)
	refusedAs(t, err, fault.Revoked, "agent_ended")
}

// TestATokenOfAnAgentThatTheLogRevoked: the row decides, whoever wrote it.
func TestATokenOfAnAgentThatTheLogRevoked(t *testing.T) {
	acme := found(t, "acme", newDial())
	a := acme.agent("research", "borrow")
	text, _ := acme.token("research", ForHTTP)
	acme.revoke(a) // as a log that came back from the peers says
	acme.project()
	acme.turnedAway(text, ForHTTP, "agent_ended")
}

func TestAsManyTokensAsAllowed(t *testing.T) {
	acme := found(t, "acme", newDial())
	acme.agent("research", "borrow")
	var first AgentToken
	for i := range maxTokens {
		if _, tok := acme.token("research", ForHTTP); i == 0 {
			first = tok
		}
	}
	_, _, err := acme.MakeToken(t.Context(), "research", ForHTTP)
	refusedAs(t, err, fault.Conflict, "tokens")
	if err := acme.RevokeToken(t.Context(), first.Prefix); err != nil {
		t.Fatal(err)
	}
	acme.token("research", ForHTTP)
	_, _, err = acme.MakeToken(t.Context(), "research", "ftp")
	refusedAs(t, err, fault.Invalid, "surface")
	_, _, err = acme.MakeToken(t.Context(), "ghost", ForHTTP)
	refusedAs(t, err, fault.NotFound, "agent")
}

func TestShowAgent(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	a, err := acme.AddAgent(ctx, AgentInput{Name: "research", Can: []string{"lend"}, Days: 3, Display: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	acme.project()
	v, err := acme.ShowAgent(ctx, "research")
	if err != nil || v.State != self.AgentLive || v.Row.Index != 2 || v.Display != "desk" || v.RenewsAt != envelope.TimeOf(t0.Add(48*time.Hour)) || v.Message != "" {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, err := acme.ShowAgent(ctx, "ghost"); fault.Of(err) != fault.NotFound || fault.From(err).Hint == "" {
		t.Errorf("one that is not there: %v", err)
	}
	clock.turn(48*time.Hour + time.Second)
	if err := acme.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	v, err = acme.ShowAgent(ctx, a.Agent.String())
	if err != nil || v.Row.Serial != 2 || v.Display != "desk" || v.Row.NotAfter.Sub(v.Row.NotBefore) != 72*time.Hour {
		t.Errorf("renewed it is %+v, %v", v, err)
	}
	clock.turn(4 * 24 * time.Hour)
	v, err = acme.ShowAgent(ctx, "research")
	if err != nil || v.State != self.AgentEnded || !v.RenewsAt.IsZero() || v.Message != "agent research of acme.example ended at "+v.Row.NotAfter.String() || v.Hint != "trustnode agent add --name research renews it" {
		t.Errorf("ended it is %+v, %v", v, err)
	}
	for _, days := range []int{-1, 31} {
		_, err := acme.AddAgent(ctx, AgentInput{Name: "other", Can: []string{"lend"}, Days: days})
		refusedAs(t, err, fault.Invalid, "days")
	}
	if _, err := acme.AddAgent(ctx, AgentInput{Name: "other", Can: []string{"lend"}}); err != nil {
		t.Error(err)
	}
	_, err = acme.AddAgent(ctx, AgentInput{Name: "long", Can: []string{"lend"}, Display: strings.Repeat("x", 65)})
	refusedAs(t, err, fault.Invalid, "display")
}

// TestCredentialsAreMadeAtIssue: with the object or not at all, once, and kept as signed.
// It is identity I-21 (it is made once, at issue).
func TestCredentialsAreMadeAtIssue(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	ctx := t.Context()
	acme.agent("plain", "lend")
	c, err := acme.Credential(ctx, "plain")
	if err != nil || c.VC != nil || c.State != self.AgentLive || !slices.Equal(c.DSSE, acme.object(c.ID).DSSE()) {
		t.Errorf("without a maker: %+v, %v", c, err)
	}
	broken, made := errors.New("no hash"), 0
	var fails error
	acme.tweak = func(c *Config) {
		c.Credential = func(_ context.Context, v envelope.Verified[keyring.Agent], org envelope.Signer) ([]byte, error) {
			made++
			if org.Public() == v.Body().Key.Pub {
				t.Error("the agent's own key was handed over")
			}
			return []byte("vc of " + v.ID().String()), fails
		}
	}
	acme.start()
	a := acme.agent("research", "lend")
	for range 2 {
		if c, err = acme.Credential(ctx, "research"); err != nil || string(c.VC) != "vc of "+a.Object.String() || c.ID != a.Object || made != 1 {
			t.Errorf("got %+v, %v, made %d times", c, err, made)
		}
	}
	fails = broken
	if _, err := acme.AddAgent(ctx, AgentInput{Name: "third", Can: []string{"lend"}}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := acme.Credential(ctx, "third"); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("an agent without the credential it was to have: %v", err)
	}
	acme.revokes(AgentRevokeInput{Agent: "research"})
	if c, err := acme.Credential(ctx, "research"); err != nil || c.State != self.AgentRevoked {
		t.Errorf("revoked: %+v, %v", c, err)
	}
	for _, name := range []string{"", "ghost", "../research", "research/", strings.Repeat("x", 4096)} {
		if _, err := acme.Credential(ctx, name); !errors.Is(err, self.ErrNoAgent) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}
