package httpapi

// MemoryAdd asks for one entry.
type MemoryAdd struct {
	Agent     string   `json:"agent" doc:"name or DID of the own agent in whose place it goes"`
	Project   string   `json:"project,omitempty"`
	Statement string   `json:"statement"`
	Kind      string   `json:"kind,omitempty" doc:"observation (default), belief, preference, result, decision_note, goal, task, instruction"`
	Tags      []string `json:"tags,omitempty"`

	ContentType string   `json:"content_type,omitempty" doc:"text/plain (default), text/markdown and application/json live in statement; of any other type the statement is the caption"`
	Data        string   `json:"data,omitempty" doc:"base64url without padding, at most 256 KiB of bytes"`
	Subjects    []string `json:"subjects,omitempty" doc:"natural names or pseudonyms of the persons it is about"`
	Source      string   `json:"source,omitempty" doc:"conversation_event, document, tool_result, operator (default), import or loan"`
	SourceID    string   `json:"source_id,omitempty"`
	ObservedAt  string   `json:"observed_at,omitempty" doc:"a time, as the source claims it"`
	DerivedBy   string   `json:"derived_by,omitempty" doc:"the job that derived it"`
	DerivedFrom []string `json:"derived_from,omitempty" doc:"ids of entries of the same project"`
	ReviewAfter string   `json:"review_after,omitempty" doc:"duration from now or time: check before relying on it from then on"`
	ExpiresAt   string   `json:"expires_at,omitempty" doc:"duration from now or time: it is forgotten then"`
	Supersedes  string   `json:"supersedes,omitempty" doc:"id of the entry that this one corrects"`
	Approval    string   `json:"authorization_reference,omitempty" doc:"id of an approval: a pointer, no power"`
}

// MemoryTag asks for a change of tags.
type MemoryTag struct {
	Project string   `json:"project"`
	IDs     []string `json:"ids,omitempty"`
	All     bool     `json:"all,omitempty"`
	Add     []string `json:"add,omitempty"`
	Remove  []string `json:"remove,omitempty"`
	Release bool     `json:"release,omitempty" doc:"release from quarantine"`

	Quarantine     bool     `json:"quarantine,omitempty" doc:"into quarantine"`
	AddSubjects    []string `json:"add_subjects,omitempty" doc:"natural names or pseudonyms"`
	RemoveSubjects []string `json:"remove_subjects,omitempty" doc:"natural names or pseudonyms"`
}

// Tagged is the result of a change of tags.
type Tagged struct {
	Changed  int `json:"changed"`
	Released int `json:"released"`
}

// Entry is one record of memory as its own organization sees it.
type Entry struct {
	ID        string   `json:"id"`
	Rev       uint64   `json:"rev"`
	Project   string   `json:"project"`
	Category  string   `json:"category"`
	Kind      string   `json:"kind"`
	Statement string   `json:"statement"`
	Tags      []string `json:"tags"`
	Trust     string   `json:"trust"`
	State     string   `json:"state"`
	Created   string   `json:"created"`

	ContentType  string   `json:"content_type,omitempty" doc:"where it is not text/plain"`
	Data         string   `json:"data,omitempty" doc:"base64url without padding"`
	Source       string   `json:"source"`
	SourceID     string   `json:"source_id,omitempty"`
	ObservedAt   string   `json:"observed_at,omitempty"`
	DerivedBy    string   `json:"derived_by,omitempty"`
	DerivedFrom  []string `json:"derived_from,omitempty"`
	Depth        uint64   `json:"depth,omitempty"`
	Origins      []string `json:"origins,omitempty"`
	Subjects     []string `json:"subjects,omitempty" doc:"pseudonyms"`
	Updated      string   `json:"updated"`
	ReviewAfter  string   `json:"review_after,omitempty"`
	ExpiresAt    string   `json:"expires_at,omitempty"`
	Supersedes   string   `json:"supersedes,omitempty"`
	SupersededBy string   `json:"superseded_by,omitempty"`
	Writer       string   `json:"writer,omitempty" doc:"the agent who wrote it; absent for the operator"`
	Approval     string   `json:"authorization_reference,omitempty"`
	Loan         string   `json:"loan,omitempty" doc:"permission under which it was learnt"`
}

// Entries is a list of entries.
type Entries struct {
	Entries []Entry `json:"entries"`
	Total   int     `json:"total"`
}
