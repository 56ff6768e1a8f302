package mediation

import (
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Grade is what a check found about one exhibit.
type Grade string

// The grades of section 7.
const (
	Proven       Grade = "proven"       // signature, key by log position, place under a witnessed head
	HashOnly     Grade = "hash_only"    // all but the bytes
	Attested     Grade = "attested"     // one side's word
	Unproven     Grade = "unproven"     // a proof or a rotation is missing
	Contradicted Grade = "contradicted" // what is there says something else
)

// Exhibit is what the holder of the objects found in one item. Signature, key, place
// and hash are checked before an Exhibit is made; this package weighs what it shows.
type Exhibit struct {
	Grade Grade
	Why   string // for every grade but proven

	Perm     envelope.ID // permission it is about; its own id for a permission
	Request  envelope.ID // of a row or receipt: the request it answers; of a request: its own id
	Lender   did.DID     // lending agent
	Borrower did.DID     // borrowing agent
	Org      did.DID     // whose agent signed it
	Op       string      // of a row or request
	Refused  string      // of a row: the code it was denied with; "" for granted
	Granted  bool        // of a receipt: it is one of a granted answer
	At       time.Time   // as its signer states; it only narrows
	Place    *Where      // where the log holds it
}

// ItemReport is the finding on one item.
type ItemReport struct {
	By did.DID
	Item
	Exhibit
}

// ClaimReport is the finding on one claim.
type ClaimReport struct {
	N       uint64
	Code    string
	Acts    uint64 // acts that verify
	Finding string // proven, refuted, open
	Items   []uint64
	Why     string
}

// Report is what the evidence of a case shows by itself, without any opinion.
type Report struct {
	Items  []ItemReport
	Claims []ClaimReport
}

// Weigh checks every item of the manifests held here and what they prove of each claim.
// look says what an item is; it must not fail: what it cannot check is graded unproven.
func Weigh(c Case, look func(by did.DID, it Item) Exhibit) Report {
	var r Report
	for _, h := range c.Manifests {
		m, err := ParseManifest(h.Body)
		if err != nil || envelope.IDOf(h.Body) != h.ID {
			continue
		}
		for _, it := range m.Items {
			r.Items = append(r.Items, ItemReport{h.By, it, look(h.By, it)})
		}
	}
	for _, cl := range c.Dispute.Claims {
		r.Claims = append(r.Claims, weigh(cl, c, r.Items))
	}
	return r
}

func weigh(cl Claim, c Case, items []ItemReport) ClaimReport {
	out := ClaimReport{N: cl.N, Code: cl.Code, Finding: "open"}
	if cl.Code != "R1" {
		out.Why = "no mechanical check of this code in this version"
		return out
	}
	end := revocation(cl, c, items)
	if end == nil {
		out.Why = "no revocation of this loan with a proven place"
		return out
	}
	counted := map[envelope.ID]bool{} // a request is one act, however many rows answer it
	asked, granted := requests(cl, c, *end, items), granted(c.Claimant, items)
	for _, row := range items {
		if rq := act(cl, c, row, *end, asked, granted); rq != nil && !counted[rq.ID] {
			counted[rq.ID] = true
			out.Acts++
			out.Items = append(out.Items, row.N, rq.N)
		}
	}
	out.Items = sortedUnique(out.Items)
	switch {
	case out.Acts >= cl.Acts:
		out.Finding = "proven"
	case out.Acts > 0:
		out.Why = fmt.Sprintf("%d of %d acts verify", out.Acts, cl.Acts)
	default:
		out.Why = "no signed request has a row after the revocation's"
	}
	return out
}

// revocation is the first of the claim's loan that is proven in the claimant's log.
func revocation(cl Claim, c Case, items []ItemReport) *ItemReport {
	var first *ItemReport
	for i, it := range items {
		fits := it.By == c.Claimant && it.Kind == "revocation" && it.Grade == Proven && it.Perm == cl.Perm && it.Place != nil && it.Place.Org == c.Claimant
		if fits && (first == nil || it.Place.Index < first.Place.Index) {
			first = &items[i]
		}
	}
	return first
}

// skew is how far a borrower's clock may be behind its lender's, as a lender accepts it.
const skew = 60 * time.Second

// act is one read after the end: a row of the lender's log that lies after the
// revocation, and the borrower's own signed request that the row answers. A request the
// borrower dated before the end, or one that the lender also signed a granted answer to,
// is none: a lender cannot make an act of an old request by writing a new row.
func act(cl Claim, c Case, row, end ItemReport, asked map[envelope.ID]*ItemReport, granted map[envelope.ID]bool) *ItemReport {
	fits := row.By == c.Claimant && row.Kind == "row" && row.Grade == Proven && row.Perm == cl.Perm && row.Refused == "revoked" &&
		row.Place != nil && row.Place.Org == c.Claimant && row.Place.Index > end.Place.Index
	if !fits || granted[row.Request] {
		return nil
	}
	return asked[row.Request]
}

// requests are those that the claim's borrower signed for its loan and did not date before the end, by id: the first item of each.
func requests(cl Claim, c Case, end ItemReport, items []ItemReport) map[envelope.ID]*ItemReport {
	out := map[envelope.ID]*ItemReport{}
	for i, it := range items {
		if it.Kind == "readrequest" && it.Grade == Proven && it.Perm == cl.Perm && out[it.ID] == nil &&
			it.Borrower == cl.Subject && it.Org == c.Respondent && !it.At.Before(end.At.Add(-skew)) {
			out[it.ID] = &items[i]
		}
	}
	return out
}

// granted are the requests to which the lender signed a granted answer.
func granted(lender did.DID, items []ItemReport) map[envelope.ID]bool {
	out := map[envelope.ID]bool{}
	for _, it := range items {
		if it.Kind == "receipt" && it.Granted && it.Org == lender && (it.Grade == Proven || it.Grade == Attested) {
			out[it.Request] = true
		}
	}
	return out
}

func sortedUnique(in []uint64) []uint64 {
	slices.Sort(in)
	return slices.Compact(in)
}
