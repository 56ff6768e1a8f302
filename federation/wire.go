package federation

import (
	"fmt"
	"strings"

	"trustnode/did/envelope"
)

// CharterRef names a charter.
type CharterRef struct {
	ID  envelope.ID `json:"id"`
	Seq uint64      `json:"seq"`
}

// Slot names a charter body and the slot (seq, round) it was signed for.
type Slot struct {
	Body  envelope.ID `json:"body"`
	Round uint64      `json:"round"`
	Seq   uint64      `json:"seq"`
}

// check refuses what no committer can have signed.
func (s *Slot) check(name string) error {
	switch {
	case s == nil:
		return nil
	case s.Body.IsZero():
		return fmt.Errorf("%s.body is missing", name)
	case s.Round > MaxRound:
		return fmt.Errorf("%s.round is %d, greatest is %d", name, s.Round, MaxRound)
	}
	return nil
}

// text checks a required text of at most max bytes.
func text(name, s string, max int) error {
	if s == "" {
		return fmt.Errorf("%s is empty", name)
	}
	return optional(name, s, max)
}

func optional(name, s string, max int) error {
	if len(s) > max {
		return fmt.Errorf("%s has %d bytes, cap %d", name, len(s), max)
	}
	return nil
}

// checkAddr refuses what is not the outer form of a multiaddr. Whether it can be
// dialled is found out by dialling; the peer is named by the binding, never by
// its address.
func checkAddr(a string) error {
	if err := text("addrs", a, MaxAddr); err != nil {
		return err
	}
	for _, c := range []byte(a) {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("addrs: %q is not a multiaddr", a)
		}
	}
	if a[0] != '/' || strings.HasSuffix(a, "/") || strings.Contains(a+"/", "/p2p/") || strings.Contains(a, "//") {
		return fmt.Errorf("addrs: %q is not a multiaddr of a host", a)
	}
	return nil
}
