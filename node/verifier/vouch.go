package verifier

import (
	"fmt"
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
	by       string  // what beside the file says that it is true: "" nothing
	stranger bool    // org speaks in the file beside charters that do not name it
}

func (s *session) voucher(v voucher) {
	if !slices.ContainsFunc(s.vouchers, func(o voucher) bool { return o.text == v.text && o.org == v.org }) {
		s.vouchers = append(s.vouchers, v)
	}
}

// orgVoucher adds the fingerprint of an organization at its newest version here.
func (s *session) orgVoucher(d did.DID) {
	if d.Method() == didkey.Method {
		s.line("trust", "%s is its own key: the DID is all there is to compare", d)
		return
	}
	fingerprint, err := s.ring.Fingerprint(s.ctx, d)
	if err != nil {
		return
	}
	known := voucher{text: fingerprint, of: s.short(d), org: d}
	if upTo, ok, err := s.pinned.DID(s.ctx, s.ring, d); err == nil && ok {
		known.by = fmt.Sprintf("the pins know, up to version %d", upTo)
	}
	if file, ok := s.webs[d]; ok && known.by == "" {
		s.line("trust", "the keys of %s are those of %s, given with --with: nothing but that proves them", d, file)
	}
	s.voucher(known)
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
	var all, alone []string
	found := false
	for i := range s.vouchers {
		v := &s.vouchers[i]
		if typed != "" && v.text == typed {
			v.by, found = "the fingerprint names", true
		}
		all = append(all, v.text+" ("+v.of+")")
		if v.by == "" {
			alone = append(alone, v.text+" ("+v.of+")")
		}
	}
	switch {
	case typed != "" && !keyring.Spelled("fed1", typed) && !keyring.Spelled("org1", typed):
		return broken("%s is not a fingerprint: its last group does not fit", quote(s.o.Fingerprint))
	case typed != "" && len(all) == 0:
		return broken("nothing in the file has a fingerprint that could be compared")
	case typed != "" && !found && s.earlier(typed) != nil:
		return s.earlier(typed)
	case typed != "" && !found:
		return broken("the fingerprint is of something else: the file is of %s", list(all)).
			hinted("compare by voice with whoever the file is of, as %s prints it there; a file that is not theirs proves nothing of them", s.prints())
	case typed != "" && s.stranger() != nil:
		return s.stranger()
	case s.o.Strict && (len(all) == 0 || len(alone) > 0):
		return broken("nothing but the file vouches for %s: a fingerprint is needed", orNobody(alone)).
			hinted("give the one you have from them by another way, as %s prints it there: --fingerprint %s", s.prints(), s.like())
	}
	for _, v := range s.vouchers {
		if v.by != "" {
			s.line("trust", "%s is the one %s", v.of, v.by)
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

// stranger is the refusal of a fingerprint that says nothing of an organization which speaks in the file, nil if there is
// none.
func (s *session) stranger() *refusal {
	for _, v := range s.vouchers {
		if v.stranger && v.by == "" {
			return broken("%s speaks in the file and is no member: the fingerprint says nothing of it", v.org).
				hinted("compare %s by voice with whoever it is, and verify the file against that", v.text)
		}
	}
	return nil
}

// prints is the command that prints such a fingerprint.
func (s *session) prints() string {
	if len(s.vouchers) > 0 && s.vouchers[0].org.IsZero() {
		return "status"
	}
	return "did show"
}

// like is the form of the fingerprint that is asked for.
func (s *session) like() string {
	if v, ok := s.unvouched(); ok && v.org.Method() != didkey.Method {
		return v.text[:len("org1-")] + "…"
	}
	return "org1-…"
}

// unvouched is the first that nothing but the file speaks for.
func (s *session) unvouched() (voucher, bool) {
	i := slices.IndexFunc(s.vouchers, func(v voucher) bool { return v.by == "" })
	if i < 0 {
		return voucher{}, false
	}
	return s.vouchers[i], true
}

func orNobody(all []string) string {
	if len(all) == 0 {
		return "it"
	}
	return list(all)
}

// caveat repeats in the result what trust rests on where nothing beside the file speaks for anything in it.
func (s *session) caveat() string {
	v, ok := s.unvouched()
	if !ok || slices.ContainsFunc(s.vouchers, func(v voucher) bool { return v.by != "" }) {
		return ""
	}
	return " by " + s.alone() + ", compare " + v.text
}

func (s *session) alone() string {
	if len(s.o.With) > 0 {
		return "these files alone"
	}
	return "this file alone"
}
