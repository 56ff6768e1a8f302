package charter

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// crowd is n organizations that founded a federation.
func crowd(b *testing.B, n int) (*keys, []envelope.Signer, Body) {
	b.Helper()
	var actors []actor
	var by []envelope.Signer
	o := Options{Name: "crowd"}
	for i := range n {
		a := org(fmt.Sprintf("m%03d", i), byte(i+1))
		actors, by = append(actors, a), append(by, a)
		o.Members = append(o.Members, a.member(0))
	}
	body, err := New(o, t0)
	if err != nil {
		b.Fatal(err)
	}
	return world(actors...), by, body
}

// BenchmarkAccept judges a charter with 64 signatures; its floor is beside it.
func BenchmarkAccept(b *testing.B) {
	k, by, body := crowd(b, 64)
	e := seal(b, body, by...)
	b.Run("genesis", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Genesis(e, k, t0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		msg := e.Preimage().Bytes()
		sigs := map[string]did.Signature{}
		for _, s := range e.Signatures {
			sigs[s.KeyID] = s.Sig
		}
		for b.Loop() {
			for _, s := range by {
				if err := s.Public().Verify(msg, sigs[s.Public().Multikey()]); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkWalk applies a file of 200 charters of 16 members.
func BenchmarkWalk(b *testing.B) {
	k, by, body := crowd(b, 16)
	f := File{Charters: []envelope.Envelope{seal(b, body, by...)}}
	c, _, err := Genesis(f.Charters[0], k, t0)
	if err != nil {
		b.Fatal(err)
	}
	for range 199 {
		next, err := Amend(c.Head(), c.Federation(), t0, 0)
		if err != nil {
			b.Fatal(err)
		}
		e := seal(b, next, by...)
		f.Charters = append(f.Charters, e)
		if c, _, err = c.Next(e, nil, k, t0); err != nil {
			b.Fatal(err)
		}
	}
	raw, err := f.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			f, err := ReadFile(bytes.NewReader(raw))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := Apply(b.Context(), Chain{}, f, k, t0.Add(time.Hour)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			for _, e := range f.Charters {
				msg := e.Preimage().Bytes()
				for _, s := range e.Signatures {
					pub, err := did.DecodeKey(s.KeyID)
					if err != nil || pub.Verify(msg, s.Sig) != nil {
						b.Fatal(err)
					}
				}
			}
		}
	})
}
