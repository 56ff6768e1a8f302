package attestation

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

func TestRegistryHasNoHoles(t *testing.T) {
	seen := map[Type]bool{}
	for _, r := range rules {
		t.Run(string(r.Type), func(t *testing.T) {
			switch {
			case !r.Type.Valid():
				t.Error("type has not the form of one")
			case seen[r.Type]:
				t.Error("type stands twice")
			case r.Subject < NoSubject || r.Subject > SubjectAny:
				t.Error("no subject rule")
			case r.Data == nil:
				t.Error("no data struct")
			case r.Body < NoBody || r.Body > MustBody:
				t.Error("no body rule")
			case (r.Body == NoBody) != (r.Schema == ""):
				t.Error("body rule and schema differ")
			case (r.Body == NoBody) != (r.Readers == ReadersNone):
				t.Error("body rule and readers differ")
			case r.Readers < ReadersNone || r.Readers > ReadersParties:
				t.Error("no readers")
			case len(r.Refs) > MaxRefs:
				t.Error("more refs than an event may have")
			case r.Says == "":
				t.Error("no sentence")
			}
			if k := reflect.TypeOf(r.Data()).Kind(); k != reflect.Pointer {
				t.Errorf("data is a %s, wanted a pointer", k)
			}
			if _, err := envelope.Marshal(reflect.ValueOf(r.Data()).Elem().Interface()); err != nil && strings.Contains(err.Error(), "allow") {
				t.Errorf("data has a shape the format does not allow: %v", err)
			}
			seen[r.Type] = true
		})
	}
}

func TestBarriersAreThoseOfTheFormat(t *testing.T) {
	want := map[Type]bool{"key.rotated": true, "agent.revoked": true, "loan.revoked": true, "loan.ended": true, "dispute.filed": true, "dispute.evidence": true}
	for _, r := range rules {
		if r.Has(Barrier) != want[r.Type] {
			t.Errorf("%s: barrier %t", r.Type, r.Has(Barrier))
		}
	}
}

func good(t *testing.T) Event {
	t.Helper()
	agent := did.MustParse("did:web:acme.example:agents:a")
	id := envelope.IDOf([]byte("object"))
	data, err := envelope.Marshal(AgentIssued{Agent: agent, ID: id, Name: "a", Serial: 1})
	if err != nil {
		t.Fatal(err)
	}
	at, _ := envelope.ParseTime("2026-12-01T10:00:00Z")
	return Event{At: at, Data: data, Kid: "k", Nonce: "oKCgoKCgoKCgoKCgoKCgoA", Org: did.MustParse("did:web:acme.example"), Refs: []envelope.ID{id}, Subject: agent.String(), Type: "agent.issued"}
}

func TestEventFormIsRefusedByName(t *testing.T) {
	if err := good(t).Check(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		change func(*Event)
		want   string
	}{
		"a type of one word":             {func(e *Event) { e.Type = "agent" }, "type"},
		"a type in upper case":           {func(e *Event) { e.Type = "Agent.issued" }, "type"},
		"a type that begins with digits": {func(e *Event) { e.Type = "agent.1" }, "type"},
		"an underscore in the family":    {func(e *Event) { e.Type = "a_b.c" }, "type"},
		"a type of 49 bytes":             {func(e *Event) { e.Type = Type("a." + strings.Repeat("b", 47)) }, "type"},
		"no organization":                {func(e *Event) { e.Org = did.DID{} }, "organization"},
		"a kid that is no fragment":      {func(e *Event) { e.Kid = "a b" }, "kid"},
		"no time":                        {func(e *Event) { e.At = envelope.Time{} }, "time"},
		"nine refs":                      {func(e *Event) { e.Refs = make([]envelope.ID, 9) }, "refs"},
		"data that is a list":            {func(e *Event) { e.Data = envelope.Raw("[]") }, "data"},
		"a subject that is a word":       {func(e *Event) { e.Subject = "acme" }, "subject"},
		"a short nonce":                  {func(e *Event) { e.Nonce = "oKCg" }, "nonce"},
		"a nonce with loose end bits":    {func(e *Event) { e.Nonce = "oKCgoKCgoKCgoKCgoKCgoB" }, "nonce"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := good(t)
			c.change(&e)
			if err := e.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want something about %q", err, c.want)
			}
		})
	}
}

func TestKnownTypesKeepTheirRule(t *testing.T) {
	other := envelope.IDOf([]byte("other"))
	cases := map[string]func(*Event){
		"another subject":         func(e *Event) { e.Subject = "did:web:acme.example:agents:b" },
		"no subject":              func(e *Event) { e.Subject = "" },
		"another object":          func(e *Event) { e.Refs = []envelope.ID{other} },
		"no refs":                 func(e *Event) { e.Refs = nil },
		"a body":                  func(e *Event) { e.Body = other },
		"data of another type":    func(e *Event) { e.Data = envelope.Raw(`{"root":"` + other.String() + `"}`) },
		"data with a member more": func(e *Event) { e.Data = append(e.Data[:len(e.Data)-1:len(e.Data)-1], `,"x":1}`...) },
	}
	if err := CheckKnown(good(t)); err != nil {
		t.Fatal(err)
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			e := good(t)
			change(&e)
			if err := CheckKnown(e); err == nil {
				t.Error("accepted")
			}
		})
	}
	e := good(t)
	e.Type, e.Subject, e.Refs = "weather.seen", "", nil
	if err := CheckKnown(e); err != nil {
		t.Errorf("a type not known here is never judged: %v", err)
	}
}

func TestWhatIsErasedOrDeletedKeepsItsRule(t *testing.T) {
	perm := envelope.IDOf([]byte("permission"))
	deleted := good(t)
	deleted.Type, deleted.Subject = "loan.deleted", perm.String()
	deleted.Data = envelope.Raw(`{"deleted_at":"2026-12-31T00:00:00Z","permission":"` + perm.String() + `","verified":true}`)
	erased := good(t)
	erased.Type, erased.Subject, erased.Refs, erased.Data = "log.erased", "", []envelope.ID{}, envelope.Raw(`{"cause":"body","index":812}`)
	for _, e := range []Event{deleted, erased} {
		if err := CheckKnown(e); err != nil {
			t.Errorf("%s: %v", e.Type, err)
		}
	}
	cases := map[string]func() Event{
		"deleted under another permission": func() Event { e := deleted; e.Subject = envelope.IDOf([]byte("other")).String(); return e },
		"deleted under no loan.issued":     func() Event { e := deleted; e.Refs = nil; return e },
		"deleted at no time": func() Event {
			e := deleted
			e.Data = envelope.Raw(`{"permission":"` + perm.String() + `","verified":true}`)
			return e
		},
		"erased with a subject":         func() Event { e := erased; e.Subject = perm.String(); return e },
		"erased with a ref":             func() Event { e := erased; e.Refs = []envelope.ID{perm}; return e },
		"erased at no index":            func() Event { e := erased; e.Data = envelope.Raw(`{"cause":"body"}`); return e },
		"erased at an index below zero": func() Event { e := erased; e.Data = envelope.Raw(`{"cause":"body","index":-1}`); return e },
	}
	for name, e := range cases {
		t.Run(name, func(t *testing.T) {
			if CheckKnown(e()) == nil {
				t.Error("accepted")
			}
		})
	}
	if r, _ := RuleOf("log.erased"); !r.Has(Sequencer) {
		t.Error("log.erased can be drafted")
	}
}

func TestSentinelsKnowTheirCode(t *testing.T) {
	var told interface{ FaultCode() string }
	if err := fmt.Errorf("%w: 100000 items wait", ErrBacklog); !errors.As(err, &told) || told.FaultCode() != "unavailable" || !errors.Is(err, ErrBacklog) {
		t.Errorf("%v is told as %v", err, told)
	}
}
