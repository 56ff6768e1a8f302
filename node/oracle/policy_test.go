package oracle

import (
	"errors"
	"testing"

	"trustnode/attestation/trust"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/node/fault"
)

func TestPolicyIsTheOneTheCharterNames(t *testing.T) {
	v1, err := trust.V1()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		names envelope.ID
		known bool
	}{
		{"none: the built-in one", envelope.ID{}, true},
		{"the built-in one, by id", v1.ID(), true},
		{"one this node does not know", envelope.IDOf([]byte("other numbers")), false},
	} {
		p, err := policyOf(charter.Head{Body: charter.Body{Seq: 6, Policy: charter.Policy{TrustPolicy: tt.names}}})
		if tt.known {
			if err != nil || p.ID() != v1.ID() {
				t.Errorf("%s: got %s, %v", tt.name, p.ID(), err)
			}
			continue
		}
		var d *fault.Denied
		want := "charter 6 names trust policy " + tt.names.String() + ", this node knows v1; upgrade, or import it: trustnode fed apply FILE"
		if !errors.As(err, &d) || d.Code != fault.Invalid || d.Reason != "policy" || d.Hint != want {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
