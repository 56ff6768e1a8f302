package lender

import (
	"testing"

	"trustnode/node/fault"
	"trustnode/node/self"
)

// A search without a scope shows nothing that one with a scope over all of it would not.
func TestASearchWithoutScopeLeavesOutRevokedSubjects(t *testing.T) {
	k := memoryKit(t)
	a := k.agentIn(t, "one", "desk")
	for _, in := range []AddInput{{Statement: "About Ada.", Subjects: []string{"Ada"}}, {Statement: "About nobody."}} {
		in.Agent, in.Project, in.Tags = "one", "desk", []string{"a"}
		if _, err := k.AddEntry(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if got := k.search(t, a, "", 10); len(got.Entries) != 2 {
		t.Fatalf("before: %d entries", len(got.Entries))
	}
	if _, err := k.RevokeSubject(t.Context(), "Ada", "data_subject"); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"tag:a", ""} {
		got := k.search(t, a, scope, 10)
		wantTexts(t, "scope "+scope, []string{got.Entries[0].Statement}, "About nobody.")
		if len(got.Entries) != 1 {
			t.Errorf("scope %q: %d entries after the subject was revoked", scope, len(got.Entries))
		}
	}
}

// An agent that has ended searches nothing, whatever it leaves out.
func TestAnEndedAgentSearchesNothing(t *testing.T) {
	k := memoryKit(t)
	a := k.agentIn(t, "one", "desk")
	k.acme.Change(t, a.Agent, func(r *self.AgentRow) { r.Revoked = true })
	for _, scope := range []string{"tag:a", ""} {
		_, err := k.Search(t.Context(), a.Agent, SearchInput{Scope: scope})
		refusedWith(t, err, fault.Refused, "agent_ended")
	}
}
