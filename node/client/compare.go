package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Mismatch is one act on which the lender's rows and what was received here disagree.
type Mismatch struct {
	Seq     uint64      // of the answer; 0 where the act has none
	Row     envelope.ID // of the lender's row, or zero
	Request envelope.ID // zero where neither side names one
	Why     string
}

// Compared is what holding the lender's rows to the own receipts came to.
type Compared struct {
	Perm      envelope.ID
	Rows      int        // that the lender showed
	Proven    int        // of these, under its log as it is held here
	Agree     int        // granted answers on which both sides say the same
	Missing   []Mismatch // a receipt is here, and no row of it there
	Extra     []Mismatch // a row of a request that was never kept here
	Different []Mismatch // row and receipt of one answer say different things
}

// maxComparePages bounds what one comparison asks for: 64 rows each.
const maxComparePages = 4096

// Compare asks the lender of a permission for its rows and holds each to the receipts kept
// here (04 section 6, bilateral audit). What it proves is kept, so that both sides hold the
// same evidence. as is the own agent that the permission is for.
func (c *Client) Compare(ctx context.Context, as, perm string) (Compared, error) {
	r := reading{c: c}
	get := viewOf(ctx, c)
	var err error
	if r.as, err = c.agent(get, as); err != nil {
		return Compared{}, fault.From(err)
	}
	if r.perm, r.lender, err = c.permission(ctx, perm); err != nil {
		return Compared{}, fault.From(err)
	}
	if r.perm.Body().Borrower != r.as.Agent {
		return Compared{}, r.deny(fault.Refused, "not_borrower", "the permission is for %s, not for agent %s", r.perm.Body().Borrower, r.as.Name).
			WithHint("compare as the agent it is for")
	}
	k := comparing{r: &r, out: Compared{Perm: r.perm.ID()}, pairs: map[uint64]Pair{}, seen: map[uint64]bool{}}
	if err := k.run(ctx); err != nil {
		return Compared{}, fault.From(err)
	}
	return k.out, nil
}

// comparing is one Compare.
type comparing struct {
	r     *reading
	pairs map[uint64]Pair
	seen  map[uint64]bool // seq of granted rows
	out   Compared
}

func (k *comparing) run(ctx context.Context) error {
	pairs, err := k.r.c.Receipts(ctx, k.out.Perm.String())
	if err != nil {
		return err
	}
	for _, p := range pairs {
		k.pairs[p.Seq] = p
	}
	from := uint64(1)
	for range maxComparePages {
		page, err := k.ask(ctx, from)
		if err != nil {
			return err
		}
		if err := k.take(ctx, page); err != nil {
			return err
		}
		if page.Next <= from {
			break // at its end, or a lender that would be asked for ever
		}
		from = page.Next
	}
	for seq, p := range k.pairs {
		if !k.seen[seq] {
			k.out.Missing = append(k.out.Missing, Mismatch{Seq: seq, Request: p.Request, Why: "the lender shows no row of this answer"})
		}
	}
	slices.SortFunc(k.out.Missing, func(a, b Mismatch) int { return int(a.Seq) - int(b.Seq) })
	return nil
}

// ask signs and sends one request of op audit.
func (k *comparing) ask(ctx context.Context, from uint64) (lending.AuditPage, error) {
	r := k.r
	compact, err := r.signOp(ctx, lending.OpAudit)
	if err != nil {
		return lending.AuditPage{}, err
	}
	frame, err := lending.Frame{Method: lending.MethodAudit, Request: compact, FromSeq: from}.Bytes()
	if err != nil {
		return lending.AuditPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, auditTime)
	defer cancel()
	b, err := r.c.n.Peers.Lend(ctx, r.lender.Org, frame)
	if errors.Is(err, self.ErrOffline) {
		return lending.AuditPage{}, r.deny(fault.Unavailable, "offline", "this node does not run, so the lender cannot be asked").WithHint("start it: trustnode run")
	}
	if err != nil {
		return lending.AuditPage{}, r.deny(fault.Unavailable, "unreachable", "the lender did not answer: %s", inWords(err, r.lender.Org)).WithHint("try again while its node runs")
	}
	reply, ok := lending.ParseReply(b)
	if ok && reply.Problem != nil {
		d := fault.ParseProblem(reply.Problem)
		d.Perm = k.out.Perm
		return lending.AuditPage{}, d
	}
	page, err := lending.ParseAuditPage(reply.Answer)
	if !ok || err != nil || page.Perm != k.out.Perm {
		return lending.AuditPage{}, r.deny(fault.Unavailable, "reply", "what came back is no page of rows of this permission").WithHint("ask the lender's operator; their node may be older")
	}
	return page, nil
}

func (k *comparing) take(ctx context.Context, page lending.AuditPage) error {
	for _, line := range page.Rows {
		proven, err := k.prove(ctx, line)
		if err != nil {
			return err
		}
		if proven {
			k.out.Proven++
		}
		if err := k.row(ctx, line.Row); err != nil {
			return err
		}
	}
	for _, row := range page.Waiting {
		if err := k.row(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// prove holds a row to the lender's log as it is here, and keeps what is proven.
func (k *comparing) prove(ctx context.Context, line bundle.Row) (bool, error) {
	f, err := k.r.c.n.Rec.Fact(ctx, line.Event)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var d attestation.AuditRows
	if e := f.Event.Body(); e.Org != k.r.lender.Org || e.Type != "audit.rows" || e.Decode(&d) != nil {
		return false, nil
	}
	p := audit.RowProof{Row: line.Row, Event: line.Event, Index: line.Index, Size: line.Size}
	for h := range slices.Chunk(line.Path, tlog.HashSize) {
		if len(h) != tlog.HashSize {
			return false, nil
		}
		p.Path = append(p.Path, tlog.Hash(h))
	}
	if p.Check(d.Root) != nil {
		return false, nil
	}
	b, err := bundle.EncodeLine(line)
	if err != nil {
		return false, err
	}
	o := library.Object{ID: envelope.IDOf(line.Row), What: "row", Bytes: b}
	return true, k.r.c.n.DB.Update(ctx, func(tx store.Tx) error { return k.r.c.n.Lib.Put(tx, o) })
}

// row compares one row of the lender.
func (k *comparing) row(ctx context.Context, b []byte) error {
	k.out.Rows++
	id := envelope.IDOf(b)
	body, err := lending.ParseRow(b)
	if err != nil {
		k.out.Different = append(k.out.Different, Mismatch{Row: id, Why: "it does not read as a row"})
		return nil
	}
	switch row := body.(type) {
	case lending.GrantedRow:
		return k.granted(ctx, id, row)
	case lending.DeniedRow:
		return k.known(ctx, Mismatch{Row: id, Request: row.Request, Why: "a denial of a request that is not kept here"}, row.Perm)
	case lending.ReplayRow:
		return k.known(ctx, Mismatch{Seq: row.Seq, Row: id, Request: row.Request, Why: "a repetition of a request that is not kept here"}, row.Perm)
	}
	return nil
}

// known tells of an act whose request is none of this organization's.
func (k *comparing) known(ctx context.Context, m Mismatch, perm envelope.ID) error {
	if perm != k.out.Perm {
		m.Why = "it is of another permission"
		k.out.Different = append(k.out.Different, m)
		return nil
	}
	_, err := k.r.c.n.Lib.Get(ctx, m.Request)
	if errors.Is(err, library.ErrAbsent) {
		k.out.Extra = append(k.out.Extra, m)
		return nil
	}
	return err
}

func (k *comparing) granted(ctx context.Context, id envelope.ID, row lending.GrantedRow) error {
	m := Mismatch{Seq: row.Seq, Row: id, Request: row.Request}
	twice := k.seen[row.Seq]
	k.seen[row.Seq] = true
	p, ok := k.pairs[row.Seq]
	if !ok {
		m.Why = "an answer that did not arrive here, or to a request printed with --print-request"
		k.out.Extra = append(k.out.Extra, m)
		return nil
	}
	receipt, err := k.receipt(ctx, p.Receipt)
	if err != nil {
		return err
	}
	switch {
	case twice:
		m.Why = "a second row of this answer"
	case row.Perm != k.out.Perm || row.Borrower != k.r.as.Agent:
		m.Why = "the row names another permission or borrower"
	case row.Request != p.Request:
		m.Why = fmt.Sprintf("the row names request %s, the receipt %s", row.Request, p.Request)
	case row.Hash != p.Hash:
		m.Why = "row and receipt name different content"
	case receipt.Row != id:
		m.Why = fmt.Sprintf("the receipt names row %s", receipt.Row)
	default:
		k.out.Agree++
		return nil
	}
	k.out.Different = append(k.out.Different, m)
	return nil
}

func (k *comparing) receipt(ctx context.Context, id envelope.ID) (lending.Receipt, error) {
	o, err := k.r.c.n.Lib.Get(ctx, id)
	if err != nil {
		return lending.Receipt{}, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return lending.Receipt{}, err
	}
	return envelope.Decode[lending.Receipt](e)
}

// signOp signs a request of an op that returns no entries, with a fresh nonce.
func (r *reading) signOp(ctx context.Context, op string) (string, error) {
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return "", fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	r.c.signing.RLock()
	defer r.c.signing.RUnlock()
	if err := r.again(ctx, at); err != nil {
		return "", err
	}
	key, kid, err := r.c.n.Signers.Agent(ctx, r.as.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return "", fault.Wrap(fault.Unavailable, "no_key", err).WithHint("the key of agent %s has to be on this node", r.as.Name)
	}
	if err != nil {
		return "", err
	}
	e, err := envelope.Seal(ctx, lending.ReadRequest{
		At: envelope.TimeOf(at), Aud: r.perm.Body().Lender, Borrower: r.as.Agent, Kid: kid, Nonce: lending.NewSalt(), Op: op, Perm: r.perm.ID(),
	}, key)
	if err != nil {
		return "", err
	}
	return e.Compact()
}
