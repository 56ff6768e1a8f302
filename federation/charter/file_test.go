package charter

import (
	"bytes"
	"errors"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

// joinFile is what an organization sends to be admitted.
func joinFile(t testing.TB, a actor) File {
	t.Helper()
	f, err := NewJoinFile(t.Context(), a.join(true), a, logOf(a))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// draft is the trio's genesis unsigned, with what must travel beside it.
func draft(t testing.TB) File {
	t.Helper()
	f, err := Merge(joinFile(t, vendor), joinFile(t, arbiter), File{
		Charters: []envelope.Envelope{seal(t, trio(t))}, Logs: []bundle.DIDLog{logOf(acme)}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func encoded(t testing.TB, f File) []byte {
	t.Helper()
	b, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reread(t testing.TB, f File) File {
	t.Helper()
	got, err := ReadFile(bytes.NewReader(encoded(t, f)))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func signed(t testing.TB, f File, a actor) File {
	t.Helper()
	f, err := f.Sign(t.Context(), a.did, a)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestThreeSignOneFile(t *testing.T) {
	k := world(acme, vendor, arbiter)
	f := draft(t)
	for i, a := range []actor{acme, vendor, arbiter} {
		res, err := Review(t.Context(), Chain{}, f, k, t0)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Tally.Signed) != i || outcome(res.Outcome) != "A6" || !res.Chain.IsZero() {
			t.Errorf("before %s: %d signed, %v", a.name, len(res.Tally.Signed), res.Outcome)
		}
		if _, err := Apply(t.Context(), Chain{}, f, k, t0); outcome(err) != "A6" {
			t.Errorf("applied early: %v", err)
		}
		f = reread(t, signed(t, f, a))
	}
	res, err := Apply(t.Context(), Chain{}, f, k, t0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.Chain.Head().ID, seal(t, trio(t)).ID(); got != want || res.Chain.Federation() != want {
		t.Errorf("federation %s, want %s", got, want)
	}
	if !reflect.DeepEqual(res.Words(), Words(trio(t))) || res.Parent != nil || len(res.Joins) != 2 {
		t.Errorf("result %+v", res)
	}
	again, err := Apply(t.Context(), res.Chain, f, k, t0)
	if err != nil || !reflect.DeepEqual(again.Chain, res.Chain) {
		t.Errorf("again: %v", err)
	}
}

func TestCopiesUniteInAnyOrder(t *testing.T) {
	f := draft(t)
	want := encoded(t, signed(t, signed(t, signed(t, f, acme), vendor), arbiter))
	copies := []File{signed(t, f, acme), signed(t, f, vendor), signed(t, f, arbiter), joinFile(t, vendor), f}
	for i := range 20 {
		rand.New(rand.NewSource(int64(i))).Shuffle(len(copies), func(i, j int) { copies[i], copies[j] = copies[j], copies[i] })
		m, err := Merge(copies...)
		if err != nil {
			t.Fatal(err)
		}
		if got := encoded(t, m); !bytes.Equal(got, want) {
			t.Fatalf("order %d gave other bytes", i)
		}
	}
}

func TestAnAmendmentByFile(t *testing.T) {
	k := world(acme, vendor, arbiter, dora)
	base := begun(t, k)
	b := child(t, base)
	admit(&b)
	f, err := Merge(joinFile(t, dora), File{Charters: []envelope.Envelope{seal(t, trio(t), everybody...), seal(t, b)},
		Logs: []bundle.DIDLog{logOf(acme), logOf(vendor), logOf(arbiter)}})
	if err != nil {
		t.Fatal(err)
	}
	at := t0.Add(time.Hour)
	for _, c := range []struct {
		by   actor
		want string
	}{{acme, "A4"}, {vendor, "A5"}, {dora, "accepted"}} {
		f = reread(t, signed(t, f, c.by))
		res, err := Review(t.Context(), Chain{}, f, k, at)
		if err != nil || outcome(res.Outcome) != c.want {
			t.Errorf("after %s: %v, %v", c.by.name, err, res.Outcome)
		}
		if res.Parent == nil || res.Parent.ID != base.Head().ID || len(res.Ops) != 3 {
			t.Errorf("after %s: parent %v, ops %v", c.by.name, res.Parent, res.Ops)
		}
	}
	for name, start := range map[string]Chain{"a newcomer, from the genesis": {}, "a member, from its head": base} {
		res, err := Apply(t.Context(), start, f, k, at)
		if err != nil || res.Chain.Head().Seq != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if lines := res.Words(); len(lines) == 0 || !strings.HasPrefix(lines[0], "charter 1 ") {
			t.Errorf("%s: says %v", name, lines)
		}
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	k := world(acme, vendor, arbiter, dora)
	full := func() File { return signed(t, signed(t, signed(t, draft(t), acme), vendor), arbiter) }
	other := trio(t)
	other.Name = "other"
	resealed := func(change func(j *Join), by actor) File {
		j := vendor.join(true)
		change(&j)
		e, err := envelope.Seal(t.Context(), j, by)
		if err != nil {
			t.Fatal(err)
		}
		f := full()
		f.Joins = []envelope.Envelope{e}
		return f
	}
	for _, c := range []struct {
		name string
		file File
		want string
	}{
		{"no charter", joinFile(t, vendor), "file holds no charter"},
		{"two geneses", File{Charters: []envelope.Envelope{seal(t, trio(t)), seal(t, other)}}, "file holds two different charters for one place"},
		{"an amendment without its genesis", File{Charters: []envelope.Envelope{seal(t, child(t, begun(t, k)), everybody...)}}, "A2"},
		{"a name that is not that of the join", resealed(func(j *Join) { j.Name = "Vandor" }, vendor), "name of " + vendor.did.String() + " differs from its join"},
		{"a contact that is not that of the join", resealed(func(j *Join) { j.Contact = "" }, vendor), "contact of " + vendor.did.String() + " differs from its join"},
		{"a vote that is not that of the join", resealed(func(j *Join) { j.Votes = false }, vendor), "votes of " + vendor.did.String() + " differs from its join"},
		{"bindings that are not those of the join", resealed(func(j *Join) { j.BindingsMax = 1 }, vendor), "bindings_max of " + vendor.did.String() + " differs from its join"},
		{"a join to another federation", resealed(func(j *Join) { j.Federation = envelope.IDOf(nil) }, vendor), "federation of " + vendor.did.String() + " differs from its join"},
		{"a join under a false signature", resealed(func(*Join) {}, eve), envelope.ErrSignature.Error()},
		{"a join with a key its DID does not list", resealed(func(j *Join) { j.Key = eve.keyRecord(); j.Kid = j.Key.Kid }, eve), envelope.ErrUnknownKey.Error()},
	} {
		_, err := Review(t.Context(), Chain{}, c.file, k, t0)
		if got := outcome(err); got != c.want && !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	k.broken = errors.New("line 1 is forged")
	k.versions = nil
	if _, err := Review(t.Context(), Chain{}, full(), k, t0); !errors.Is(err, k.broken) {
		t.Errorf("a log that does not verify: %v", err)
	}
}

func TestTheVoteMayBeWithheldFromANewcomerAlone(t *testing.T) {
	k := world(acme, vendor, arbiter, dora)
	base := begun(t, k)
	for _, c := range []struct {
		name         string
		asks, grants bool
		want         string
	}{
		{"asks and gets", true, true, "accepted"}, {"asks and does not get", true, false, "accepted"},
		{"does not ask and does not get", false, false, "accepted"}, {"does not ask and gets", false, true, "votes of " + dora.did.String() + " differs from its join"},
	} {
		b := child(t, base)
		admit(&b)
		member(t, &b, dora).Votes = c.grants
		if !c.grants {
			b.Governance.Threshold = 2
		}
		f, err := NewJoinFile(t.Context(), dora.join(c.asks), dora, logOf(dora))
		if err != nil {
			t.Fatal(err)
		}
		f.Charters = []envelope.Envelope{seal(t, b, acme, vendor, dora)}
		_, err = Apply(t.Context(), base, f, k, t0.Add(time.Hour))
		if got := outcome(err); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

func TestCards(t *testing.T) {
	k := world(acme, vendor)
	f := reread(t, joinFile(t, vendor))
	cards, err := Cards(t.Context(), f, k)
	if err != nil || len(cards) != 1 || cards[0].Join.Body() != vendor.join(true) || cards[0].Head != vendor.version(1) {
		t.Fatalf("got %+v, %v", cards, err)
	}
	k.lists(vendor, 2, vendor.signer)
	if _, err := Cards(t.Context(), f, k); err == nil {
		t.Error("a join that does not name the head of its log was taken")
	}
	f.Logs = nil
	if _, err := Cards(t.Context(), f, k); err == nil {
		t.Error("a join without its log was taken")
	}
	if _, err := NewJoinFile(t.Context(), vendor.join(true), acme); !errors.Is(err, ErrNotNamed) {
		t.Errorf("sealed with another key: %v", err)
	}
}

func TestJoinForm(t *testing.T) {
	for name, change := range map[string]func(j *Join){
		"no name":                    func(j *Join) { j.Name = "" },
		"another scid":               func(j *Join) { j.SCID = acme.scid() },
		"no version":                 func(j *Join) { j.DIDVersion = "" },
		"a kid that is not its key":  func(j *Join) { j.Kid = "other" },
		"no bindings":                func(j *Join) { j.BindingsMax = 0 },
		"a short nonce":              func(j *Join) { j.Nonce = "AA" },
		"no time":                    func(j *Join) { j.At = envelope.Time{} },
		"a spec upside down":         func(j *Join) { j.Spec = JoinSpec{Max: 1, Min: 2} },
		"a did:key with a version":   func(j *Join) { j.Org, j.SCID = did.MustParse("did:key:"+acme.Public().Multikey()), "" },
		"a method that keeps no log": func(j *Join) { j.Org, j.SCID = did.MustParse("did:jwk:abc"), "" },
	} {
		j := vendor.join(true)
		change(&j)
		var f *Fault
		if err := j.Check(); !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
	}
	j := acme.join(true)
	j.Org, j.SCID, j.DIDVersion = did.MustParse("did:key:"+acme.Public().Multikey()), "", ""
	if err := j.Check(); err != nil {
		t.Errorf("a did:key: %v", err)
	}
}

func TestSignRefusesWhoIsNotNamed(t *testing.T) {
	f := draft(t)
	for name, c := range map[string]struct {
		org did.DID
		key actor
	}{"a stranger": {eve.did, eve}, "a member with another's key": {acme.did, vendor}} {
		if _, err := f.Sign(t.Context(), c.org, c.key); !errors.Is(err, ErrNotNamed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, want := encoded(t, signed(t, signed(t, f, acme), acme)), encoded(t, signed(t, f, acme)); !bytes.Equal(got, want) {
		t.Error("signing twice is not signing once")
	}
	if e, _, err := f.Draft(); err != nil || len(e.Signatures) != 0 {
		t.Errorf("the file signed from has changed: %v", err)
	}
}

func TestReadFileSkipsAndCountsWhatItDoesNotKnow(t *testing.T) {
	b := append(encoded(t, draft(t)), "{\"later\":1}\n"...)
	f, err := ReadFile(bytes.NewReader(b))
	if err != nil || f.Skipped != 1 {
		t.Fatalf("skipped %d, %v", f.Skipped, err)
	}
	if !bytes.Equal(encoded(t, f), encoded(t, draft(t))) {
		t.Error("what was skipped is written again")
	}
	var faulty *bundle.LineError
	if _, err := ReadFile(strings.NewReader(string(b) + "nonsense\n")); !errors.As(err, &faulty) {
		t.Errorf("nonsense: %v", err)
	}
	if _, err := ReadFile(strings.NewReader("hello\n")); !errors.Is(err, bundle.ErrNotBundle) {
		t.Errorf("no bundle: %v", err)
	}
}

func TestOtherLinesAreCarriedAlong(t *testing.T) {
	pin := &bundle.Pin{AsOf: envelope.TimeOf(t0), ID: envelope.IDOf(nil), Seq: 3}
	note := bundle.Body{Body: []byte(`{"a":1}`)}
	binding := envelope.Envelope{Type: federation.BindingType, Body: []byte(`{"addrs":[]}`)}
	f := draft(t)
	f.Pin, f.Others, f.Bindings = pin, []bundle.Line{note}, []envelope.Envelope{binding}
	got := reread(t, f)
	if !reflect.DeepEqual(got, f) {
		t.Errorf("got %+v\nwant %+v", got, f)
	}
	lower := f
	lower.Pin = &bundle.Pin{AsOf: envelope.TimeOf(t0), ID: envelope.IDOf([]byte("x")), Seq: 2}
	if m, err := Merge(lower, f); err != nil || *m.Pin != *pin {
		t.Errorf("merged pin %v, %v", m.Pin, err)
	}
}

func TestBehindIsFixedByOneID(t *testing.T) {
	k := world(acme, vendor, arbiter)
	c := begun(t, k)
	f := File{Charters: []envelope.Envelope{seal(t, trio(t), everybody...)}}
	want := map[envelope.ID]bool{c.Federation(): true}
	for range 2 {
		e := seal(t, child(t, c), everybody...)
		var err error
		if c, _, err = c.Next(e, nil, k, t0.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		f.Charters = append(f.Charters, e)
		want[e.ID()] = true
	}
	if got := f.Behind(c.Head().ID); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := f.Behind(envelope.IDOf(nil)); len(got) != 0 {
		t.Errorf("behind a stranger: %v", got)
	}
}

func TestFingerprint(t *testing.T) {
	id := envelope.IDFromSum([32]byte{1, 2, 3})
	text := Fingerprint(id)
	if len(text) != len("fed1-cfty-5puv-redc-auo2-xlbf-5qzy-j7d6-3ghr-qhf5") || !strings.HasPrefix(text, "fed1-") {
		t.Fatalf("fingerprint %s", text)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"itself": {text, nil}, "read aloud in capitals": {" " + strings.ToUpper(text) + "\n", nil},
		"of another": {Fingerprint(envelope.IDOf(nil)), ErrOtherFingerprint}, "mistyped": {text[:7] + flip(text[7:8]) + text[8:], ErrFingerprint},
		"cut short": {text[:len(text)-1], ErrFingerprint}, "nothing": {"", ErrFingerprint}, "an organization's": {"org1" + text[4:], ErrFingerprint},
		"an endless one": {text + strings.Repeat("-aaaa", 1000), ErrFingerprint}, "prose": {"fed1-hello", ErrFingerprint},
	} {
		if err := CheckFingerprint(c.text, id); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func flip(s string) string {
	if s == "a" {
		return "b"
	}
	return "a"
}

// TestFingerprintOfTheSpecification rebuilds a worked value.
func TestFingerprintOfTheSpecification(t *testing.T) {
	const worked = "fed1-cfty-5puv-redc-auo2-xlbf-5qzy-j7d6-3ghr-qhf5"
	genesis, err := envelope.ParseID("zQmPWbE8mF9t2EFMGGq4SqQ8xwMf9j9oTGxaZhChMrwZ7P2")
	if err != nil {
		t.Fatal(err)
	}
	if got := Fingerprint(genesis); got != worked {
		t.Errorf("got %s, want %s", got, worked)
	}
}

// A node that fetches what a pending charter names would hold the logs of DIDs that
// anybody made up, if a charter were pending before its parent's voters signed it.
func TestApplyWaitsOnlyForWhatIsSigned(t *testing.T) {
	moved := func(b *Body) {
		rec := member(t, b, vendor)
		rec.DIDHead, rec.Key = vendor.version(7), eve.keyRecord()
	}
	abandoned := func(b *Body) { b.Round, b.Released = 1, []envelope.ID{envelope.IDOf(nil)} }
	for _, c := range []struct {
		name    string
		changes []func(b *Body)
		by      []envelope.Signer
		want    string
	}{
		{"a newcomer, signed by nobody", []func(b *Body){admit}, nil, "A4"},
		{"a newcomer, signed by one voter of three and itself", []func(b *Body){admit}, []envelope.Signer{acme, dora}, "A4"},
		{"a newcomer, signed by strangers", []func(b *Body){admit}, []envelope.Signer{acme, eve, spare}, "A4"},
		{"a newcomer, signed by two of three", []func(b *Body){admit}, []envelope.Signer{acme, vendor}, "pending"},
		{"an abandon, signed by one", []func(b *Body){admit, abandoned}, []envelope.Signer{acme}, "A4"},
		{"an abandon, signed by two", []func(b *Body){admit, abandoned}, []envelope.Signer{acme, vendor}, "pending"},
		{"a voter moved to a key that nobody knows", []func(b *Body){admit, moved}, []envelope.Signer{acme, eve}, "pending vendor"},
	} {
		k := world(acme, vendor, arbiter)
		chain := begun(t, k)
		b := child(t, chain)
		for _, change := range c.changes {
			change(&b)
		}
		e := seal(t, b, c.by...)
		_, err := Apply(t.Context(), chain, File{Charters: []envelope.Envelope{e}}, k, t0.Add(time.Hour))
		got := outcome(err)
		var pending *Pending
		if errors.As(err, &pending) && pending.DID == vendor.did {
			got += " vendor"
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got, err, c.want)
		}
		if _, err := Review(t.Context(), chain, File{Charters: []envelope.Envelope{e}}, k, t0.Add(time.Hour)); outcome(err) != "pending" {
			t.Errorf("%s: whoever is to sign it is not told what is missing: %v", c.name, err)
		}
	}
}
