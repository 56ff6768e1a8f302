package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"trustnode/node/httpapi"
)

// loanSign prints a signed read for curl and other carriers. It is JSON with and without
// --json: that is what the lender's node takes.
func loanSign(c *cli.Context, s *streams, in httpapi.LoanRead) error {
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.LoanSigned
		if err := k.call(ctx, "POST", "/api/v1/loans/sign", in, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) {
			fmt.Fprintf(w, "{\"request\":%q,\"permission\":%q}\n", out.Request, out.Permission)
		})
	})
}
