package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// TestTheRecordOfALoanIsOneFile: 50 reads, a revocation and a refused read between two organizations. What each side wrote
// down goes into one file, which tells by index what lies before the end and what after it, with all nodes gone.
func TestTheRecordOfALoanIsOneFile(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	f.found()
	f.join()
	f.up()
	var research, quant httpapi.Agent
	f.must("agent", "add", "--data", "acme", "research", "--can", "lend", "--json").into(t, &research)
	f.must("agent", "add", "--data", "vendor", "quant", "--can", "borrow", "--json").into(t, &quant)
	f.must("memory", "add", "--data", "acme", "--agent", "research", "--project", "portfolio", "--tag", "client:acme", "S7 hit its drawdown limit in May")
	var loan httpapi.Loan
	f.must("loan", "issue", "--data", "acme", "--lender", "research", "--borrower", quant.DID, "--scope", "tag:client:acme", "--purpose", "S7", "--max-reads", "60", "--json").into(t, &loan)
	const reads = 50
	for i := range reads {
		f.must("loan", "read", "--data", "vendor", "--as", "quant", "--purpose", fmt.Sprintf("check %d", i), loan.ID)
	}
	f.rowsOf("vendor", loan.ID) // who asks for them has them in the log: without, nothing there says that they came before the end
	f.must("loan", "revoke", "--data", "acme", "--reason", "ended", loan.ID)
	f.code(exitRefused, "loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "again", loan.ID)

	f.counted("acme")

	files := map[string]string{}
	for side, says := range map[string][]string{
		"acme":   {"was given answer 50, of 1 entry", `was refused as "revoked": row`, ", after the revocation at"},
		"vendor": {"it received answer 50 under loan", "it learned that loan " + loan.ID + " is revoked"},
	} {
		rows := f.rowsOf(side, loan.ID)
		args := []string{"event", "prove", "--data", side, rows[0], "-o", side + ".proof"}
		for _, id := range append(rows[1:], f.endOf(side, loan.ID)) {
			args = append(args, "--with", id)
		}
		f.must(args...)
		files[side] = strings.Join(says, "\n")
	}
	for _, o := range orgs {
		f.stop(o)
		if err := os.Rename(filepath.Join(f.dir, o), filepath.Join(f.dir, o+".gone")); err != nil {
			t.Fatal(err)
		}
	}
	for side, says := range files {
		a := f.must("verify", side+".proof")
		for _, want := range strings.Split(says, "\n") {
			if !strings.Contains(a.out, want) {
				t.Errorf("%s: %q is not said: %s", side, want, a)
			}
		}
		if n := strings.Count(a.out, ", before "); n < reads {
			t.Errorf("%s: %d rows lie before the end, want %d: %s", side, n, reads, a)
		}
	}
}

// rowsOf lists the rows that one side wrote under a loan, once all are in its log.
func (f *folk) rowsOf(side, loan string) (ids []string) {
	f.t.Helper()
	var audit httpapi.LoanAudit
	f.must("loan", "audit", "--data", side, "--json", loan).into(f.t, &audit)
	for _, r := range audit.Rows {
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		f.t.Fatalf("%s has no row of loan %s", side, loan)
	}
	return ids
}

// endOf is the event by which one side's log ends a loan.
func (f *folk) endOf(side, loan string) string {
	f.t.Helper()
	var all httpapi.Events
	f.must("event", "list", "--data", side, "--org", "self", "--subject", loan, "--json").into(f.t, &all)
	for _, e := range all.Events {
		if e.Says().Type == "loan.revoked" || e.Says().Type == "loan.end_seen" {
			return e.ID
		}
	}
	f.t.Fatalf("the log of %s does not end loan %s: %+v", side, loan, all.Events)
	return ""
}

// counted looks at what a linked node counts of its logs.
func (f *folk) counted(side string) {
	f.t.Helper()
	var st httpapi.Status
	f.must("status", "--data", side, "--json").into(f.t, &st)
	res, err := http.Get("http://" + st.HTTP + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, want := range []string{`trustnode_witness_requests_total\{status="200"\} [1-9]`, `trustnode_sync_lines_total\{result="(taken|held)"\} [1-9]`, `trustnode_ingest_dropped_total\{reason="full"\} 0`,
		`trustnode_pins_bytes [1-9]`, `trustnode_free_bytes\{dir="data"\} [1-9]`, `(?s)trustnode_log_size\{org=.*trustnode_log_size\{org=.*trustnode_log_size\{org=`, `trustnode_log_head_age_seconds\{org=`, `trustnode_parked_events\{org=.*\} 0`,
		`trustnode_log_append_seconds_count\{stage="take"\} [1-9]`} {
		if !regexp.MustCompile(want).Match(b) {
			f.t.Errorf("no %s in\n%s", want, b)
		}
	}
}
