package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// loanCheck says whether this node gave somebody what a file holds, and with -o writes the
// proof of the row for who asked.
func loanCheck(c *cli.Context, s *streams) error {
	if _, err := args(c); err != nil {
		return err
	}
	b, err := s.read(c.String("check"))
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		reply, err := k.raw(ctx, "POST", "/api/v1/audit/check", "application/octet-stream", b)
		if err != nil {
			return err
		}
		var out httpapi.AuditChecked
		if err := json.Unmarshal(reply, &out); err != nil {
			return err
		}
		if out.Confirmed && out.Row != "" && !out.Gone && c.String("o") != "" {
			proof, err := k.raw(ctx, "GET", "/api/v1/events/"+url.PathEscape(out.Row)+"/proof", "", nil)
			if err != nil {
				return err
			}
			if err := s.write(c, proof); err != nil {
				return err
			}
		}
		if c.String("o") != "-" {
			if err := s.result(out, func(w writer) { printChecked(w, out) }); err != nil {
				return err
			}
		}
		if !out.Confirmed {
			return &failedError{exitUnverified, "denied: " + out.Why, "trustnode loan audit PERMISSION shows what was returned under a loan"}
		}
		return nil
	})
}

func printChecked(w writer, c httpapi.AuditChecked) {
	switch {
	case !c.Confirmed:
	case c.What == "text":
		fmt.Fprintf(w, "confirmed: an entry of this node says this, and %s had it in an answer\n", readersWord(c.Readers))
		for _, x := range c.Readers {
			fmt.Fprintf(w, "    %s, first %s, last %s, under %s\n", x.Borrower, x.First, x.Last, x.Permission)
		}
	case c.Gone:
		fmt.Fprintf(w, "confirmed: row %d, of which only the hash is left, under loan %s\n", c.N, c.Loan)
	default:
		if c.Beside {
			fmt.Fprintln(w, "this is of the receipt alone: the entries beside it come without the salt that binds them to it")
		}
		fmt.Fprintf(w, "confirmed: row %d, answer %d of %s under loan %s at %s\n", c.N, c.Seq, count(len(c.Entries), "entry"), c.Loan, c.At)
	}
}
