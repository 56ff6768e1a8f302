package charter

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

func TestDiffSaysWhatChanges(t *testing.T) {
	k := world(acme, vendor, arbiter)
	chain := begun(t, k)
	for _, c := range []struct {
		name   string
		change func(b *Body)
		want   []string
	}{
		{"nothing but the place", func(b *Body) { b.ExpiresAt, b.NotBefore = chain.Head().ExpiresAt, chain.Head().NotBefore }, nil},
		{"a renewal", func(*Body) {}, []string{"valid from 2026-12-01T11:00:00Z to 2027-05-30T11:00:00Z, was from 2026-12-01T10:00:00Z to 2027-05-30T10:00:00Z"}},
		{"an add", func(b *Body) { admit(b); still(b, chain) }, []string{"add " + dora.did.String() + " (Dora), votes", `governance becomes {"threshold":3}, was {"threshold":2}`}},
		{"a name, a contact and the bindings", func(b *Body) {
			m := member(t, b, vendor)
			m.Name, m.Contact, m.BindingsMax = "V", "", 3
			still(b, chain)
		}, []string{
			vendor.did.String() + `: name becomes "V", was "Vendor"`,
			vendor.did.String() + `: contact becomes "", was "mailto:it@vendor.example"`,
			vendor.did.String() + `: bindings_max becomes "3", was "2"`,
		}},
		{"a vote", func(b *Body) { member(t, b, vendor).Votes = false; still(b, chain) }, []string{vendor.did.String() + ": does not vote, was votes"}},
		{"a head", func(b *Body) { moved(t, b, vendor, 2, seed(31)); still(b, chain) }, []string{
			vendor.did.String() + ": DID and key move to " + vendor.version(2) + " key " + seed(31).Public().Multikey() + ", from " + vendor.version(1) + " key " + vendor.Public().Multikey(),
		}},
		{"a policy", func(b *Body) { b.Policy.MaxLoanTTLS = hour; still(b, chain) }, []string{
			"policy becomes a loan lasts at most 1 hour and has at most 1000000 reads, was a loan lasts at most 30 days and has at most 1000000 reads",
		}},
		{"what has no words is told as it stands", func(b *Body) { b.Ext = envelope.Raw(`{"a":1}`); still(b, chain) }, []string{`ext becomes {"a":1}, was {}`}},
		{"an expulsion", func(b *Body) {
			m := member(t, b, vendor)
			m.Status, m.Cutoff = StatusExpelled, cutoff()
			still(b, chain)
		}, []string{"expel " + vendor.did.String() + " (Vendor)"}},
	} {
		b := child(t, chain)
		c.change(&b)
		ops, err := Diff(chain.Head().Body, b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, o := range ops {
			got = append(got, o.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// still keeps the validity of the parent.
func still(b *Body, c Chain) { b.NotBefore, b.ExpiresAt = c.Head().NotBefore, c.Head().ExpiresAt }

// TestNoMemberOfABodyEscapesDiff changes every member of the body, one at a time,
// through reflection: each change is an operation, an error, or one of the members
// that say where a charter stands.
func TestNoMemberOfABodyEscapesDiff(t *testing.T) {
	place := []string{"Authority", "Federation", "IssuedAt", "Nonce", "Prev", "Released", "Resolves", "Round", "Seq"}
	k := world(acme, vendor, arbiter)
	p := begun(t, k).Head().Body
	for _, part := range []struct {
		name  string
		value func(b *Body) reflect.Value
	}{
		{"Body", func(b *Body) reflect.Value { return reflect.ValueOf(b).Elem() }},
		{"Member", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Members[0]).Elem() }},
		{"Policy", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Policy).Elem() }},
		{"Mediation", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Mediation).Elem() }},
		{"Recovery", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Recovery).Elem() }},
		{"Governance", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Governance).Elem() }},
		{"Spec", func(b *Body) reflect.Value { return reflect.ValueOf(&b.Spec).Elem() }},
	} {
		n := part.value(new(Body{Members: make([]Member, 1)})).NumField()
		for i := range n {
			b := copyOf(t, p)
			v := part.value(&b)
			name := v.Type().Field(i).Name
			if !disturb(v.Field(i)) {
				continue // a struct, disturbed by its own members
			}
			ops, err := Diff(p, b)
			placed := part.name == "Body" && slices.Contains(place, name)
			if silent := err == nil && len(ops) == 0; silent != placed {
				t.Errorf("%s.%s: %v, %v", part.name, name, ops, err)
			}
		}
	}
}

func copyOf(t testing.TB, b Body) Body {
	t.Helper()
	raw, err := envelope.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var c Body
	if err := envelope.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// disturb gives a member another value; false for a struct that has members of its own.
func disturb(v reflect.Value) bool {
	switch x := v.Addr().Interface().(type) {
	case *envelope.Time:
		*x = x.Add(time.Second)
	case *envelope.ID:
		*x = envelope.IDOf([]byte(x.String() + "!"))
	case *did.DID:
		*x = eve.did
	case *envelope.Raw:
		*x = envelope.Raw(`{"a":1}`)
	case *string:
		*x += "!"
	case *uint64:
		*x++
	case *bool:
		*x = !*x
	case *Key:
		x.Kid += "!"
	default:
		switch v.Kind() {
		case reflect.Slice:
			v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
			if s, ok := v.Interface().([]envelope.ID); ok {
				s[len(s)-1] = envelope.IDOf(nil)
			}
			if s, ok := v.Interface().([]Member); ok {
				s[len(s)-1] = dora.member(7)
			}
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			} else {
				v.Set(reflect.Zero(v.Type()))
			}
		default:
			return false
		}
	}
	return true
}

func TestWordsTellEverythingOneSigns(t *testing.T) {
	b := trio(t)
	raw, err := envelope.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	id := envelope.IDOf(raw)
	want := []string{`charter 0 of the federation "fin-lending"`, "id " + id.String(), "fingerprint " + Fingerprint(id)}
	for _, m := range b.Members {
		want = append(want, "member "+m.DID.String()+`: "`+m.Name+`", votes, signs with `+m.Key.Pub.Multikey()+" at version "+m.DIDHead+`, at most 2 nodes, contact "`+m.Contact+`"`)
	}
	want = append(want,
		"a change needs 2 of 3 voters; 1 may be away; 1 could split the federation by signing twice",
		"no recovery keys: if too many voters are lost, nothing can be changed any more",
		"a dispute goes to, in this order: neutral, rotating",
		`neutral mediator: "Arbiter" (`+arbiter.did.String()+")",
		"draw from every active member, never a party or its affiliates",
		"deadlines: answer 7 days, evidence 7 days, mediator accepts 1 day, decides 10 days, votes 7 days, appeal 7 days, carry out 7 days",
	)
	var empty []string // where arbiter is a party itself, the neutral rung is empty
	for i, x := range b.Members {
		var with []string
		for _, y := range b.Members[i+1:] {
			if x.DID == arbiter.did || y.DID == arbiter.did {
				with = append(with, y.DID.String())
			}
		}
		if len(with) > 0 {
			empty = append(empty, "rung neutral is empty between "+x.DID.String()+" and "+strings.Join(with, ", "))
		}
	}
	if len(empty) == 0 {
		t.Fatal("no empty rung to tell")
	}
	want = append(want, empty...)
	want = append(want,
		"a loan lasts at most 30 days and has at most 1000000 reads",
		"signs of life every 5 minutes; new loans need one of the last 15 minutes from 1 other voter",
		"cut off from the others, running loans are read for 1 day more; clocks may differ by 2 minutes",
		"valid from 2026-12-01T10:00:00Z to 2027-05-30T10:00:00Z; without a newer charter no loan is issued or read after that",
	)
	if got := Words(b); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWordsOfRarerThings(t *testing.T) {
	b := trio(t)
	b.Recovery = Recovery{DelayS: 3 * day, Keys: []Key{{"recovery-1", spare.Public()}}, Threshold: 1}
	b.Mediation.Ladder = []string{"jury", "neutral", "rotating", "contract", "panel"}
	b.Mediation.Jury, b.Mediation.Contract = &Jury{Mode: "bench", Size: 5}, court()
	b.Mediation.Rotating = Rotating{Pool: []did.DID{arbiter.did}, Ties: []Tie{{acme.did, vendor.did}}}
	b.Policy.TrustPolicy = envelope.IDOf(nil)
	b.Spec = Spec{Critical: []string{"escrow"}, Max: 2, Min: 2}
	b.Ext = envelope.Raw(`{"a":1}`)
	b.Members[0].Status, b.Members[0].Cutoff = StatusExpelled, cutoff()
	text := strings.Join(Words(b), "\n")
	for _, want := range []string{
		"recovery by 1 of 1 key, in effect 3 days after it is seen", "recovery key recovery-1 " + spare.Public().Multikey(),
		"jury: 5 jurors, bench", "contract 0xabab", "1 of 1 key attest", "its draw is weaker", `draw from "Arbiter"`, "affiliates: ",
		"rung rotating is empty between ", "rung panel is empty between ", "trust is scored by policy z", "a node must know escrow",
		"a node must know version 2", `carries extra data without effect: {"a":1}`, ", expelled",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said in\n%s", want, text)
		}
	}
	if got, want := b.NeedsUpgrade(), []string{"escrow", "spec"}; !slices.Equal(got, want) {
		t.Errorf("needs %v, want %v", got, want)
	}
}
