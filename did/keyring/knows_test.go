package keyring_test

import (
	"bytes"
	"errors"
	"testing"

	"trustnode/did"
	"trustnode/did/keyring"
)

func TestKnows(t *testing.T) {
	r, one, a, b := forked(t)
	d := one.DID()
	further := rotated(t, b, u3, 5, 0) // the other branch goes on
	if _, err := r.Offer(t.Context(), d, further.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	third := rotated(t, one, u2, u3, ag)
	settled := copyOf(t, r)
	if _, err := settled.AcceptHead(t.Context(), d, b.Head().ID, charter); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]home{"frozen": r, "started again": r.restart(t), "decided": settled, "decided, started again": settled.restart(t)} {
		for _, c := range []struct {
			name    string
			d       did.DID
			version string
			want    bool
		}{
			{"a version before the fork", d, one.Head().ID, true},
			{"the head held first", d, a.Head().ID, true},
			{"an entry of the other branch", d, b.Head().ID, true},
			{"what that branch grew by", d, further.Head().ID, true},
			{"a branch that nobody offered", d, third.Head().ID, false},
			{"no version", d, "", false},
			{"a DID that is not held", did.MustParse("did:webvh:" + one.SCID() + ":x.example"), one.Head().ID, false},
			{"a did:key, whose one version is static", ag.did(), did.StaticVersion, true},
			{"another version of a did:key", ag.did(), one.Head().ID, false},
		} {
			if got := h.Knows(c.d, c.version); got != c.want {
				t.Errorf("%s, %s: %v", name, c.name, got)
			}
		}
	}
}

func TestLinesAndForks(t *testing.T) {
	r, one, a, b := forked(t)
	ctx, d := t.Context(), one.DID()
	third := rotated(t, one, u2, u3, ag)
	if _, err := r.Offer(ctx, d, third.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	want := [][]byte{a.Head().Line, b.Head().Line, third.Head().Line}
	got := r.Lines(d, 2)
	if len(got) != 3 || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
		t.Errorf("lines of entry 2: %q", got)
	}
	if got := r.Lines(d, 1); len(got) != 1 || !bytes.Equal(got[0], one.Head().Line) {
		t.Errorf("lines of entry 1: %q", got)
	}
	if r.Lines(d, 3) != nil || r.Lines(d, 0) != nil || r.Lines(ag.did(), 1) != nil {
		t.Error("lines of entries that there are none of")
	}
	fs, err := r.Forks(ctx, d)
	if err != nil || len(fs) != 2 || fs[0].Offered != b.Head().ID || fs[1].Offered != third.Head().ID {
		t.Fatalf("forks %v, %v", fs, err)
	}
	for _, f := range fs {
		if f.Number != 2 || f.Held != a.Head().ID || !bytes.Equal(f.Parent, one.Head().Line) || f.Decided != "" {
			t.Errorf("fork %+v", f)
		}
	}
	if _, err := r.Forks(ctx, did.MustParse("did:webvh:"+one.SCID()+":x.example")); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("forks of a stranger: %v", err)
	}
	// A continuation of the head while the fork is open contradicts nothing.
	if _, err := r.Offer(ctx, d, rotated(t, a, u3, 5, 0).Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	if fs, _ := r.Forks(ctx, d); len(fs) != 2 {
		t.Errorf("%d forks", len(fs))
	}
}

func TestKnowsDocuments(t *testing.T) {
	one, two := site("a", i1), site("a", i2)
	r := trusting(t, one)
	var changed *keyring.Changed
	if _, err := r.OfferWeb(t.Context(), beta, two, "", seen, spki); !errors.As(err, &changed) {
		t.Fatal(err)
	}
	for _, h := range []home{r, r.restart(t)} {
		if !h.Knows(beta, idOf(one)) || !h.Knows(beta, idOf(two)) || h.Knows(beta, idOf(site("b", i1))) {
			t.Error("a document that is trusted, one that is not, and one that nobody offered")
		}
	}
}
