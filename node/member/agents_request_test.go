package member

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// outside is a key that no node holds.
func outside(b byte) (envelope.Signer, string) {
	k := envelopetest.Repeat(b)
	d, err := didkey.FromKey(k.Public())
	if err != nil {
		panic(err)
	}
	return k, d.String()
}

// signed has the holder of a key sign a draft, as any DSSE library does.
func signed(t *testing.T, d AgentDraft, key envelope.Signer) []byte {
	t.Helper()
	e, err := envelope.ParseDSSE(bytes.TrimSuffix(d.Data, []byte("\n")), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := key.Sign(t.Context(), e.Preimage())
	if err != nil {
		t.Fatal(err)
	}
	return append(e.With(envelope.Signature{KeyID: "my-key", Sig: sig}).DSSE(), '\n')
}

func (o *org) drafts(in AgentInput) AgentDraft {
	o.t.Helper()
	d, err := o.DraftAgent(o.t.Context(), in)
	if err != nil {
		o.t.Fatalf("%s: draft: %v", o.name, err)
	}
	return d
}

// TestAnAgentWhoseKeyLiesElsewhere: drafted, signed by its holder, countersigned; the node
// never had the key, does not renew it, and a peer takes the object as any other.
func TestAnAgentWhoseKeyLiesElsewhere(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	key, d := outside(0x31)
	in := AgentInput{Name: "billing", Can: []string{"borrow"}, Days: 10, Display: "invoices", For: d}
	draft := acme.drafts(in)
	if got := acme.eventTypes(); slices.Contains(got, "agent.issued") {
		t.Errorf("a draft alone is logged: %v", got)
	}
	clock.turn(3 * 24 * time.Hour)
	in.Request = signed(t, draft, key)
	a, err := acme.AddAgent(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	want := self.AgentRow{Agent: did.MustParse(d), Capabilities: []string{"borrow"}, KID: key.Public().Multikey(), Kind: "agent", Name: "billing", NotAfter: envelope.TimeOf(t0.Add(10 * 24 * time.Hour)),
		NotBefore: envelope.TimeOf(t0), Object: draft.ID, Org: acme.did, Pub: key.Public(), Serial: 1}
	if !same(a, want) {
		t.Errorf("got %+v, want %+v", a, want)
	}
	acme.logTo(vendor)
	vendor.project()
	if took, err := vendor.TakeAgent(ctx, acme.object(a.Object)); err != nil || !took {
		t.Errorf("at a peer: %v, %v", took, err)
	}
	if v, err := acme.ShowAgent(ctx, "billing"); err != nil || v.Display != "invoices" || !v.RenewsAt.IsZero() {
		t.Errorf("shown as %+v, %v", v, err)
	}
	// It is the same once more: the file was taken, and is worth nothing now.
	_, err = acme.AddAgent(ctx, in)
	refusedAs(t, err, fault.Conflict, "name_taken")
	clock.turn(5 * 24 * time.Hour)
	if err := acme.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := acme.Expiring(ctx, clock.Now()); err != nil || len(n) != 1 {
		t.Errorf("%v are expiring, %v", n, err)
	}
	clock.turn(3 * 24 * time.Hour)
	if row, _ := acme.row(a.Agent); row.Serial != 1 || row.State(clock.Now()) != self.AgentEnded {
		t.Errorf("the node renewed what it has no key for: %+v", row)
	}
	// The old request does not renew it, nor does the node make a key of its own for it.
	_, err = acme.AddAgent(ctx, in)
	refusedAs(t, err, fault.Expired, "request")
	_, err = acme.AddAgent(ctx, AgentInput{Name: "billing"})
	refusedAs(t, err, fault.Conflict, "no_key")
	// A new draft of what it was.
	next := acme.drafts(AgentInput{Name: "billing", For: d})
	if b := next.Body; b.Serial != 2 || b.Display != "invoices" || days(b) != 10 || !slices.Equal(b.Capabilities, []keyring.Capability{"borrow"}) {
		t.Errorf("drafted anew: %+v", b)
	}
	in.Request = signed(t, next, key)
	if b, err := acme.AddAgent(ctx, in); err != nil || b.Serial != 2 || b.Agent != a.Agent {
		t.Errorf("renewed: %+v, %v", b, err)
	}
}

func TestRequestsThatAreNotGranted(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	key, d := outside(0x31)
	thief, theirs := outside(0x32)
	meant := AgentInput{Name: "billing", Can: []string{"borrow"}, For: d}
	draft := acme.drafts(meant)
	asks := func(change func(*AgentInput)) []byte { // what another draft asks for
		in := meant
		change(&in)
		d := acme.drafts(in)
		by := key
		if in.For == theirs {
			by = thief
		}
		return signed(t, d, by)
	}
	body := func(change func(*keyring.Agent)) []byte { // what nobody drafted
		a := draft.Body
		change(&a)
		e, err := keyring.RequestAgent(t.Context(), a, key)
		if err != nil {
			t.Fatal(err)
		}
		return e.DSSE()
	}
	foreign := vendor.drafts(meant)
	good := signed(t, draft, key)
	for _, c := range []struct {
		name   string
		file   []byte
		code   fault.Code
		reason string
		says   string
	}{
		{"a capability more", asks(func(in *AgentInput) { in.Can = []string{"borrow", "lend"} }), fault.Refused, "request", "capabilities borrow, lend"},
		{"another name", asks(func(in *AgentInput) { in.Name = "root" }), fault.Refused, "request", "name root"},
		{"a longer life", body(func(a *keyring.Agent) { a.NotAfter = a.NotBefore.Add(29 * 24 * time.Hour) }), fault.Refused, "request", "validity"},
		{"a role", asks(func(in *AgentInput) { in.Display = "treasurer" }), fault.Refused, "request", "role"},
		{"a person", asks(func(in *AgentInput) { in.Kind = "human" }), fault.Refused, "request", "kind human"},
		{"an extension", body(func(a *keyring.Agent) { a.Ext = envelope.Raw(`{"x":1}`) }), fault.Refused, "request", "more than a draft"},
		{"a higher serial", body(func(a *keyring.Agent) { a.Serial = 9 }), fault.Conflict, "request", "issued anew"},
		{"an older key of ours", body(func(a *keyring.Agent) { a.Kid = "key-0" }), fault.Conflict, "request", "key changed"},
		{"another organization", signed(t, foreign, key), fault.Refused, "request", "vendor.example"},
		{"another key than was told", asks(func(in *AgentInput) { in.For = theirs }), fault.Refused, "request", "asked for from another"},
		{"signed by nobody", draft.Data, fault.Invalid, "request", "signatures"},
		{"signed by another key", signed(t, draft, thief), fault.Invalid, "request", "signature"},
		{"a draft of eight days ago", body(func(a *keyring.Agent) {
			a.IssuedAt = a.IssuedAt.Add(-8 * 24 * time.Hour)
			a.NotBefore, a.NotAfter = a.IssuedAt, a.IssuedAt.Add(30*24*time.Hour)
		}), fault.Expired, "request", "7 days"},
		{"a draft of tomorrow", body(func(a *keyring.Agent) {
			a.IssuedAt = a.IssuedAt.Add(24 * time.Hour)
			a.NotBefore, a.NotAfter = a.IssuedAt, a.IssuedAt.Add(30*24*time.Hour)
		}), fault.Expired, "request", ""},
		{"no JSON", []byte("x"), fault.Invalid, "request", ""},
		{"more after the end", append(slices.Clone(good), good...), fault.Invalid, "request", ""},
		{"a line feed before it", append([]byte("\n"), good...), fault.Invalid, "request", ""},
		{"too large a file", bytes.Repeat([]byte("x"), 1<<20), fault.Invalid, "request", ""},
		{"a file of another type", acme.beaconFile(), fault.Invalid, "request", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := meant
			in.Request = c.file
			_, err := acme.AddAgent(t.Context(), in)
			refusedAs(t, err, c.code, c.reason)
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to say %q", err, c.says)
			}
		})
	}
	if got := acme.eventTypes(); slices.Contains(got, "agent.issued") {
		t.Errorf("log holds %v", got)
	}
	in := meant
	in.Request = good
	if _, err := acme.AddAgent(t.Context(), in); err != nil {
		t.Errorf("what was meant: %v", err)
	}
}

func (o *org) beaconFile() []byte { return o.beacon().DSSE() }

// TestAFileAloneGrantsNothing: who only hands the file in is told what it asks for, and how
// to say so.
func TestAFileAloneGrantsNothing(t *testing.T) {
	acme := found(t, "acme", newDial())
	key, d := outside(0x31)
	full := AgentInput{Name: "billing", Can: []string{"borrow", "lend"}, Days: 10, For: d}
	file := signed(t, acme.drafts(full), key)
	for name, in := range map[string]AgentInput{"the file": {}, "and a name": {Name: "billing"}, "and a key": {Name: "billing", For: d}, "and no key": {Name: "billing", Can: full.Can}} {
		in.Request = file
		_, err := acme.AddAgent(t.Context(), in)
		refusedAs(t, err, fault.NeedsApproval, "request")
		if got, want := fault.From(err).Hint, "billing --can borrow --can lend --days 10 --for "+d+" --request FILE"; !strings.HasSuffix(got, want) {
			t.Errorf("%s: hint is %q, want it to end with %q", name, got, want)
		}
	}
	if list, err := acme.Agents(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("agents %v, %v", list, err)
	}
}

func TestRequestAfterARotation(t *testing.T) {
	acme := found(t, "acme", newDial())
	key, d := outside(0x31)
	in := AgentInput{Name: "billing", Can: []string{"borrow"}, For: d}
	in.Request = signed(t, acme.drafts(in), key)
	if _, err := acme.Rotate(t.Context(), RotateInput{Reason: "scheduled", Authority: acme.authority()}); err != nil {
		t.Fatal(err)
	}
	_, err := acme.AddAgent(t.Context(), in)
	refusedAs(t, err, fault.Conflict, "request")
}

// TestPersons: a person's key signs itself, may approve, and no background job renews it.
func TestPersons(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	key, d := outside(0x41)
	in := AgentInput{Name: "ines", Kind: "human", Can: []string{"approve", "lend"}, For: d}
	alone := in
	alone.For = ""
	_, err := acme.AddAgent(ctx, alone)
	refusedAs(t, err, fault.Invalid, "person")
	_, err = acme.AddAgent(ctx, in)
	refusedAs(t, err, fault.Invalid, "request")
	in.Request = signed(t, acme.drafts(in), key)
	a, err := acme.AddAgent(ctx, in)
	if err != nil || a.Kind != "human" || a.May("approve", clock.Now()) != nil {
		t.Fatalf("got %+v, %v", a, err)
	}
	if _, _, err := acme.MakeToken(ctx, "ines", ForHTTP); fault.From(err).Reason != "no_key" {
		t.Errorf("a token for a person: %v", err)
	}
	// Even with the key at hand the node renews no person.
	if _, err := acme.keys.Import(ctx, bytes.Repeat([]byte{0x41}, 32)); err != nil {
		t.Fatal(err)
	}
	clock.turn(21 * 24 * time.Hour)
	if err := acme.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if row, _ := acme.row(a.Agent); row.Serial != 1 {
		t.Errorf("renewed: %+v", row)
	}
	if n, err := acme.Expiring(ctx, clock.Now()); err != nil || len(n) != 1 {
		t.Errorf("%v are expiring, %v", n, err)
	}
	_, err = acme.AddAgent(ctx, AgentInput{Name: "bot", Kind: "agent", Can: []string{"approve"}})
	refusedAs(t, err, fault.Invalid, "capability")
	_, err = acme.AddAgent(ctx, AgentInput{Name: "bot", Kind: "robot", Can: []string{"lend"}})
	refusedAs(t, err, fault.Invalid, "kind")
}

// TestAnAgentOfAnotherOrganization: who claims a live or revoked agent of another member is
// refused on the own node already, and others do not believe it.
func TestAnAgentOfAnotherOrganization(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	key, d := outside(0x31)
	before := map[*org]AgentDraft{}
	for _, o := range []*org{acme, vendor, arbiter} {
		before[o] = o.drafts(AgentInput{Name: "mine", Can: []string{"lend"}, For: d})
	}
	claim := func(o *org) error {
		in := AgentInput{Name: "mine", Can: []string{"lend"}, For: d}
		draft, early := o.DraftAgent(ctx, in)
		if early != nil { // the holder may have signed one before; it is refused alike
			draft = before[o]
		}
		in.Request = signed(t, draft, key)
		_, err := o.AddAgent(ctx, in)
		if (early == nil) != (err == nil) {
			t.Errorf("drafting it: %v, adding it: %v", early, err)
		}
		return cmp.Or(early, err)
	}
	if err := claim(vendor); err != nil {
		t.Fatal(err)
	}
	learn := func(o *org) {
		vendor.logTo(o)
		o.project()
		for id := range must2(o.Wants(ctx, 10)) {
			if _, err := o.TakeAgent(ctx, vendor.object(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	learn(arbiter)
	learn(acme)
	refusedAs(t, claim(arbiter), fault.Conflict, "agent_claimed")
	v, err := acme.ShowAgent(ctx, d)
	if err != nil || v.Row.Org != vendor.did || v.State != self.AgentLive {
		t.Errorf("acme shows %+v, %v", v, err)
	}
	vendor.revokes(AgentRevokeInput{Agent: "mine"})
	learn(arbiter)
	learn(acme)
	refusedAs(t, claim(arbiter), fault.Conflict, "agent_claimed")
	refusedAs(t, claim(vendor), fault.Refused, "revoked_key")
	v, err = acme.ShowAgent(ctx, d)
	if err != nil || v.State != self.AgentRevoked || v.RevokedAt == nil || v.Reason != "ended" || !strings.Contains(v.Message, "agent mine of vendor.example was revoked at index") || v.Hint == "" {
		t.Errorf("acme shows %+v, %v", v, err)
	}
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOneKeyHasOneName(t *testing.T) {
	acme := found(t, "acme", newDial())
	key, d := outside(0x31)
	in := map[string]AgentInput{}
	for _, name := range []string{"first", "second"} {
		x := AgentInput{Name: name, Can: []string{"lend"}, For: d}
		x.Request = signed(t, acme.drafts(x), key)
		in[name] = x
	}
	if _, err := acme.AddAgent(t.Context(), in["first"]); err != nil {
		t.Fatal(err)
	}
	_, err := acme.AddAgent(t.Context(), in["second"])
	refusedAs(t, err, fault.Conflict, "agent_claimed")
	_, err = acme.DraftAgent(t.Context(), AgentInput{Name: "third", Can: []string{"lend"}, For: d})
	refusedAs(t, err, fault.Conflict, "agent_claimed")
}

func TestWhoseKeyItIs(t *testing.T) {
	acme := found(t, "acme", newDial())
	for name, text := range map[string]string{
		"nothing": "", "no DID": "z6Mk", "another method": "did:web:acme.example:bot", "the organization": acme.did.String(),
		"a P-256 key": "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", "a fragment": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK#x",
	} {
		_, err := acme.DraftAgent(t.Context(), AgentInput{Name: "x", Can: []string{"lend"}, For: text})
		if d := fault.From(err); d == nil || d.Code != fault.Invalid || d.Reason != "for" || d.Hint == "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
