package testnet

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"trustnode/attestation/trust"
	"trustnode/did/envelope"
	"trustnode/node/casefile"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

//go:embed data/memory.jsonl
var demoMemory []byte

// DemoOptions say how the demo talks and what it leaves behind.
type DemoOptions struct {
	Out  io.Writer
	JSON bool         // one JSON object per step
	Keep bool         // leave the nodes running until ctx ends
	Dir  string       // where everything lies; empty: a new temporary folder
	Log  *slog.Logger // of the nodes; nil: silent
}

// Demo runs the whole road with three complete nodes: two organizations lend, a third
// mediates, anyone verifies offline. It ends by itself and leaves the case file.
func Demo(ctx context.Context, o DemoOptions) error {
	dir := o.Dir
	if dir == "" {
		d, err := os.MkdirTemp("", "trustnode-demo-")
		if err != nil {
			return err
		}
		dir = d
	}
	d := &demo{net: New(dir, o.Log), o: o, start: time.Now()}
	err := d.walk(ctx)
	if err == nil && o.Keep {
		err = d.keep(ctx)
	}
	return errors.Join(err, d.net.StopAll())
}

// demo is one run of the story.
type demo struct {
	net   *Net
	o     DemoOptions
	start time.Time
	n     int

	acme, vendor, arbiter *Org
	quant, perm, dispute  string
}

// step is one line of the demo.
type step struct {
	N      int    `json:"n"`
	AfterS string `json:"after_s"`
	Did    string `json:"did"`
	Proven string `json:"proven,omitempty"`
}

func (d *demo) say(did, proven string, args ...any) {
	d.n++
	s := step{N: d.n, AfterS: fmt.Sprintf("%.1f", time.Since(d.start).Seconds()), Did: did, Proven: fmt.Sprintf(proven, args...)}
	if d.o.JSON {
		b, err := json.Marshal(s)
		if err == nil {
			fmt.Fprintf(d.o.Out, "%s\n", b)
		}
		return
	}
	fmt.Fprintf(d.o.Out, "%2d  %5ss  %s\n", s.N, s.AfterS, s.Did)
	if s.Proven != "" {
		fmt.Fprintf(d.o.Out, "            %s\n", s.Proven)
	}
}

func (d *demo) walk(ctx context.Context) error {
	for _, f := range []func(context.Context) error{d.found, d.federate, d.run, d.fill, d.lend, d.exclude, d.revoke, d.accuse, d.rule, d.weigh, d.verify} {
		if err := f(ctx); err != nil {
			return fmt.Errorf("step %d: %w", d.n+1, err)
		}
	}
	return nil
}

func (d *demo) found(ctx context.Context) (err error) {
	if d.acme, err = d.net.Add(ctx, "acme", "Acme Finance", "acme.example"); err != nil {
		return err
	}
	if d.vendor, err = d.net.Add(ctx, "vendor", "Vendor Quant", "vendor.example"); err != nil {
		return err
	}
	if d.arbiter, err = d.net.Add(ctx, "arbiter", "Arbiter", "arbiter.example"); err != nil {
		return err
	}
	d.say("Acme, Vendor and Arbiter each create an identity with a next key they do not hold in the node.", "each DID is the hash of its own first entry: %s", d.acme.DID)
	return nil
}

func (d *demo) federate(ctx context.Context) error {
	joins := map[*Org][]byte{}
	for _, o := range []*Org{d.vendor, d.arbiter} {
		if err := d.net.Offline(ctx, o, func(c *httpapi.Client) error {
			var f httpapi.FedDraft
			err := c.Call(ctx, http.MethodPost, "/api/v1/federation/join-request", httpapi.JoinRequest{Votes: true}, &f)
			joins[o] = f.Data
			return err
		}); err != nil {
			return err
		}
	}
	var draft httpapi.FedDraft
	in := httpapi.FedCreate{Name: "fin-lending", With: [][]byte{joins[d.vendor], joins[d.arbiter]}, Mediators: [][]byte{joins[d.arbiter]}}
	if err := d.net.Offline(ctx, d.acme, func(c *httpapi.Client) error {
		return c.Call(ctx, http.MethodPost, "/api/v1/federation/drafts", in, &draft)
	}); err != nil {
		return err
	}
	for _, o := range d.net.Orgs {
		if err := d.net.Offline(ctx, o, func(c *httpapi.Client) error {
			return c.Call(ctx, http.MethodPost, "/api/v1/federation/sign", httpapi.File{Data: draft.Data}, &draft)
		}); err != nil {
			return err
		}
	}
	var applied httpapi.FedApplied
	for _, o := range d.net.Orgs {
		if err := d.net.Offline(ctx, o, func(c *httpapi.Client) error {
			return c.Call(ctx, http.MethodPost, "/api/v1/federation/apply", httpapi.FedApply{Data: draft.Data}, &applied)
		}); err != nil {
			return err
		}
	}
	d.say("By files alone, with nobody online, they sign one charter; Arbiter is its neutral mediator before any loan.",
		"all three signatures stand on one body, each node checked them alone: %s", applied.Fingerprint)
	return nil
}

func (d *demo) run(ctx context.Context) error {
	for _, o := range d.net.Orgs {
		if err := d.net.Start(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range d.net.Orgs {
		if _, err := o.Wait(ctx, "fresh", 30*time.Second); err != nil {
			return err
		}
	}
	d.say("Three nodes start and link over libp2p.", "each has heard signed beacons of a quorum at the same charter: all are fresh")
	return nil
}

func (d *demo) fill(ctx context.Context) error {
	if _, err := d.agent(ctx, d.acme, "research", "lend"); err != nil {
		return err
	}
	q, err := d.agent(ctx, d.vendor, "quant", "borrow")
	if err != nil {
		return err
	}
	d.quant = q.DID
	c, err := d.acme.Client()
	if err != nil {
		return err
	}
	b, err := c.Send(ctx, http.MethodPost, "/api/v1/memory/imports?agent=research&project=portfolio&format=mcp", "application/octet-stream", bytes.NewReader(demoMemory))
	if err != nil {
		return err
	}
	var in httpapi.Imported
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	tag := httpapi.MemoryTag{Project: "portfolio", All: true, Release: true, Add: []string{"client:acme"}}
	if err := c.Call(ctx, http.MethodPost, "/api/v1/memory/tags", tag, nil); err != nil {
		return err
	}
	d.say("Each organization binds an agent; Acme imports a memory file and releases it from quarantine.",
		"%d entries, each with its source and the trust \"imported\"; agent %s is signed by Vendor and by its own key", in.Imported, short(d.quant))
	return nil
}

func (d *demo) agent(ctx context.Context, o *Org, name, can string) (httpapi.Agent, error) {
	var a httpapi.Agent
	c, err := o.Client()
	if err != nil {
		return a, err
	}
	return a, c.Call(ctx, http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: name, Can: []string{can}}, &a)
}

func short(did string) string {
	if len(did) > 24 {
		return did[:24] + "…"
	}
	return did
}

func (d *demo) lend(ctx context.Context) error {
	c, err := d.acme.Client()
	if err != nil {
		return err
	}
	var l httpapi.Loan
	in := httpapi.LoanIssue{Lender: "research", Borrower: d.quant, Scope: "tag:client:acme -tag:confidential age<90d", Purpose: "pressure-test strategy S7", Expires: "720h", MaxReads: 5}
	if err := c.Call(ctx, http.MethodPost, "/api/v1/permissions", in, &l); err != nil {
		return err
	}
	d.perm = l.ID
	d.say("Acme lends: a permission of "+fmt.Sprint(len(l.Permission))+" bytes, scoped, for five reads and thirty days.", "scope %q matches %d entries now; notes for the lender: %s", l.Scope, l.Matches, strings.Join(l.Hygiene, " "))
	a, err := d.read(ctx, "S7 drawdown check")
	if err != nil {
		return err
	}
	d.say("Vendor's agent reads the live memory.", "%d entries; receipt %s is signed by Acme's agent and binds answer and request; %d reads left", len(a.Entries), short(a.Receipt.ID), a.Receipt.Left)
	return nil
}

func (d *demo) read(ctx context.Context, purpose string) (httpapi.LoanAnswer, error) {
	var a httpapi.LoanAnswer
	c, err := d.vendor.Client()
	if err != nil {
		return a, err
	}
	return a, c.Call(ctx, http.MethodPost, "/api/v1/loans/read", httpapi.LoanRead{As: "quant", Permission: d.perm, Purpose: purpose}, &a)
}

func (d *demo) exclude(ctx context.Context) error {
	c, err := d.acme.Client()
	if err != nil {
		return err
	}
	in := httpapi.MemoryAdd{Agent: "research", Project: "portfolio", Statement: "Board vote on S7 moved to January", Tags: []string{"client:acme", "confidential"}}
	if err := c.Call(ctx, http.MethodPost, "/api/v1/memory", in, nil); err != nil {
		return err
	}
	a, err := d.read(ctx, "S7 drawdown check, again")
	if err != nil {
		return err
	}
	b, err := json.Marshal(a.Entries)
	if err != nil {
		return err
	}
	if bytes.Contains(b, []byte("Board vote")) {
		return errors.New("an entry that the scope excludes was lent")
	}
	d.say("Acme learns something confidential; Vendor reads again.", "the scope is asked anew at each read: still %d entries, the new one is not among them", len(a.Entries))
	return nil
}

func (d *demo) revoke(ctx context.Context) error {
	c, err := d.acme.Client()
	if err != nil {
		return err
	}
	var r httpapi.LoanRevoked
	if err := c.Call(ctx, http.MethodPost, "/api/v1/permissions/"+d.perm+"/revoke", httpapi.LoanRevoke{Reason: "ended"}, &r); err != nil {
		return err
	}
	_, err = d.read(ctx, "again")
	var denied *fault.Denied
	if !errors.As(err, &denied) || denied.Code != fault.Revoked {
		return fmt.Errorf("a read after the revocation ended with %v", err)
	}
	d.say("Acme revokes; the very next read is refused.", "code %s, with a receipt that proves it; hint: %s", denied.Code, denied.Hint)
	var a httpapi.LoanAudit
	if err := c.Call(ctx, http.MethodGet, "/api/v1/permissions/"+d.perm+"/audit", nil, &a); err != nil {
		return err
	}
	if !a.GapFree || a.Granted != 2 {
		return fmt.Errorf("audit: %d granted, gap-free %v", a.Granted, a.GapFree)
	}
	d.say("Acme looks at everything that happened under the loan.", "%d rows without a gap: issue, %d reads with the hash of what was returned, revocation, the refusal after it", len(a.Rows), a.Granted)
	return nil
}

func (d *demo) accuse(ctx context.Context) error {
	c, err := d.acme.Client()
	if err != nil {
		return err
	}
	var f httpapi.Case
	if err := c.Call(ctx, http.MethodPost, "/api/v1/disputes", httpapi.DisputeFile{Loan: d.perm, Reason: "R1"}, &f); err != nil {
		return err
	}
	d.dispute = f.ID
	d.say("Acme files a dispute; its node attaches what proves it.", "case %s: %d exhibits, among them Vendor's own signed request after the end", short(f.ID), len(f.Items))
	c, err = d.vendor.Client()
	if err != nil {
		return err
	}
	var a httpapi.Case
	if err := c.Call(ctx, http.MethodPost, "/api/v1/disputes/"+d.dispute+"/answer", httpapi.DisputeAnswer{Deny: true, Text: "retry loop, fixed"}, &a); err != nil {
		return err
	}
	d.say("Vendor answers: denied, a retry loop.", "the case is %s; both sides are ready, so nobody waits for a deadline", a.State)
	return nil
}

func (d *demo) rule(ctx context.Context) error {
	c, err := d.arbiter.Client()
	if err != nil {
		return err
	}
	var r httpapi.Case
	in := httpapi.DisputeRule{Outcome: "claimant", Severity: 30, Reasons: "read attempted after revocation"}
	if err := c.Call(ctx, http.MethodPost, "/api/v1/disputes/"+d.dispute+"/rule", in, &r); err != nil {
		return err
	}
	if len(r.Claims) == 0 || r.Ruling == nil {
		return fmt.Errorf("the case is %s without a ruling", r.State)
	}
	d.say("Arbiter checks the evidence without trusting either side, and rules.", "%d of %d acts proven; outcome %s, severity %d.%03d inside the band the facts allow", r.Claims[0].Proven, r.Claims[0].Acts, r.Outcome, r.Claims[0].Severity/1000, r.Claims[0].Severity%1000)
	return nil
}

// settle is how long logs and cosignatures are given to reach everyone.
const settle = 3 * time.Second

func (d *demo) weigh(ctx context.Context) error {
	asOf := time.Now().UTC().Truncate(time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	var seen []byte
	var score trust.Answer
	for _, o := range []*Org{d.vendor, d.arbiter} {
		a, public, err := d.score(ctx, o, asOf)
		if err != nil {
			return err
		}
		if seen != nil && !bytes.Equal(seen, public) {
			return fmt.Errorf("two nodes computed different scores:\n%s\n%s", seen, public)
		}
		seen, score = public, a
	}
	d.say("Vendor and Arbiter each compute the score of Vendor's agent.", "byte-equal answers from their own copies of the logs: %d of 1000, tier %s, %d case open", score.Composite, score.Tier, score.Disputes.Open)
	return nil
}

func (d *demo) score(ctx context.Context, o *Org, asOf time.Time) (trust.Answer, []byte, error) {
	c, err := o.Client()
	if err != nil {
		return trust.Answer{}, nil, err
	}
	b, err := c.Send(ctx, http.MethodGet, "/api/v1/trust/"+url.PathEscape(d.quant)+"?as_of="+url.QueryEscape(asOf.Format(time.RFC3339)), "", nil)
	if err != nil {
		return trust.Answer{}, nil, err
	}
	e, err := envelope.ParseDSSE(b, trust.MaxAnswerBytes)
	if err != nil {
		return trust.Answer{}, nil, err
	}
	a, err := envelope.Decode[trust.Answer](e)
	if err != nil {
		return trust.Answer{}, nil, err
	}
	public, err := a.Public()
	return a, public, err
}

func (d *demo) verify(ctx context.Context) error {
	c, err := d.arbiter.Client()
	if err != nil {
		return err
	}
	b, err := c.Send(ctx, http.MethodGet, "/api/v1/disputes/"+d.dispute+"/export", "", nil)
	if err != nil {
		return err
	}
	file := filepath.Join(d.net.Dir, "case.tnb")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return err
	}
	if !d.o.Keep {
		if err := d.net.StopAll(); err != nil {
			return err
		}
	}
	r := casefile.Verify(ctx, bytes.NewReader(b), casefile.Options{Name: file})
	if !r.OK {
		return fmt.Errorf("the case file does not verify: %s", r.Broken)
	}
	changed := bytes.Clone(b)
	changed[len(b)/2] ^= 1
	if casefile.Verify(ctx, bytes.NewReader(changed), casefile.Options{Name: file}).OK {
		return errors.New("a changed case file verifies")
	}
	d.say("The case goes into one file, which anyone checks with no node and no network.", "%s, %d bytes; with one bit changed it does not verify. Try: trustnode verify %s", file, len(b), file)
	return nil
}

// keep leaves the nodes running and says where.
func (d *demo) keep(ctx context.Context) error {
	for _, o := range d.net.Orgs {
		d.say(fmt.Sprintf("%s runs: --data %s", o.Name, o.Dir), "http://%s  %s", o.HTTP, o.P2P)
	}
	<-ctx.Done()
	return nil
}
