package mediation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// The organizations of the stories. dora and eve are outside of everything.
var (
	acme    = did.MustParse("did:web:acme.example")
	vendor  = did.MustParse("did:web:vendor.example")
	arbiter = did.MustParse("did:web:arbiter.example")
	second  = did.MustParse("did:web:second.example")
	third   = did.MustParse("did:web:third.example")
	fourth  = did.MustParse("did:web:fourth.example")
	dora    = did.MustParse("did:web:dora.example")
	eve     = did.MustParse("did:web:eve.example")
	quant   = did.MustParse("did:web:vendor.example:agents:quant")

	orgKeys = func() envelopetest.Keys {
		k := envelopetest.Keys{}
		for i, o := range []did.DID{acme, vendor, arbiter, second, third, fourth, dora, eve} {
			k[o] = map[string]did.PublicKey{"key-1": envelopetest.Repeat(byte(i + 1)).Public()}
		}
		return k
	}()
	orgSigner = func() map[did.DID]*envelopetest.Signer {
		m := map[did.DID]*envelopetest.Signer{}
		for i, o := range []did.DID{acme, vendor, arbiter, second, third, fourth, dora, eve} {
			m[o] = envelopetest.Repeat(byte(i + 1))
		}
		return m
	}()
	loan = envelope.IDOf([]byte("loan"))
	t0   = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
)

const day = 24 * time.Hour

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// terms are those of a federation with a neutral mediator and its alternates, then a draw.
func terms(ladder []string, neutral ...did.DID) Terms {
	t := Terms{Charter: CharterRef{ID: envelope.IDOf([]byte("charter")), Seq: 3}, Groups: map[did.DID]int{}, Ladder: ladder, Neutral: neutral,
		Respond: 7 * day, Evidence: 6 * day, Ack: day, Decide: 10 * day, Appeal: 5 * day, Enforce: 4 * day}
	for _, o := range []did.DID{acme, vendor, arbiter, second, third, fourth, dora} {
		t.Members = append(t.Members, Member{Org: o, Active: true})
	}
	return t
}

func standard() Terms { return terms([]string{"neutral", "rotating"}, arbiter, second, third, fourth) }

// tale is a case under way: signed facts, cosigned by dora at the time of the tale.
type tale struct {
	t     testing.TB
	terms Terms
	now   time.Time
	facts []attestation.Fact
	index map[did.DID]uint64
	n     int
	id    envelope.ID
	seen  did.DID // who cosigns; zero: nobody
}

func begin(t testing.TB, terms Terms) *tale {
	s := &tale{t: t, terms: terms, now: t0, index: map[did.DID]uint64{}, seen: dora}
	if !terms.member(dora) {
		s.seen = arbiter
	}
	return s
}

func (s *tale) nonce() string { s.n++; return fmt.Sprintf("%021dA", s.n) }

// says adds a fact: signed by org, first seen now.
func (s *tale) says(org did.DID, typ attestation.Type, data any, body any) attestation.Fact {
	s.t.Helper()
	if data == nil {
		data = attestation.Empty{}
	}
	ev := attestation.Event{At: envelope.TimeOf(s.now), Data: must(envelope.Marshal(data)), Kid: "key-1", Nonce: s.nonce(), Org: org, Refs: []envelope.ID{}, Subject: s.id.String(), Type: typ}
	f := attestation.Fact{Index: s.index[org]}
	s.index[org]++
	if body != nil {
		f.Body = must(envelope.Marshal(body))
		ev.Body = envelope.IDOf(f.Body)
	}
	if typ == "dispute.filed" && s.id.IsZero() {
		s.id = ev.Body
		ev.Subject = s.id.String()
	}
	e := must(envelope.Seal(context.Background(), ev, orgSigner[org]))
	f.Event = must(envelope.Open[attestation.Event](context.Background(), e, orgKeys))
	if !s.seen.IsZero() && s.seen != org {
		f.Witnessed = []attestation.Seen{{Org: s.seen, At: envelope.TimeOf(s.now)}}
	}
	s.facts = append(s.facts, f)
	return f
}

func (s *tale) wait(d time.Duration) *tale { s.now = s.now.Add(d); return s }

func (s *tale) dispute(codes ...string) Dispute {
	d := Dispute{Against: vendor, Charter: s.terms.Charter, Evidence: envelope.IDOf([]byte("manifest")), Nonce: s.nonce(), Relief: []string{"score"}, Track: "normal"}
	for i, code := range codes {
		d.Claims = append(d.Claims, Claim{Acts: 3, Code: code, FirstAt: envelope.TimeOf(t0), LastAt: envelope.TimeOf(t0), N: uint64(i) + 1, Perm: loan, Subject: quant})
	}
	return d
}

func (s *tale) file(codes ...string) *tale {
	if len(codes) == 0 {
		codes = []string{"R1"}
	}
	s.says(acme, "dispute.filed", nil, s.dispute(codes...))
	return s
}

func (s *tale) ready(org did.DID, state State) *tale {
	s.says(org, "dispute.readied", attestation.DisputeReadied{State: string(state)}, nil)
	return s
}

func (s *tale) answer(replies ...string) *tale {
	a := Answer{Case: s.id, Nonce: s.nonce()}
	for i, r := range replies {
		a.Claims = append(a.Claims, Reply{uint64(i) + 1, r})
	}
	s.says(vendor, "dispute.answered", nil, a)
	return s
}

func (s *tale) seat(org did.DID, place uint64) *tale {
	s.says(org, "ruling.seated", nil, Assignment{Case: s.id, FreeOf: []string{"ties"}, Place: place, Rung: "neutral"})
	return s
}

func (s *tale) ruling(place uint64) Ruling {
	c := s.fold()
	r := Ruling{Case: s.id, Considered: c.Considered(), Outcome: "claimant", Place: place, Reasons: envelope.IDOf([]byte("why")), Remedies: []Remedy{}, Rung: "neutral", Summary: "read after the end"}
	for _, cl := range c.Dispute.Claims {
		r.Claims = append(r.Claims, Finding{Acts: cl.Acts, Items: []uint64{1}, N: cl.N, Result: "proven", Severity: 30_000})
	}
	r.Remedies = append(r.Remedies, Remedy{Claim: 1, Do: "score", N: 1})
	return r
}

func (s *tale) rule(org did.DID, r Ruling) *tale {
	s.says(org, "ruling.issued", nil, r)
	return s
}

// toSeat is a case whose both sides are ready through drawing.
func (s *tale) toSeat() *tale {
	return s.file().ready(acme, Drawing).wait(time.Minute).answer("deny").ready(vendor, Drawing).wait(time.Minute)
}

func (s *tale) fold() Case { return Fold(s.terms, s.facts, s.now) }

func (s *tale) foldAt(at time.Time) Case { return Fold(s.terms, s.facts, at) }

func shuffled(r *rand.Rand, in []attestation.Fact) []attestation.Fact {
	out := append([]attestation.Fact{}, in...)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
