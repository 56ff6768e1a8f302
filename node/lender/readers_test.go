package lender

import (
	"slices"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// about adds an entry about a person, who is named.
func (k *kit) about(t testing.TB, person, statement string, tags ...string) (memory.Entry, memory.Subject) {
	t.Helper()
	in, err := memory.NewPlace(tenant, folio)
	if err != nil {
		t.Fatal(err)
	}
	w, err := memory.NewWriter(in, k.research, memory.ByOperator)
	if err != nil {
		t.Fatal(err)
	}
	var e memory.Entry
	var s memory.Subject
	err = k.acme.DB.Update(t.Context(), func(tx store.Tx) (err error) {
		if s, err = k.acme.Entries.NameSubject(tx, tenant, person); err != nil {
			return err
		}
		e, err = k.acme.Entries.Put(tx, w, memory.Draft{Statement: statement, Tags: tags, Subjects: []string{s.Pseudonym}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, s
}

func (k *kit) mustReaders(t testing.TB, person string) Readers {
	t.Helper()
	r, err := k.Readers(t.Context(), person)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eachStore runs a test over both stores.
func eachStore(t *testing.T, test func(t *testing.T, k *kit)) {
	for name, option := range map[string]func(t *testing.T) selftest.Option{
		"memory": func(*testing.T) selftest.Option { return selftest.Option{} },
		"badger": func(t *testing.T) selftest.Option { return onDisk(t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) { test(t, newKit(t, option(t), Config{})) })
	}
}

func TestReadersOfAPerson(t *testing.T) {
	eachStore(t, func(t *testing.T, k *kit) {
		k.add(t, "Nobody in particular.", "client:acme")
		ada, s := k.about(t, "Ada Byron", "Ada prefers trains.", "client:acme")
		k.about(t, "Ada Byron", "Ada is in Turin.", "other")
		second := k.vendor.AddAgent(t, "second", keyring.Borrow)
		loan, twin := k.issue(t, 10), k.issue(t, 10)
		in := k.wish(10)
		in.Borrower, in.Scope = second.String(), "tag:other"
		k.mustRead(t, k.request(t, loan))
		first := k.w.Clock.Now()
		k.w.Clock.Add(time.Hour)
		k.mustRead(t, k.request(t, loan))
		if _, err := k.Issue(t.Context(), in); err != nil { // never read
			t.Fatal(err)
		}
		if r := k.mustReaders(t, "Ada Byron"); r.Subject != s.Pseudonym || r.Entries != 2 || len(r.Readers) != 1 || r.Waiting {
			t.Fatalf("got %+v", r)
		}
		k.w.Clock.Add(time.Hour)
		k.mustRead(t, k.request(t, twin))
		rq := k.request(t, twin)
		k.mustRead(t, rq)
		k.mustRead(t, rq) // a replay counts nothing
		r := k.mustReaders(t, s.Pseudonym)
		if len(r.Readers) != 2 || r.Readers[0].Perm != twin.ID || r.Readers[0].Count != 2 {
			t.Fatalf("got %+v", r)
		}
		got := r.Readers[1]
		if got.Perm != loan.ID || got.Borrower != k.quant || got.BorrowerOrg != k.vendor.Org || got.Count != 2 || got.Purpose != loan.Permission.Purpose ||
			!got.First.Equal(first) || !got.Last.Equal(first.Add(time.Hour)) {
			t.Errorf("got %+v", got)
		}
		e, err := k.EntryReaders(t.Context(), ada.ID)
		if err != nil || len(e.Readers) != 2 || e.Readers[1].Count != 2 {
			t.Errorf("entry: got %+v, %v", e, err)
		}
		if with, err := k.EntryReaders(t.Context(), ada.ID+"@1"); err != nil || with.Entry != ada.ID || len(with.Readers) != 2 {
			t.Errorf("entry with a revision: got %+v, %v", with, err)
		}
		in2, _ := memory.NewPlace(tenant, folio)
		if _, err := k.acme.Entries.Forget(t.Context(), in2, memory.Selector{Subject: s.Pseudonym}, nil); err != nil {
			t.Fatal(err)
		}
		after := k.mustReaders(t, s.Pseudonym)
		if after.Entries != 0 || !slices.Equal(after.Readers, r.Readers) {
			t.Errorf("after erasure: got %+v", after)
		}
		if e, err = k.EntryReaders(t.Context(), ada.ID); err != nil || len(e.Readers) != 2 {
			t.Errorf("entry after erasure: got %+v, %v", e, err)
		}
	})
}

// The index is made of the rows: from none, in batches, over again, it comes to the same.
func TestReadersAreMadeOfTheRows(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "Nobody in particular.", "other")
	ada, s := k.about(t, "Ada Byron", "Ada prefers trains.", "client:acme")
	loan := k.issue(t, 5000)
	const reads = 2*maxIndexRows + 7
	for range reads {
		if err := k.Read(t.Context(), Call{Request: k.request(t, loan), Send: &taker{}}); err != nil {
			t.Fatal(err)
		}
	}
	want := k.mustReaders(t, s.Pseudonym)
	if len(want.Readers) != 1 || want.Readers[0].Count != reads {
		t.Fatalf("got %+v, want %d", want, reads)
	}
	if again := k.mustReaders(t, s.Pseudonym); again.Readers[0].Count != reads {
		t.Errorf("asked again: %d, want %d", again.Readers[0].Count, reads)
	}
	err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		for _, key := range []string{keyIndexed, subjectReaders(s.Pseudonym) + loan.ID.String(), entryReaders(tenant+"/"+folio, ada.ID) + loan.ID.String()} {
			if err := tx.Delete([]byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if again := k.mustReaders(t, s.Pseudonym); again.Readers[0].Count != reads {
		t.Errorf("made anew: %d, want %d", again.Readers[0].Count, reads)
	}
}

func TestReadersOfNobody(t *testing.T) {
	k := memoryKit(t)
	_, err := k.Readers(t.Context(), "Charles Babbage")
	refusedWith(t, err, fault.NotFound, "subject")
	_, err = k.EntryReaders(t.Context(), "../../perm/")
	refusedWith(t, err, fault.Invalid, "entry")
}

// A person's entries leave every scope with the revocation: the next read has none, what
// is replayed has none, and no later entry comes in; the loan itself lives on.
func TestRevokeSubject(t *testing.T) {
	eachStore(t, func(t *testing.T, k *kit) {
		k.add(t, "Nobody in particular.", "client:acme")
		_, s := k.about(t, "Ada Byron", "Ada prefers trains.", "client:acme")
		loan := k.issue(t, 10)
		old := k.request(t, loan)
		if a, _ := k.mustRead(t, old); len(a.Entries) != 2 {
			t.Fatalf("%d entries", len(a.Entries))
		}
		// One read is evaluated before and decided after.
		var r RevokedSubject
		k.testingOnlyFound = func() {
			k.testingOnlyFound = nil
			var err error
			if r, err = k.RevokeSubject(t.Context(), "Ada  Byron", "data_subject"); err != nil {
				t.Error(err)
			}
		}
		a, rec := k.mustRead(t, k.request(t, loan))
		wantTexts(t, "the read that was overtaken", statements(t, a), "Nobody in particular.")
		if rec.Seq != 2 || r.Subject != s.Pseudonym || r.Entries != 1 || r.Before {
			t.Errorf("seq %d, %+v", rec.Seq, r)
		}
		k.about(t, "Ada Byron", "Ada is in Turin.", "client:acme")
		a, _ = k.mustRead(t, k.request(t, loan))
		wantTexts(t, "after one more entry", statements(t, a), "Nobody in particular.")
		_, _, err := k.read(t.Context(), old)
		refusedWith(t, err, fault.Stale, lending.ReasonEntryLeft)
		again, err := k.RevokeSubject(t.Context(), s.Pseudonym, "policy")
		if err != nil || !again.Before {
			t.Errorf("again: %+v, %v", again, err)
		}
		if err := k.acme.Rec.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows []lending.RevokeRow
		err = k.acme.Rec.RowsOf(t.Context(), s.Pseudonym, func(_ uint64, row audit.Row) error {
			body, err := lending.ParseRow(row.Body)
			rows = append(rows, body.(lending.RevokeRow))
			if len(row.For) != 0 {
				t.Errorf("others may see the row: %v", row.For)
			}
			return err
		})
		if err != nil || len(rows) != 1 || rows[0].Target != s.Pseudonym || rows[0].TargetKind != lending.TargetSubject || rows[0].Reason != "data_subject" || !rows[0].Revocation.IsZero() {
			t.Errorf("rows: %+v, %v", rows, err)
		}
		_, err = k.RevokeSubject(t.Context(), "Charles Babbage", "data_subject")
		refusedWith(t, err, fault.NotFound, "subject")
		_, err = k.RevokeSubject(t.Context(), s.Pseudonym, "because")
		refusedWith(t, err, fault.Invalid, "reason")
	})
}

// TestARevokedSubjectNamesBackups: a backup that was made before brings the entries back.
func TestARevokedSubjectNamesBackups(t *testing.T) {
	k := memoryKit(t)
	k.about(t, "Ada", "Ada prefers trains.", "client:acme")
	if err := k.BackupBegins(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} { // the second changes nothing
		if r, err := k.RevokeSubject(t.Context(), "Ada", "data_subject"); err != nil || len(r.Backups) != want {
			t.Errorf("%v, %v, want %d backups", r.Backups, err, want)
		}
	}
}
