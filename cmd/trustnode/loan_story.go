package main

import (
	"fmt"
	"strings"

	"trustnode/node/httpapi"
)

// storyReads is how many reads a story tells one by one, the newest; loan audit has all.
const storyReads = 20

// happened tells in plain sentences who read what, why, and what is left.
func happened(l httpapi.Loan, a httpapi.LoanAudit) []string {
	var reads, out []string
	denied := map[string]int{}
	var reasons []string
	for _, r := range a.Rows {
		switch {
		case r.Decision == "denied":
			if denied[r.Code]++; denied[r.Code] == 1 {
				reasons = append(reasons, r.Code)
			}
		case r.Op == "read" || r.Op == "discover" || r.Op == "received":
			reads = append(reads, readWords(l, r))
		case r.Op == "revoke":
			out = append(out, fmt.Sprintf("The lender ended it on %s: %s.", r.At, r.Purpose))
		}
	}
	text := []string{readsWords(l)}
	if more := len(reads) - storyReads; more > 0 {
		text = append(text, fmt.Sprintf("The newest %d of them; trustnode loan audit %s lists all:", storyReads, l.ID))
		reads = reads[more:]
	}
	text = append(text, reads...)
	for _, code := range reasons {
		text = append(text, fmt.Sprintf("%s refused: %s.", capital(count(denied[code], "attempt")+was(denied[code])), code))
	}
	text = append(text, out...)
	return append(text, leftWords(l))
}

func was(n int) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

func readsWords(l httpapi.Loan) string {
	own, under := l.Reads-min(l.Under, l.Reads), ""
	if l.Under > 0 {
		under = fmt.Sprintf(" Under parts of it others have read %s, which counts against it too.", times(l.Under))
	}
	if own == 0 {
		return fmt.Sprintf("Nobody has read under it; %s may, to %q.", l.Borrower, oneLine(l.Purpose)) + under
	}
	return fmt.Sprintf("%s has read %s, under the purpose %q.", l.Borrower, times(own), oneLine(l.Purpose)) + under
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// readWords tells one read; the borrower's own rows do not hold what it said it was for.
func readWords(l httpapi.Loan, r httpapi.AuditRow) string {
	if r.Op == "received" {
		return fmt.Sprintf("  %d. On %s an answer was received.", r.Seq, r.At)
	}
	what := count(len(r.Entries), "entry")
	if len(r.Entries) > 0 {
		what += " (" + strings.Join(r.Entries[:min(3, len(r.Entries))], ", ")
		if more := len(r.Entries) - 3; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
		what += ")"
	}
	if r.Op == "discover" {
		what = "the tags there are"
	}
	return fmt.Sprintf("  %d. On %s it read %s, to %q.", r.Seq, r.At, what, oneLine(r.Purpose))
}

func leftWords(l httpapi.Loan) string {
	switch l.State {
	case "valid":
		return fmt.Sprintf("%s left, until %s.", capital(count(l.Left, "read")+isAre(l.Left)), l.ExpiresAt)
	case "not_yet":
		return fmt.Sprintf("It begins on %s; then %s left, until %s.", l.NotBefore, count(l.Left, "read")+isAre(l.Left), l.ExpiresAt)
	case "stale":
		return "No read is answered now: the lender's node has lost its federation."
	}
	return fmt.Sprintf("It is %s: nothing can be read any more.", strings.ReplaceAll(l.State, "_", " "))
}

func isAre(n uint64) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
