package verifier

import (
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/keyring"
)

// voucher is a fingerprint people can compare, and what it is of.
type voucher struct {
	text, of string
	org      did.DID // zero: it is of a federation
}

func (s *session) voucher(text, of string, org did.DID) {
	if v := (voucher{text, of, org}); !slices.Contains(s.vouchers, v) {
		s.vouchers = append(s.vouchers, v)
	}
}

// orgVoucher adds the fingerprint of an organization at its newest version here.
func (s *session) orgVoucher(d did.DID) {
	if d.Method() == didkey.Method {
		s.line("trust", "%s is its own key: the DID is all there is to compare", d)
		return
	}
	v, err := s.ring.Head(s.ctx, d)
	if err != nil {
		return
	}
	if file, ok := s.webs[d]; ok {
		s.line("trust", "the keys of %s are those of %s, given with --with: nothing but that proves them", d, file)
	}
	s.voucher(keyring.Fingerprint(v.DID, v.ID), s.short(d), d)
}

// unsaidHead says what no file can say of a DID log.
func (s *session) unsaidHead(d did.DID) {
	if v, err := s.ring.Head(s.ctx, d); err == nil && d.Method() != didkey.Method {
		s.line("unsaid", "whether the DID of %s goes on after %s: nothing here says that no newer entry exists", s.short(d), v.ID)
	}
}

// vouch compares the fingerprint that was given with what the file is of.
func (s *session) vouch() error {
	if len(s.waits) > 0 && s.o.Fingerprint == "" {
		return nil // it does not verify as it is
	}
	typed := strings.ToLower(strings.TrimSpace(s.o.Fingerprint))
	var all []string
	for _, v := range s.vouchers {
		all = append(all, v.text+" ("+v.of+")")
		s.pinned = s.pinned || typed != "" && v.text == typed
	}
	switch {
	case typed != "" && !keyring.Spelled("fed1", typed) && !keyring.Spelled("org1", typed):
		return broken("%s is not a fingerprint: its last group does not fit", quote(s.o.Fingerprint))
	case typed != "" && len(all) == 0:
		return broken("nothing in the file has a fingerprint that could be compared")
	case typed != "" && !s.pinned && s.earlier(typed) != nil:
		return s.earlier(typed)
	case typed != "" && !s.pinned:
		return broken("the fingerprint is of something else: the file is of %s", list(all))
	case s.o.Strict && (!s.pinned || len(all) > 1):
		return broken("nothing but the file vouches for %s: a fingerprint is needed", orNobody(all)).
			hinted("give the one you have from them by another way, as did show prints it there: --fingerprint %s", s.like())
	}
	for _, v := range s.vouchers {
		if v.text == typed {
			s.line("trust", "%s is the one the fingerprint names", v.of)
		} else {
			s.line("trust", "%s is %s by %s, compare by voice", v.of, v.text, s.alone())
		}
	}
	return nil
}

// earlier is the refusal of a fingerprint that is of a version of an organization's log before the newest one here, nil
// of anything else. It does not count for the file: two branches of a fork have their early versions in common, and a
// thief who writes an entry leaves them as they were.
func (s *session) earlier(typed string) *refusal {
	for _, v := range s.vouchers {
		if v.org.IsZero() {
			continue
		}
		h, err := s.ring.History(s.ctx, v.org)
		if err != nil {
			continue
		}
		for n := h.Len() - 1; n > 0; n-- {
			if at, _ := h.At(n); keyring.Fingerprint(at.Document.ID(), at.ID) == typed {
				return pending("the fingerprint is of version %d of %s, the log is at %d now: it vouches for no entry after %d", n, v.of, h.Len(), n).
					hinted("a fingerprint changes with each entry: compare that of version %d by voice, %s here, with what did show prints there", h.Len(), v.text)
			}
		}
	}
	return nil
}

// like is the form of the fingerprint that is asked for.
func (s *session) like() string {
	if len(s.vouchers) == 0 {
		return "org1-…"
	}
	return s.vouchers[0].text[:len("org1-")] + "…"
}

func orNobody(all []string) string {
	if len(all) == 0 {
		return "it"
	}
	return list(all)
}

// caveat repeats in the result what trust rests on where no fingerprint was given.
func (s *session) caveat() string {
	if s.pinned || len(s.vouchers) == 0 {
		return ""
	}
	return " by " + s.alone() + ", compare " + s.vouchers[0].text
}

func (s *session) alone() string {
	if len(s.o.With) > 0 {
		return "these files alone"
	}
	return "this file alone"
}
