package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/httpapi"
)

// agentHand signs as one agent of a node.
type agentHand struct {
	t      testing.TB
	who    did.DID
	kid    string
	signer envelope.Signer
}

func (h *seat) hand(agent string) agentHand {
	h.t.Helper()
	d := did.MustParse(agent)
	signer, kid, err := h.node.sign.Agent(h.t.Context(), d)
	if err != nil {
		h.t.Fatal(err)
	}
	return agentHand{h.t, d, kid, signer}
}

// asks is a signed request for a read, as the body of a POST.
func (a agentHand) asks(l httpapi.Loan, purpose string) []byte {
	a.t.Helper()
	perm, err := envelope.ParseID(l.ID)
	if err != nil {
		a.t.Fatal(err)
	}
	e, err := envelope.Seal(a.t.Context(), lending.ReadRequest{At: envelope.TimeOf(time.Now()), Aud: did.MustParse(l.Lender), Borrower: a.who, Kid: a.kid,
		Nonce: lending.NewSalt(), Op: lending.OpRead, Perm: perm, Purpose: purpose}, a.signer)
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := e.Compact()
	if err != nil {
		a.t.Fatal(err)
	}
	b, err := json.Marshal(map[string]string{"request": text, "permission": l.Permission})
	if err != nil {
		a.t.Fatal(err)
	}
	return b
}

// posts sends a body to the reads of a node, as a stranger: without a token.
func (h *seat) posts(c *http.Client, body []byte) (int, []byte, error) {
	res, err := c.Post("http://"+h.cfg.HTTP+"/api/v1/reads", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, b, err
}

// lendsToItself starts a node alone with two agents and a loan between them.
func lendsToItself(t *testing.T, reads uint64) (*seat, httpapi.Loan, agentHand) {
	t.Helper()
	h := newSeat(t, "solo")
	h.cfg.ReadsPerS = 1_000_000
	h.start()
	var quant httpapi.Agent
	h.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "p"}, nil)
	h.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &quant)
	h.must(http.MethodPost, "/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: "the one entry", Tags: []string{"open"}}, nil)
	var l httpapi.Loan
	h.must(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: quant.DID, Scope: "tag:open", Purpose: "load",
		Expires: "24h", MaxReads: reads}, &l)
	return h, l, h.hand(quant.DID)
}

// 64 callers who read 20 times each share a loan of 100 reads: 100 are granted, each with
// a number of its own, and every other caller is told why not.
func TestExactlyAsManyReadsAsWereLent(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a whole node")
	}
	const callers, each, granted = 64, 20, 100
	h, l, hand := lendsToItself(t, granted)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var seqs []uint64
	denied := map[string]int{}
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for range each {
				status, b, err := h.posts(client, hand.asks(l, fmt.Sprintf("caller %d", n)))
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case status == http.StatusOK:
					seqs = append(seqs, seqOf(t, b))
				default:
					denied[fmt.Sprint(status, " ", codeOf(b))]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(seqs)
	if want := oneTo(granted); !slices.Equal(seqs, want) {
		t.Errorf("granted %v, want 1..%d", seqs, granted)
	}
	if n := denied["403 exhausted"]; n != callers*each-granted || len(denied) != 1 {
		t.Errorf("denied %v, want %d times exhausted", denied, callers*each-granted)
	}
	var a httpapi.LoanAudit
	h.must(http.MethodGet, "/api/v1/permissions/"+l.ID+"/audit", nil, &a)
	rows := []uint64{}
	for _, r := range a.Rows {
		if r.Decision == "granted" {
			rows = append(rows, r.Seq)
		}
	}
	slices.Sort(rows)
	if !a.GapFree || a.Granted != granted || !slices.Equal(rows, oneTo(granted)) {
		t.Errorf("the audit has %d granted, gap-free %v, rows %v", a.Granted, a.GapFree, rows)
	}
}

func oneTo(n uint64) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i) + 1
	}
	return out
}

// seqOf reads the number of a granted read out of the receipt in its answer.
func seqOf(t *testing.T, answer []byte) uint64 {
	t.Helper()
	var v struct{ Receipt string }
	if err := json.Unmarshal(answer, &v); err != nil {
		t.Errorf("%v: %s", err, answer)
		return 0
	}
	e, err := envelope.ParseCompact(v.Receipt, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		t.Errorf("%v: %s", err, answer)
		return 0
	}
	r, err := envelope.Decode[lending.Receipt](e)
	if err != nil {
		t.Error(err)
	}
	return r.Seq
}

func codeOf(b []byte) string {
	var p struct{ Code string }
	_ = json.Unmarshal(b, &p)
	return p.Code
}
