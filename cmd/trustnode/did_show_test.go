package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/httpapi"
	"trustnode/node/member"
	"trustnode/node/resolver"
	"trustnode/node/resolver/resolvertest"
)

// showAt runs did show against a node whose ring and clock are given.
func showAt(t *testing.T, n *resolvertest.Node, who did.DID) answer {
	t.Helper()
	h := httpapi.New(httpapi.Services{Node: n.Node, Resolver: n.Resolver, Member: &member.Member{}}, "t", "test", slog.New(slog.DiscardHandler))
	k := &caller{api: httpapi.InProcess(h, "t"), own: true, close: func() error { return nil }}
	var out, err bytes.Buffer
	s := &streams{in: strings.NewReader(""), out: &out, err: &err}
	code := s.report(showIdentity(t.Context(), s, k, who.String(), resolvertest.Now))
	return answer{[]string{"did", "show", who.String()}, code, out.String(), err.String()}
}

// has checks what a verb printed.
func has(t *testing.T, a answer, code int, want []string, never ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("want exit %d: %s", code, a)
	}
	for _, w := range want {
		if !strings.Contains(a.out, w) {
			t.Errorf("%q is missing: %s", w, a)
		}
	}
	for _, w := range never {
		if strings.Contains(a.out, w) {
			t.Errorf("%q is there: %s", w, a)
		}
	}
}

// What did show says of keys is what this node would accept of them.
func TestShowInEachState(t *testing.T) {
	n := resolvertest.NewNode(t, resolvertest.NewOrg(t, "acme"))
	beta := resolvertest.NewOrg(t, "beta").Rotate()
	held, other := beta.Rotate(), beta.As(1).Rotate()
	n.Hold(held)
	has(t, showAt(t, n, beta.DID()), exitDone, []string{held.Issuer() + "  issuer, since version 3", "nothing that was seen contradicts it",
		resolvertest.Key("beta", "watch", 0).Public().Multikey()[:4], "  issuer, from version 1 to version 2 (not announced"}, "version 1 (not announced")

	n.Hold(other)
	frozen := showAt(t, n, beta.DID())
	has(t, frozen, exitRefused, []string{"state        frozen", beta.Issuer() + "  issuer, since version 2",
		held.Head() + ", held first\n               not accepted: issuer " + held.Issuer() + ", in 3-",
		other.Head() + "\n               not accepted: issuer " + other.Issuer() + ", in 3-"}, held.Issuer()+"  issuer", beta.Issuer()+"  issuer, from")

	if _, err := n.AcceptHead(t.Context(), resolver.Accept{DID: beta.DID(), Version: other.Head(), Reason: "compared"}); err != nil {
		t.Fatal(err)
	}
	has(t, showAt(t, n, beta.DID()), exitDone, []string{"another continuation was seen, and decided against", "which was decided against"}, "not accepted", "contradicts")
	has(t, resolveAt(n, beta.DID().String()), exitDone, []string{"its history verifies; see the warnings", "another entry 3 was seen, " + held.Head() + "; it was decided against (operator z"}, "contradicts")

	ended := resolvertest.NewOrg(t, "ended").Watched()
	n.Hold(ended)
	has(t, showAt(t, n, ended.DID()), exitDone, []string{"sign each next entry"})
	n.Hold(ended.End())
	gone := showAt(t, n, ended.DID())
	has(t, gone, exitRefused, []string{"state        deactivated", "retired      " + ended.Issuer() + "  issuer, from version 2"}, "sign each next entry", "key          ")
	if !strings.Contains(gone.err, "is deactivated: its controller ended it") {
		t.Errorf("%s", gone)
	}

	web := did.MustParse("did:web:gamma.example")
	doc := resolvertest.WebDocument(web, 1, "x")
	n.Pin(web, doc)
	has(t, showAt(t, n, web), exitDone, []string{"  issuer, since document " + envelope.IDOf(doc).String() + "\n", "other keys are not taken without approval"}, "governance", "announced")
}
