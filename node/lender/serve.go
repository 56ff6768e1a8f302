package lender

import (
	"context"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// Serve is one exchange of /trustnode/lend/1: a frame in, a frame out by send. from is
// the organization of the peer: no authority, the request's signature alone is one.
// Errors are those of send.
func (l *Lender) Serve(ctx context.Context, from did.DID, frame []byte, send func([]byte) error, abort func()) error {
	s := &frameSender{send: send, abort: abort}
	err := l.exchange(ctx, frame, s)
	if s.used || err == nil {
		return s.err
	}
	d := fault.From(err)
	if d.Code == fault.Internal {
		l.n.Log.ErrorContext(ctx, "a lending call failed", "from", from.String(), "error", err)
	}
	return send(lending.ProblemFrame(fault.ProblemOf(d).JSON(), d.Code.Status()))
}

// exchange answers by s, or returns the refusal that is to be sent.
func (l *Lender) exchange(ctx context.Context, frame []byte, s *frameSender) error {
	f, err := lending.ParseFrame(frame)
	if err != nil {
		return err
	}
	c := Call{Request: f.Request, Permission: f.Permission, Send: s}
	switch f.Method {
	case lending.MethodRead:
		return l.Read(ctx, c)
	case lending.MethodDiscover:
		return l.Discover(ctx, c)
	case lending.MethodAsk:
		return s.asked(l.Ask(ctx, f.Request))
	case lending.MethodAsked:
		return s.asked(l.Asked(ctx, f.Request))
	case lending.MethodAudit:
		page, err := l.AuditPage(ctx, c, f.FromSeq)
		if err != nil {
			return err
		}
		return s.Send(page)
	}
	receipt, err := l.Status(ctx, c)
	if err != nil {
		return err
	}
	return s.write(lending.ReceiptFrame(receipt))
}

// frameSender puts an answer into a frame.
type frameSender struct {
	send  func([]byte) error
	abort func()
	used  bool
	err   error
}

// Send implements Sender.
func (s *frameSender) Send(answer []byte) error { return s.write(lending.AnswerFrame(answer)) }

// Abort implements Sender.
func (s *frameSender) Abort() { s.abort() }

// asked sends how a loan request stands, or passes the refusal on.
func (s *frameSender) asked(a lending.Asked, err error) error {
	if err != nil {
		return err
	}
	b, err := a.Bytes()
	if err != nil {
		return err
	}
	return s.Send(b)
}

func (s *frameSender) write(frame []byte) error {
	s.used = true
	s.err = s.send(frame)
	return s.err
}
