package httpapi

import (
	"encoding/base64"
	"time"

	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/memory"
)

func addInput(b MemoryAdd) (lender.AddInput, error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(b.Data)
	if err != nil {
		return lender.AddInput{}, fault.New(fault.Invalid, "data", "data is not base64url without padding").WithHint("trustnode memory add --data-file FILE encodes it")
	}
	return lender.AddInput{
		Agent: b.Agent, Project: b.Project, Statement: b.Statement, Kind: b.Kind, Tags: b.Tags, ContentType: b.ContentType, Data: data, Subjects: b.Subjects,
		Source: b.Source, SourceID: b.SourceID, ObservedAt: b.ObservedAt, DerivedBy: b.DerivedBy, DerivedFrom: b.DerivedFrom,
		ReviewAfter: b.ReviewAfter, ExpiresAt: b.ExpiresAt, Supersedes: b.Supersedes, Approval: b.Approval,
	}, nil
}

func entryOf(e memory.Entry) Entry {
	out := Entry{
		ID: e.ID, Rev: e.Rev, Project: e.Place.Project(), Category: e.Kind.Category(), Kind: e.Kind.String(), Statement: e.Statement, Tags: e.Tags,
		Trust: e.Trust.String(), State: e.State.String(), Created: stamp(e.Created), Updated: stamp(e.Updated),
		Data: base64.RawURLEncoding.EncodeToString(e.Data), Source: e.Source.Type.String(), SourceID: e.Source.ID, ObservedAt: stampIf(e.Source.ObservedAt),
		DerivedBy: e.DerivedBy, DerivedFrom: e.DerivedFrom, Depth: e.Depth, Origins: e.Origins, Subjects: e.Subjects,
		ReviewAfter: stampIf(e.ReviewAfter), ExpiresAt: stampIf(e.ExpiresAt), Supersedes: e.Supersedes, SupersededBy: e.SupersededBy,
		Writer: e.Writer.String(), Approval: e.Authorization, Loan: e.Loan,
	}
	if e.ContentType != "text/plain" {
		out.ContentType = e.ContentType
	}
	return out
}

// stampIf is empty for no time.
func stampIf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp(t)
}
