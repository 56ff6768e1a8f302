package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanAudit(c *cli.Context, s *streams) error {
	if name := c.String("subject"); name != "" {
		return loanReaders(c, s, subjectPath(name, "readers"))
	}
	if id := c.String("entry"); id != "" {
		return loanReaders(c, s, "/api/v1/entries/"+url.PathEscape(id)+"/readers")
	}
	if c.String("check") != "" {
		return loanCheck(c, s)
	}
	if c.Bool("compare") {
		return loanCompare(c, s)
	}
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanAudit
		if err := k.call(ctx, "GET", "/api/v1/permissions/"+url.PathEscape(a[0])+"/audit", nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printAudit(w, out) })
	})
}

func printAudit(w writer, a httpapi.LoanAudit) {
	for _, r := range a.Rows {
		seq, pos := "", "not in the log yet"
		if r.Seq > 0 {
			seq = fmt.Sprintf(" %d", r.Seq)
		}
		if r.Index != nil {
			pos = fmt.Sprintf("log %d", *r.Index)
		}
		what := strings.TrimSpace(r.Decision + " " + r.Code)
		fmt.Fprintf(w, "%s  %-8s%-4s %-16s %-12s %s\n", r.At, r.Op, seq, what, pos, oneLine(r.Purpose))
		switch {
		case len(r.Entries) > 0:
			fmt.Fprintf(w, "    %s, hash %s\n", count(len(r.Entries), "entry"), r.Hash)
		case r.Hash != "":
			fmt.Fprintf(w, "    hash %s\n", r.Hash)
		}
	}
	printGone(w, a.Gone)
	names := orgNames{}
	for _, e := range a.Events {
		names.add(e.Org)
	}
	for _, e := range a.Events {
		seen := ""
		if e.Witnessed != nil {
			seen = ", " + witnessedWord(*e.Witnessed)
		}
		fmt.Fprintf(w, "%s  event    %-20s log %d of %s%s\n", e.At, e.Type, e.Index, names.of(e.Org), seen)
	}
	did, whole := "granted", "seq has no gap"
	if !a.GapFree {
		whole = "SEQ HAS A GAP"
	}
	if a.Side == "borrower" {
		did = "received"
		if !a.GapFree {
			whole = "others did not arrive here, or their rows are erased or past their age"
		}
	}
	fmt.Fprintf(w, "%s %s, %s\n", count(a.Granted, "answer"), did, whole)
	if a.Under > 0 {
		fmt.Fprintf(w, "%s more under parts of it, which count against it too; their own audits list them\n", count(a.Under, "answer"))
	}
}

// printGone tells of the reads whose rows are no more, those past their age in runs.
func printGone(w writer, gone []httpapi.GoneRead) {
	for i := 0; i < len(gone); i++ {
		g := gone[i]
		if g.Erased != nil {
			fmt.Fprintf(w, "read %d: its row is erased, log.erased at %d\n", g.Seq, *g.Erased)
			continue
		}
		last := i
		for last+1 < len(gone) && gone[last+1].Erased == nil && gone[last+1].Seq == gone[last].Seq+1 {
			last++
		}
		if last == i {
			fmt.Fprintf(w, "read %d: its row is past its age\n", g.Seq)
		} else {
			fmt.Fprintf(w, "reads %d to %d: their rows are past their age\n", g.Seq, gone[last].Seq)
		}
		i = last
	}
}
