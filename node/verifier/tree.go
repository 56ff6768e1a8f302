package verifier

import (
	"context"
	"errors"

	attlog "trustnode/attestation/log"
	"trustnode/node/casefile"
)

// KindLog is a whole log as a tree of tiles.
const KindLog Kind = "log"

// VerifyTree verifies the directory of one log, as event export writes it, read through files: every entry under the key
// that counts at its index, the tiles from the entries up, the head and who cosigned it. The DID log of the organization
// is taken from the material, and those of its witnesses, where they are there. It never fails, as Verify. tell hears of entries
// done, of how many; it may be nil.
func VerifyTree(ctx context.Context, files attlog.Files, o Options, tell func(done, total uint64)) Report {
	s := newSession(ctx, o)
	s.report.Kind = KindLog
	s.line("file", "%s  tile tree of a log", s.name)
	if o.Now.IsZero() {
		return s.finish(broken("no time is given to judge at"))
	}
	if err := s.material(); err != nil {
		return s.finish(err)
	}
	if err := s.tree(files, tell); err != nil {
		return s.finish(err)
	}
	return s.finish(s.vouch())
}

func (s *session) tree(files attlog.Files, tell func(done, total uint64)) error {
	t, err := casefile.OpenTree(s.ctx, s.ring, files, s.names, tell)
	org := t.Note.Org
	if f := (*casefile.Fault)(nil); errors.As(err, &f) && f.Pending {
		return pending("%s", f.What).hinted("give the newest did.jsonl of %s with --with FILE, or put it into the directory", s.short(org))
	}
	if err != nil {
		return s.faulty(err)
	}
	if err := s.pinned.Head(org, t.Note.Head, 0); err != nil {
		return s.faulty(err)
	}
	for _, w := range t.Waits {
		s.line("unsaid", "%s", w.What)
	}
	for _, w := range t.Disputed {
		s.wait(pending("%s", w.What))
	}
	if len(t.Seen) < s.o.Witnesses {
		s.wait(pending("the head is witnessed by %s, %d are asked for", casefile.Count(len(t.Seen), "organization"), s.o.Witnesses).
			hinted("give the DID logs of its witnesses with --with FILE, or export a head that more have cosigned"))
	}
	s.report.Lines = append(s.report.Lines, t.Words(s.names, s.o.Witnesses)...)
	s.orgVoucher(org)
	return nil
}
