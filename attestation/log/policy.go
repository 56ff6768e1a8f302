package log

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
)

// ErrPolicy is wrapped by the error for a policy that nobody could meet, or that
// would say more than it is meant to.
var ErrPolicy = errors.New("no policy")

// Policy is what a head must carry to be believed: the line of the log's key, and
// cosignatures of at least Quorum of the witnesses.
type Policy struct {
	Org       did.DID
	Key       did.PublicKey
	Witnesses []PolicyWitness // one per organization, in the order written
	Quorum    int             // organizations; 0 asks for no cosignature
}

// PolicyWitness is one organization and the keys under which it cosigns. Its keys
// count once, whatever their number.
type PolicyWitness struct {
	Org  did.DID
	Keys []did.PublicKey
}

// Bytes returns p in the text form that Sigsum, Tessera and torchwood read: one
// "log" line, a "witness" line per key, a "group" per organization, the quorum over
// these. It never writes "quorum none" where cosignatures are asked for, so what
// nobody can meet is refused with ErrPolicy instead of being believed by all.
func (p Policy) Bytes() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "log %s\n", verifierKey(Origin(p.Org), algHead, p.Key))
	groups := make([]string, len(p.Witnesses))
	for i, w := range p.Witnesses {
		groups[i] = fmt.Sprintf("org%d", i+1)
		names := make([]string, len(w.Keys))
		for j, k := range w.Keys {
			names[j] = fmt.Sprintf("org%d-key%d", i+1, j+1)
			fmt.Fprintf(&b, "witness %s %s\n", names[j], verifierKey(WitnessName(w.Org), algCosigned, k))
		}
		fmt.Fprintf(&b, "group %s any %s\n", groups[i], strings.Join(names, " "))
	}
	if p.Quorum == 0 {
		b.WriteString("quorum none\n")
	} else {
		fmt.Fprintf(&b, "group witnesses %d %s\nquorum witnesses\n", p.Quorum, strings.Join(groups, " "))
	}
	return b.Bytes(), nil
}

func (p Policy) check() error {
	seen := map[did.DID]bool{p.Org: true} // the origin is no witness of itself
	for _, w := range p.Witnesses {
		switch {
		case seen[w.Org]:
			return fmt.Errorf("%w: %s counts twice or is the log's own", ErrPolicy, w.Org)
		case len(w.Keys) == 0:
			return fmt.Errorf("%w: no witness key of %s", ErrPolicy, w.Org)
		case !validName(WitnessName(w.Org)):
			return fmt.Errorf("%w: %s is no key name", ErrPolicy, w.Org)
		}
		seen[w.Org] = true
	}
	if !validName(Origin(p.Org)) || p.Key.IsZero() {
		return fmt.Errorf("%w: no log key of %s", ErrPolicy, p.Org)
	}
	if p.Quorum < 0 || p.Quorum > len(p.Witnesses) {
		return fmt.Errorf("%w: quorum of %d, %d witnesses", ErrPolicy, p.Quorum, len(p.Witnesses))
	}
	return nil
}

// verifierKey returns the C2SP signed-note text form of a public key under a name.
func verifierKey(name string, alg byte, k did.PublicKey) string {
	raw := append([]byte{alg}, k.Raw()...)
	return fmt.Sprintf("%s+%08x+%s", name, keyHash(name, alg, k), base64.StdEncoding.EncodeToString(raw))
}
