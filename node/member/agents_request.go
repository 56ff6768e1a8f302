package member

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// AgentDraft is an agent object to be signed by whoever holds the agent's key.
type AgentDraft struct {
	ID   envelope.ID
	Body keyring.Agent
	Data []byte // the file
}

// DraftAgent makes the draft of an agent whose key is held elsewhere: what this
// organization would issue now. It keeps nothing and grants nothing; the holder signs it,
// and AddAgent takes it back within 7 days, asked for in the same words.
func (m *Member) DraftAgent(ctx context.Context, in AgentInput) (AgentDraft, error) {
	if in.For == "" {
		return AgentDraft{}, fault.New(fault.Invalid, "for", "nobody is named who holds the agent's key").WithHint("name the agent's did:key with --for")
	}
	m.own.Lock()
	defer m.own.Unlock()
	at, err := m.now()
	if err != nil {
		return AgentDraft{}, err
	}
	t, err := m.plan(ctx, in, at)
	if err != nil {
		return AgentDraft{}, err
	}
	_, kid, err := m.n.Signers.Issuer(ctx)
	if err != nil {
		return AgentDraft{}, err
	}
	a, err := m.agentBody(ctx, t, t.holder, kid, at)
	if err != nil {
		return AgentDraft{}, err
	}
	e, err := keyring.Draft(a)
	if err != nil {
		return AgentDraft{}, agentForm(err)
	}
	if _, err := m.mayBear(self.ViewGetter(ctx, m.n.DB), self.AgentRow{Agent: a.Agent, Name: a.Name}, at); err != nil {
		return AgentDraft{}, err
	}
	return AgentDraft{ID: e.ID(), Body: a, Data: append(e.DSSE(), '\n')}, nil
}

// holder reads who holds a key elsewhere.
func holder(text string) (did.PublicKey, error) {
	const hint = "--for takes the agent's DID, did:key:z6Mk…, as its holder tells it"
	d, err := did.Parse(text)
	if err != nil {
		return did.PublicKey{}, fault.Wrap(fault.Invalid, "for", err).WithHint(hint)
	}
	k, err := didkey.Key(d)
	if err != nil {
		return did.PublicKey{}, fault.Wrap(fault.Invalid, "for", err).WithHint(hint)
	}
	if k.Algorithm() != did.Ed25519 {
		return did.PublicKey{}, fault.New(fault.Invalid, "for", "%s is no Ed25519 key", d).WithHint(hint)
	}
	return k, nil
}

// meant refuses a request whose granting was not asked for in words of the operator's own:
// the file comes from elsewhere, and may ask for anything.
func (in AgentInput) meant() error {
	_, a, err := openRequest(in.Request)
	if err != nil || in.Name != "" && in.For != "" && len(in.Can) > 0 {
		return err
	}
	return fault.New(fault.NeedsApproval, "request", "the file asks for: %s, %s %s, can %s, from %s to %s", a.Agent, a.Kind, a.Name, caps(a), a.NotBefore, a.NotAfter).
		WithHint("to grant that, say it: trustnode agent add %s", granting(a))
}

// granting is a request as the operator would say it.
func granting(a keyring.Agent) string {
	words := []string{a.Name}
	for _, c := range a.Capabilities {
		words = append(words, "--can", string(c))
	}
	if a.Kind != keyring.KindAgent {
		words = append(words, "--kind", string(a.Kind))
	}
	if a.Display != "" {
		words = append(words, "--display", fmt.Sprintf("%q", a.Display))
	}
	if d := days(a); d != maxAgentDays {
		words = append(words, "--days", fmt.Sprint(d))
	}
	return strings.Join(append(words, "--for", a.Agent.String(), "--request", "FILE"), " ")
}

func days(a keyring.Agent) int { return int(a.NotAfter.Sub(a.NotBefore) / (24 * time.Hour)) }

func caps(a keyring.Agent) string {
	var out []string
	for _, c := range a.Capabilities {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}

// openRequest reads a request file and verifies that the holder of its key signed it.
func openRequest(file []byte) (envelope.Envelope, keyring.Agent, error) {
	const hint = "the file is one line of DSSE JSON with exactly one signature, by the agent's own key; did/keyring/SPEC.md gives the bytes"
	e, err := envelope.ParseDSSE(bytes.TrimSuffix(file, []byte("\n")), envelope.MaxBytes[keyring.Agent]())
	if err != nil {
		return e, keyring.Agent{}, fault.Wrap(fault.Invalid, "request", err).WithHint(hint)
	}
	a, err := keyring.OpenRequest(e)
	if err != nil {
		return e, a, fault.Wrap(fault.Invalid, "request", err).WithHint(hint)
	}
	return e, a, nil
}

// requested lays a request over the term it was asked for.
func (m *Member) requested(t *term, file []byte, at time.Time) error {
	e, a, err := openRequest(file)
	if err != nil {
		return err
	}
	if a.Key.Pub != t.holder {
		return fault.New(fault.Refused, "request", "the file is signed by %s, it was asked for from another", a.Agent).WithHint("--for names whose key it is to be")
	}
	asked := a.IssuedAt.Time()
	if at.Sub(asked) > requestLife || asked.Sub(at) > requestLead || !a.Live(at) {
		return fault.New(fault.Expired, "request", "the draft is of %s, and holds %d days", a.IssuedAt, int(requestLife/(24*time.Hour))).WithHint("%s", draftAgain)
	}
	t.request, t.asked = e, asked
	return nil
}

const draftAgain = "draft it again with --draft FILE, and have that signed"

// differs says what a request asks for that the organization would not issue.
func differs(want keyring.Agent, request envelope.Envelope) error {
	got, err := envelope.Decode[keyring.Agent](request)
	if err != nil {
		return err
	}
	refuse := func(what string, its, yours any) error {
		return fault.New(fault.Refused, "request", "the file asks for %s %v, you for %v", what, its, yours).
			WithHint("to grant what it asks for: trustnode agent add %s", granting(got))
	}
	moved := func(what string) error {
		return fault.New(fault.Conflict, "request", "%s since the draft was made", what).WithHint("%s", draftAgain)
	}
	switch {
	case got.Org != want.Org:
		return fault.New(fault.Refused, "request", "the file is for %s", place(got.Org)).WithHint("%s", draftAgain)
	case got.Name != want.Name:
		return refuse("name", got.Name, want.Name)
	case got.Kind != want.Kind:
		return refuse("kind", got.Kind, want.Kind)
	case !slices.Equal(got.Capabilities, want.Capabilities):
		return refuse("capabilities", caps(got), caps(want))
	case got.Display != want.Display:
		return refuse("role", fmt.Sprintf("%q", got.Display), fmt.Sprintf("%q", want.Display))
	case got.NotAfter != want.NotAfter || got.NotBefore != want.NotBefore:
		return refuse("validity", fmt.Sprintf("%s to %s", got.NotBefore, got.NotAfter), fmt.Sprintf("%s to %s", want.NotBefore, want.NotAfter))
	case got.Kid != want.Kid || got.DIDVersion != want.DIDVersion:
		return moved("the organization's key changed")
	case got.Serial != want.Serial:
		return moved(fmt.Sprintf("the agent was issued anew, with serial %d,", want.Serial-1))
	}
	return fault.New(fault.Refused, "request", "the file carries more than a draft does").WithHint("%s", draftAgain)
}
