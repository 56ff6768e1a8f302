package client_test

import (
	"context"
	"errors"
	"fmt"

	"trustnode/node/client"
	"trustnode/node/fault"
)

// An agent inside the node's process reads what is lent to it. Outside of it, the same read
// is POST /api/v1/loans/read, or the tool loan_read.
func ExampleClient_Read() {
	read := func(ctx context.Context, c *client.Client, permission string) error {
		r, err := c.Read(ctx, client.ReadInput{As: "quant", Perm: permission, Purpose: "S7 drawdown check", Filter: "age<30d", Limit: 20})
		var denied *fault.Denied
		if errors.As(err, &denied) {
			fmt.Println(denied.Code, denied.Reason, denied.Hint)
			if denied.Code == fault.Revoked && denied.Verified {
				return nil // the lender signed that it is over: denied.Receipt proves it
			}
		}
		if err != nil {
			return err
		}
		for _, entry := range r.Entries {
			fmt.Printf("quoted source: %s\n", entry)
		}
		fmt.Println(r.Receipt.Left, "reads left; receipt", r.ReceiptID)
		return nil
	}
	_ = read
}
