package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"trustnode/node/httpapi"
	"trustnode/node/mcp"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureMCP is an agent's read by the tool loan_read over loopback HTTP; the floor is
// the same read by the same agent's token over the HTTP API. Both ask the lender's node.
func BenchmarkFigureMCP(b *testing.B) {
	const reads, warm = 300, 30
	all := founded(b, "trio", "acme", "vendor", "arbiter")
	x := trio{acme: all[0], vendor: all[1], arbiter: all[2]}
	x.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "portfolio"}, nil)
	x.vendor.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &x.quant)
	for i := range 20 {
		x.remember(fmt.Sprintf("Berth %d is closed for dredging until 9 December.", i))
	}
	loan := x.lend(2 * (reads + warm))
	token := func(surface string) string {
		_, err := x.read(loan.ID)
		if err != nil {
			b.Fatal(err)
		}
		text, _, err := x.vendor.node.member.MakeToken(context.Background(), "quant", surface)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	ask := func(path, token, body string) func() error {
		return func() error {
			rq, err := http.NewRequest(http.MethodPost, "http://"+x.vendor.node.http+path, bytes.NewReader([]byte(body)))
			if err != nil {
				return err
			}
			rq.Header.Set("Authorization", "Bearer "+token)
			rq.Header.Set("Content-Type", "application/json")
			rq.Header.Set("Accept", "application/json, text/event-stream")
			res, err := http.DefaultClient.Do(rq)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err == nil && (res.StatusCode != http.StatusOK || bytes.Count(got, []byte("dredging")) < 20 || bytes.Contains(got, []byte("isError"))) {
				err = fmt.Errorf("status %d: %.300s", res.StatusCode, got)
			}
			return err
		}
	}
	arguments := `{"permission":"` + loan.ID + `","purpose":"berth planning"}`
	tool := ask(mcp.Path, token("mcp"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"loan_read","arguments":`+arguments+`}}`)
	plain := ask("/api/v1/loans/read", token("http"), arguments)
	for range warm - 2 {
		for _, read := range []func() error{tool, plain} {
			if err := read(); err != nil {
				b.Fatal(err)
			}
		}
	}
	got, least := benchtest.Turns(b, reads, 1, tool, plain)
	benchtest.Latency(b, "mcp: loan_read of 20 entries, two nodes", got, least, "the same by POST /api/v1/loans/read", benchtest.Target{Ratio: 1.5})
}
