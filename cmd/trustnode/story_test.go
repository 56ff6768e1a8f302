package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/node/client"
	"trustnode/node/httpapi"
	"trustnode/node/self"
	"trustnode/node/store"
)

// story is the transcript with nodes that die on the way. It remembers whatever a node
// has acknowledged, and at the end wants all of it back.
type story struct {
	*folk
	fell int // how many nodes were killed
	turn int // whose turn it is
	rnd  *rand.Rand
	// during kills while a verb is under way, at a random moment; else after it.
	during bool

	research, quant, perm, dispute string
	entries                        []string              // ids of acknowledged entries
	imported                       int                   // and how many an import brought
	reads                          []httpapi.ReceiptInfo // of acknowledged reads
}

// line walks one line of the transcript and kills one node at it. verb may run more than
// once: what a killed node did not acknowledge is asked again. done says whether an answer
// is the line's good end.
func (s *story) line(verb func() answer, done func(answer) bool) answer {
	s.t.Helper()
	victim := orgs[s.turn%len(orgs)]
	s.turn++
	s.fell++
	var a answer
	if s.during {
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			time.Sleep(time.Duration(s.rnd.IntN(120)) * time.Millisecond)
			s.kill(victim)
		}()
		a = verb()
		<-dead
	} else {
		a = verb()
		if !done(a) {
			s.t.Fatalf("with all nodes up: %s", a)
		}
		s.kill(victim)
	}
	s.start(victim)
	s.fresh(victim)
	for range 5 {
		if done(a) {
			return a
		}
		s.t.Logf("%s died: %s", victim, a)
		s.fresh(orgs...)
		a = verb()
	}
	s.t.Fatalf("it does not end well: %s", a)
	return a
}

func ok(a answer) bool { return a.code == exitDone }

// plain is a verb that may be run again as it is.
func (s *story) plain(args ...string) answer {
	s.t.Helper()
	return s.line(func() answer { return s.try(args...) }, ok)
}

// orThere is a verb that a node refuses to do twice: then there says what is there.
func (s *story) orThere(there []string, args ...string) answer {
	s.t.Helper()
	return s.line(func() answer {
		a := s.try(args...)
		if a.code != exitDone && strings.Contains(a.out, `"conflict"`) {
			return s.try(there...)
		}
		return a
	}, ok)
}

func (s *story) walk() {
	s.research = s.agent("acme", "research", "lend")
	s.quant = s.agent("vendor", "quant", "borrow")
	s.fill()
	s.lend()
	s.read("S7 drawdown check")
	s.learn()
	s.read("S7 drawdown check, after the meeting")
	s.end()
	s.argue()
	s.weigh()
}

func (s *story) agent(org, name, can string) string {
	s.line(func() answer {
		a := s.try("agent", "add", "--data", org, name, "--can", can, "--json")
		if strings.Contains(a.out, `"conflict"`) {
			return s.try("agent", "list", "--data", org, "--json")
		}
		return a
	}, ok)
	var l httpapi.Agents
	s.must("agent", "list", "--data", org, "--json").into(s.t, &l)
	i := slices.IndexFunc(l.Agents, func(a httpapi.Agent) bool { return a.Name == name })
	if i < 0 {
		s.t.Fatalf("agent %s of %s is gone: %+v", name, org, l)
	}
	return l.Agents[i].DID
}

func (s *story) fill() {
	b, err := os.ReadFile(filepath.Join("..", "..", "testnet", "data", "memory.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "memory.jsonl"), b, 0o600); err != nil {
		s.t.Fatal(err)
	}
	var in httpapi.Imported
	s.plain("memory", "import", "--data", "acme", "--agent", "research", "--project", "portfolio", "--format", "mcp", "memory.jsonl", "--json").into(s.t, &in)
	s.imported = in.Imported + in.Known
	s.plain("memory", "tag", "--data", "acme", "--project", "portfolio", "--release", "--add", "client:acme", "--all")
}

func (s *story) lend() {
	var l httpapi.Loan
	s.plain("loan", "issue", "--data", "acme", "--lender", "research", "--borrower", s.quant, "--scope", "tag:client:acme -tag:confidential age<90d",
		"--purpose", "pressure-test strategy S7", "--expires", "720h", "--max-reads", "50", "--json").into(s.t, &l)
	s.perm = l.ID
}

func (s *story) read(purpose string) {
	var r httpapi.LoanAnswer
	a := s.plain("loan", "read", "--data", "vendor", "--as", "quant", "--purpose", purpose, "--json", s.perm)
	a.into(s.t, &r)
	if len(r.Entries) != s.imported || strings.Contains(a.out, "Board vote") {
		s.t.Errorf("got %d entries, want %d and nothing confidential: %s", len(r.Entries), s.imported, a)
	}
	s.reads = append(s.reads, r.Receipt)
}

func (s *story) learn() {
	var e httpapi.Entry
	s.plain("memory", "add", "--data", "acme", "--agent", "research", "--project", "portfolio", "--tag", "client:acme", "--tag", "confidential",
		"--json", "Board vote on S7 moved to January").into(s.t, &e)
	s.entries = append(s.entries, e.ID)
}

// end revokes; the next read is refused, with the lender's receipt that proves why.
func (s *story) end() {
	s.orThere([]string{"loan", "show", "--data", "acme", "--json", s.perm}, "loan", "revoke", "--data", "acme", "--reason", "ended", "--json", s.perm)
	var l httpapi.Loan
	s.must("loan", "show", "--data", "acme", "--json", s.perm).into(s.t, &l)
	if l.State != "revoked" {
		s.t.Fatalf("the loan is %s after its revocation was acknowledged", l.State)
	}
	s.line(func() answer {
		return s.try("loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "again", "--json", s.perm)
	}, func(a answer) bool {
		return a.code == exitRefused && strings.Contains(a.out, `"code": "revoked"`) && strings.Contains(a.out, `"receipt"`)
	})
	s.plain("loan", "audit", "--data", "acme", "--json", s.perm)
	s.agree()
}

// agree: the borrower holds the lender's rows to its receipts, and who read is the borrower.
func (s *story) agree() {
	s.line(func() answer {
		return s.try("loan", "audit", "--compare", "--data", "vendor", "--as", "quant", "--json", s.perm)
	}, func(a answer) bool {
		return strings.Contains(a.out, `"missing": []`) && strings.Contains(a.out, `"different": []`)
	})
	if len(s.entries) == 0 {
		return
	}
	if a := s.plain("loan", "audit", "--data", "acme", "--json", "--entry", s.entries[0]); strings.Contains(a.out, s.quant) {
		s.t.Errorf("the confidential entry was read: %s", a.out)
	}
}

func (s *story) argue() {
	s.orThere([]string{"dispute", "list", "--data", "acme", "--json"}, "dispute", "file", "--data", "acme", "--loan", s.perm, "--reason", "R1", "--json")
	var l httpapi.Cases
	s.must("dispute", "list", "--data", "acme", "--json").into(s.t, &l)
	if len(l.Cases) != 1 {
		s.t.Fatalf("%d cases after one was filed", len(l.Cases))
	}
	s.dispute = l.Cases[0].ID
	s.plain("dispute", "show", "--data", "arbiter", s.dispute)
	show := []string{"dispute", "show", "--json", s.dispute, "--data"}
	s.orThere(append(slices.Clone(show), "vendor"), "dispute", "answer", "--data", "vendor", s.dispute, "--deny", "--text", "retry loop, fixed", "--json")
	s.orThere(append(slices.Clone(show), "arbiter"), "dispute", "rule", "--data", "arbiter", s.dispute, "--outcome", "claimant", "--severity", "30",
		"--reasons", "read attempted after revocation", "--json")
	s.plain("dispute", "export", "--data", "arbiter", s.dispute, "-o", "case.tnb")
}

// weigh: once everybody has everything, two nodes compute the same score.
func (s *story) weigh() {
	at := time.Now().UTC().Truncate(time.Second).Format(time.RFC3339)
	var got [2]string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		for i, org := range []string{"vendor", "arbiter"} {
			got[i] = s.must("trust", "show", "--data", org, "--as-of", at, "--json", s.quant).out
		}
		if got[0] == got[1] {
			return
		}
	}
	s.t.Errorf("two scores:\n%s%s", got[0], got[1])
}

// check wants everything back that was acknowledged, from the nodes as they stand and
// again from their directories.
func (s *story) check() {
	s.t.Helper()
	s.checkMemory()
	s.checkCase()
	audit := s.checkAudit()
	for _, o := range orgs {
		if code, _ := s.stop(o); code != exitDone {
			s.t.Errorf("%s ended with %d", o, code)
		}
	}
	s.checkReceipts(audit)
	s.must("verify", "case.tnb")
	s.t.Logf("%d nodes were killed; %d reads acknowledged, %d counted", s.fell, len(s.reads), audit.Granted)
}

func (s *story) checkMemory() {
	if got := s.agent2("acme", "research"); got != s.research {
		s.t.Errorf("research is %s, was %s", got, s.research)
	}
	if got := s.agent2("vendor", "quant"); got != s.quant {
		s.t.Errorf("quant is %s, was %s", got, s.quant)
	}
	var l httpapi.Entries
	s.must("memory", "list", "--data", "acme", "--project", "portfolio", "--limit", "1000", "--json").into(s.t, &l)
	if l.Total < s.imported+len(s.entries) {
		s.t.Errorf("%d entries, acknowledged were %d", l.Total, s.imported+len(s.entries))
	}
	for _, id := range s.entries {
		if !slices.ContainsFunc(l.Entries, func(e httpapi.Entry) bool { return e.ID == id }) {
			s.t.Errorf("entry %s is gone", id)
		}
	}
}

func (s *story) agent2(org, name string) string {
	var l httpapi.Agents
	s.must("agent", "list", "--data", org, "--json").into(s.t, &l)
	for _, a := range l.Agents {
		if a.Name == name {
			return a.DID
		}
	}
	return ""
}

func (s *story) checkCase() {
	for _, o := range orgs {
		var c httpapi.Case
		s.must("dispute", "show", "--data", o, "--json", s.dispute).into(s.t, &c)
		if c.Ruling == nil || c.Outcome != "claimant" || len(c.Claims) != 1 || c.Claims[0].Reply != "deny" {
			s.t.Errorf("%s knows the case as %s: %+v", o, c.State, c)
		}
	}
}

// checkAudit: seq has no gap, every acknowledged read is counted with its hash, issue,
// refusal and revocation are there, and all of it is in the log.
func (s *story) checkAudit() httpapi.LoanAudit {
	var a httpapi.LoanAudit
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		a = httpapi.LoanAudit{}
		s.must("loan", "audit", "--data", "acme", "--json", s.perm).into(s.t, &a)
		if !slices.ContainsFunc(a.Rows, func(r httpapi.AuditRow) bool { return r.Index == nil }) {
			break
		}
	}
	seqs := map[uint64]string{}
	ops := map[string]int{}
	for _, r := range a.Rows {
		ops[strings.TrimSpace(r.Op+" "+r.Code)]++
		if r.Index == nil {
			s.t.Errorf("row %d is in no log", r.N)
		}
		if r.Seq > 0 && r.Decision == "granted" {
			seqs[r.Seq] = r.Hash
		}
	}
	if !a.GapFree || uint64(len(seqs)) != a.Granted || a.Granted < uint64(len(s.reads)) {
		s.t.Errorf("%d granted, %d acknowledged, gap-free %v, rows %v", a.Granted, len(s.reads), a.GapFree, seqs)
	}
	for _, r := range s.reads {
		if seqs[r.Seq] != r.Hash {
			s.t.Errorf("read %d was acknowledged with %s and has row %q", r.Seq, r.Hash, seqs[r.Seq])
		}
	}
	for _, op := range []string{"issue", "revoke", "read revoked"} {
		if ops[op] < 1 {
			s.t.Errorf("no row of %s: %v", op, ops)
		}
	}
	for _, want := range []string{"loan.issued", "loan.revoked"} {
		if !slices.ContainsFunc(a.Events, func(e httpapi.EventRef) bool { return e.Type == want }) {
			s.t.Errorf("no event %s: %+v", want, a.Events)
		}
	}
	return a
}

// checkReceipts: each receipt that the borrower keeps has a row at the lender.
func (s *story) checkReceipts(audit httpapi.LoanAudit) {
	db, err := store.OpenBadger(filepath.Join(s.dir, "vendor", "state"), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	pairs, err := client.New(&self.Node{DB: db}, client.Config{}).Receipts(context.Background(), s.perm)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(pairs) < len(s.reads) {
		s.t.Errorf("%d receipts kept, %d reads acknowledged", len(pairs), len(s.reads))
	}
	for _, p := range pairs {
		if !slices.ContainsFunc(audit.Rows, func(r httpapi.AuditRow) bool { return r.Seq == p.Seq && r.Hash == p.Hash.String() }) {
			s.t.Errorf("receipt %d with %s has no row", p.Seq, p.Hash)
		}
	}
}

// A node dies at every line, and each in its turn.
func TestKilledAtEveryLine(t *testing.T) {
	t.Parallel()
	rotations := []int{0}
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rotations = []int{0, 1, 2}
	}
	for _, r := range rotations {
		killing(t, r, false)
	}
}

// A node dies while a verb is under way, at a random moment.
func TestKilledDuringAVerb(t *testing.T) {
	t.Parallel()
	runs := 1
	if os.Getenv("TRUSTNODE_LONG") != "" {
		runs = 9
	}
	for i := range runs {
		killing(t, i, true)
	}
}

func killing(t *testing.T, turn int, during bool) {
	seed := rand.Uint64()
	t.Logf("turn %d, seed %d", turn, seed)
	s := &story{folk: newFolk(t), turn: turn, during: during, rnd: rand.New(rand.NewPCG(seed, 1))}
	s.found()
	s.join()
	s.up()
	s.walk()
	if t.Failed() {
		t.FailNow()
	}
	s.check()
}
