package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

func loanRead(c *cli.Context, s *streams) error {
	a, err := args(c, "PERMISSION")
	if err != nil {
		return err
	}
	if err := need(c, "as", "purpose"); err != nil {
		return err
	}
	in := httpapi.LoanRead{As: c.String("as"), Permission: a[0], Purpose: c.String("purpose"), Filter: c.String("filter"), Query: c.String("query"), Limit: c.Int("limit"), Cursor: c.String("cursor")}
	if c.Bool("print-request") {
		return loanSign(c, s, in)
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanAnswer
		if err := k.call(ctx, "POST", "/api/v1/loans/read", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			for _, e := range out.Entries {
				printLent(w, e, time.Now())
			}
			fmt.Fprintf(w, "%s by read %d, %d left; receipt %s\n", count(len(out.Entries), "entry"), out.Receipt.Seq, out.Receipt.Left, out.Receipt.ID)
			switch {
			case out.Cached:
				fmt.Fprintf(w, "answered before; the lender lets it be used until %s, and a revocation may take so long\n", out.CacheUntil)
			case out.CacheUntil != "":
				fmt.Fprintf(w, "kept in memory until %s, as the lender signed\n", out.CacheUntil)
			}
			if out.Cursor != "" {
				fmt.Fprintf(w, "more: --cursor %s\n", out.Cursor)
			}
		})
	})
}

// printLent shows a lender's entry as what it is: a quotation.
func printLent(w writer, entry any, now time.Time) {
	var e struct {
		ID, Kind, Statement, Trust string
		Rev                        uint64
		Tags                       []string
		Review                     time.Time `json:"review_after"`
	}
	b, err := json.Marshal(entry)
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		fmt.Fprintf(w, "an entry that cannot be shown: %v\n", err)
		return
	}
	fmt.Fprintf(w, "%s@%d  %s, trust %s  [%s]\n    %q\n", e.ID, e.Rev, e.Kind, e.Trust, strings.Join(e.Tags, " "), strings.Join(strings.Fields(e.Statement), " "))
	if !e.Review.IsZero() && !now.Before(e.Review) {
		fmt.Fprintf(w, "    check before relying on it: its lender meant to look at it again by %s\n", e.Review.UTC().Format(time.RFC3339))
	}
}
