package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// loanReaders lists who read of a person or an entry: the one who asks may be the person.
func loanReaders(c *cli.Context, s *streams, path string) error {
	if _, err := args(c); err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.Readers
		if err := k.call(ctx, "GET", path, nil, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { printReaders(w, out) })
	})
}

func subjectPath(name, verb string) string {
	return "/api/v1/subjects/" + url.PathEscape(name) + "/" + verb
}

func printReaders(w writer, r httpapi.Readers) {
	for _, x := range r.Readers {
		fmt.Fprintf(w, "%s of %s\n    %s, first %s, last %s, under %s: %s\n", x.Borrower, x.Org, count(x.Count, "answer"), x.First, x.Last, x.Permission, oneLine(x.Purpose))
	}
	what := "the entry"
	if r.Subject != "" {
		what = "subject " + r.Subject
	}
	fmt.Fprintf(w, "%s: read by %s\n", what, readersWord(r.Readers))
	if r.Subject != "" {
		fmt.Fprintf(w, "%s of memory now\n", count(r.Entries, "entry"))
	}
	if r.Waiting {
		fmt.Fprintln(w, "the log does not take what is decided: reads of the last moment may be missing")
	}
}

// readersWord counts who read: one agent may have read under several loans.
func readersWord(readers []httpapi.ReaderInfo) string {
	agents := map[string]bool{}
	for _, x := range readers {
		agents[x.Borrower] = true
	}
	return fmt.Sprintf("%s under %s", count(len(agents), "agent"), count(len(readers), "loan"))
}

func revokeSubject(c *cli.Context, s *streams, name string) error {
	if _, err := args(c); err != nil {
		return err
	}
	in := httpapi.SubjectRevoke{}
	if c.IsSet("reason") {
		in.Reason = c.String("reason")
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.SubjectRevoked
		if err := k.call(ctx, "POST", subjectPath(name, "revoke"), in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			if out.Before {
				fmt.Fprintf(w, "subject %s was revoked before; %s of it in no scope\n", out.Subject, count(out.Entries, "entry"))
				return
			}
			fmt.Fprintf(w, "subject %s: %s left every scope at %s, and none of it comes back\n", out.Subject, count(out.Entries, "entry"), out.At)
			for _, at := range out.Backups {
				fmt.Fprintf(w, "a backup of %s does not know of it: after a restore, repeat this\n", at)
			}
		})
	})
}
