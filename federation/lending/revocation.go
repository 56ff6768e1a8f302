package lending

import (
	"trustnode/did"
	"trustnode/did/envelope"
)

// RevocationType labels a revocation.
var RevocationType = envelope.TypeOf("revocation")

// Kinds of what is revoked.
const (
	TargetPermission = "permission" // target is the id of a permission
	TargetBorrower   = "borrower"   // target is the DID of an agent, or of an organization with all its agents
	TargetApproval   = "approval"   // target is the id of an approval
	TargetDelegation = "delegation" // target is the id of a delegation
)

// Reasons of a revocation.
var reasons = []string{"ended", "misuse", "key_compromise", "data_subject", "policy", "mistake", "other"}

// Revocation ends its target for good (body of RevocationType, at most
// MaxReceipt bytes). It cannot be undone, and is kept even where the target is
// not known yet.
type Revocation struct {
	At         envelope.Time `json:"at"`
	Issuer     did.DID       `json:"issuer"`
	Kid        string        `json:"kid"`
	Reason     string        `json:"reason"`
	Target     string        `json:"target"`
	TargetKind string        `json:"target_kind"`
}

// Payload returns RevocationType.
func (Revocation) Payload() envelope.Type { return RevocationType }

// Signer returns the issuer and its key.
func (r Revocation) Signer() (did.DID, string) { return r.Issuer, r.Kid }

// MaxBytes returns MaxReceipt.
func (Revocation) MaxBytes() int { return MaxReceipt }

// Check holds the body to its form.
func (r Revocation) Check() error {
	return first(
		bytesIn("kid", r.Kid, 1, maxKid),
		oneOf("reason", r.Reason, reasons...),
		oneOf("target_kind", r.TargetKind, TargetPermission, TargetBorrower, TargetApproval, TargetDelegation),
		Target{r.TargetKind, r.Target}.check(),
	)
}

// Target names what a revocation ends; it is also the key under which the
// lender looks a revocation up.
type Target struct{ Kind, ID string }

func (t Target) check() error {
	if t.Kind == TargetSubject {
		return when(CheckSubject(t.ID) != nil, "target", "no pseudonym")
	}
	if t.Kind == TargetBorrower {
		_, err := did.Parse(t.ID)
		return when(err != nil, "target", "no DID: %v", err)
	}
	_, err := envelope.ParseID(t.ID)
	return when(err != nil, "target", "no id: %v", err)
}

// Targets returns what a decision over a permission looks up, absence included:
// the permission, its parents, nearest first, the borrower and the borrower's
// organization. A revocation of any ends the loan.
func Targets(p envelope.Verified[Permission], parents []envelope.ID, org did.DID) []Target {
	out := []Target{{TargetPermission, p.ID().String()}}
	for _, id := range parents {
		out = append(out, Target{TargetPermission, id.String()})
	}
	out = append(out, Target{TargetBorrower, p.Body().Borrower.String()})
	if !org.IsZero() {
		out = append(out, Target{TargetBorrower, org.String()})
	}
	return out
}

// Ends reports whether a revocation ends a permission whose borrower belongs to
// org: it was issued by the permission's own lender and targets one of Targets.
// Parents are the lender's own matter.
func (r Revocation) Ends(p envelope.Verified[Permission], org did.DID) bool {
	if r.Issuer != p.Body().Lender {
		return false
	}
	for _, t := range Targets(p, nil, org) {
		if t == (Target{r.TargetKind, r.Target}) {
			return true
		}
	}
	return false
}
