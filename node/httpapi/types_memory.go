package httpapi

// MemoryAdd asks for one entry.
type MemoryAdd struct {
	Agent     string   `json:"agent" doc:"name or DID of the own agent in whose place it goes"`
	Project   string   `json:"project,omitempty"`
	Statement string   `json:"statement"`
	Kind      string   `json:"kind,omitempty" doc:"observation (default), belief, preference, result, decision_note, goal, task, instruction"`
	Tags      []string `json:"tags,omitempty"`
}

// MemoryTag asks for a change of tags.
type MemoryTag struct {
	Project string   `json:"project"`
	IDs     []string `json:"ids,omitempty"`
	All     bool     `json:"all,omitempty"`
	Add     []string `json:"add,omitempty"`
	Remove  []string `json:"remove,omitempty"`
	Release bool     `json:"release,omitempty" doc:"release from quarantine"`
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
}

// Entries is a list of entries.
type Entries struct {
	Entries []Entry `json:"entries"`
	Total   int     `json:"total"`
}
