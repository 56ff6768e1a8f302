package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"trustnode/node/httpapi"
)

// A program reads as the one agent whose token it has: trustnode agent token quant --for http
func ExampleClient() {
	read := func(ctx context.Context, permission string) error {
		node := httpapi.Client{Base: "http://127.0.0.1:8420", Token: os.Getenv("TRUSTNODE_TOKEN"), HTTP: &http.Client{Timeout: time.Minute}}
		var out httpapi.LoanAnswer
		in := httpapi.LoanRead{Permission: permission, Purpose: "S7 drawdown check"}
		if err := node.Call(ctx, http.MethodPost, "/api/v1/loans/read", in, &out); err != nil {
			return err // a *fault.Denied with code, reason and hint
		}
		for _, entry := range out.Entries {
			fmt.Println("quoted source:", entry)
		}
		fmt.Println(out.Receipt.Left, "reads left; receipt", out.Receipt.ID)
		return nil
	}
	_ = read
}
