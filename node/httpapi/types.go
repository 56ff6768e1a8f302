package httpapi

// The JSON of the operator's routes. Requests are commands of the operator, proved
// by the bearer token; nothing signed by anybody travels in them but as text.

// Status is the answer to "how is this node?".
type Status struct {
	State      string   `json:"state" doc:"alone, recovering, unconfirmed, stale, fresh, …" example:"fresh"`
	Running    bool     `json:"running" doc:"false: no node runs, and this is what its data directory says"`
	Reasons    []string `json:"reasons" doc:"why the node is not fresh, in words"`
	Org        string   `json:"org" doc:"DID of this organization"`
	Name       string   `json:"name"`
	Federation *FedInfo `json:"federation,omitempty"`
	Log        LogInfo  `json:"log"`
	Peers      []Peer   `json:"peers" doc:"one line per other member"`
	P2P        []string `json:"p2p" doc:"addresses the node listens on, with its peer id"`
	HTTP       string   `json:"http"`
	Version    string   `json:"version"`
	Notices    []Notice `json:"notices" doc:"what the operator has to know, newest first, until it is acknowledged"`
}

// FedInfo names the federation and the charter in force.
type FedInfo struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Seq         uint64 `json:"seq"`
	Charter     string `json:"charter" doc:"id of the charter in force"`
	Fingerprint string `json:"fingerprint" doc:"compare it aloud with the other members"`
	ExpiresAt   string `json:"expires_at"`
	Mediator    string `json:"mediator,omitempty"`
}

// LogInfo is the state of the own log.
type LogInfo struct {
	Size      uint64 `json:"size" doc:"entries under the signed head"`
	Waiting   uint64 `json:"waiting" doc:"decisions not yet in the log"`
	Witnessed int    `json:"witnessed" doc:"organizations whose cosignature covers the newest entry"`
	Need      int    `json:"need" doc:"how many the charter in force asks for; 0 without one"`
}

// Peer is what this node knows of one member.
type Peer struct {
	Org      string  `json:"org"`
	Name     string  `json:"name"`
	Linked   bool    `json:"linked"`
	State    string  `json:"state,omitempty" doc:"of its DID, where that is frozen or deactivated: nothing new of it is accepted"`
	Held     uint64  `json:"held" doc:"entries of its log held here"`
	Heard    string  `json:"heard,omitempty" doc:"when its newest beacon came"`
	ForkedAt *uint64 `json:"forked_at,omitempty" doc:"its log has forked: entries that its branches have in common; nothing is lent with it"`
}

// File is a file that travels as base64 in JSON.
type File struct {
	Data []byte `json:"data" doc:"the file's bytes, base64"`
}

// FedCreate asks for the draft of a new federation.
type FedCreate struct {
	Name      string   `json:"name"`
	With      [][]byte `json:"with" doc:"join files of the other members, base64"`
	Mediators [][]byte `json:"mediators" doc:"join files of the mediators in order; the first is the neutral one"`
	Recovery  []string `json:"recovery,omitempty" doc:"multikeys of recovery keys, kept on no node"`
	Ceremony
}

// Ceremony opens the governance key for one act, where the organization has one.
type Ceremony struct {
	Governance string `json:"governance_keys,omitempty" doc:"directory of the governance key"`
	GovPass    string `json:"governance_passphrase,omitempty"`
}

// FedSign asks to sign a draft.
type FedSign struct {
	Data []byte `json:"data" doc:"the file's bytes, base64"`
	Ceremony
}

// FedDraft is a file to hand on, with what a person should know about it.
type FedDraft struct {
	ID          string   `json:"id" doc:"id of the charter"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Data        []byte   `json:"data,omitempty" doc:"the file's bytes, base64; absent where they were written to a file"`
	Signed      []string `json:"signed" doc:"organizations whose signature is in the file"`
	Missing     []string `json:"missing" doc:"organizations whose signature is still needed"`
}

// FedWords says in words what a draft would bind its signer to.
type FedWords struct {
	ID          string   `json:"id"`
	Fingerprint string   `json:"fingerprint"`
	Lines       []string `json:"lines"`
	Signed      []string `json:"signed"`
	Missing     []string `json:"missing"`
}

// FedApplied is the result of applying a charter.
type FedApplied struct {
	ID          string   `json:"id"`
	Seq         uint64   `json:"seq"`
	Fingerprint string   `json:"fingerprint"`
	Members     []string `json:"members"`
	Walk        []string `json:"walk" doc:"what was checked, line by line"`
}

// EventRef names an event in a log.
type EventRef struct {
	ID        string     `json:"id"`
	Org       string     `json:"org"`
	Index     uint64     `json:"index"`
	At        string     `json:"at"`
	Type      string     `json:"type"`
	Subject   string     `json:"subject,omitempty"`
	Witnessed *Witnessed `json:"witnessed,omitempty"`
}

// DisputeFile asks to file a case.
type DisputeFile struct {
	Loan   string   `json:"loan" doc:"permission, by id or compact form"`
	Reason string   `json:"reason" example:"R1"`
	Relief []string `json:"relief,omitempty"`
}

// DisputeAnswer answers a case.
type DisputeAnswer struct {
	Deny  bool   `json:"deny,omitempty"`
	Admit []int  `json:"admit,omitempty"`
	Text  string `json:"text,omitempty"`
}

// DisputeRule rules on a case.
type DisputeRule struct {
	Outcome  string `json:"outcome"`
	Severity int    `json:"severity" doc:"points, 0..100"`
	Reasons  string `json:"reasons"`
	Summary  string `json:"summary,omitempty"`
}

// Case is a dispute as this node sees it.
type Case struct {
	ID         string      `json:"id"`
	State      string      `json:"state"`
	Claimant   string      `json:"claimant"`
	Respondent string      `json:"respondent"`
	Mediator   string      `json:"mediator,omitempty"`
	Track      string      `json:"track"`
	Claims     []Claim     `json:"claims"`
	Next       string      `json:"next,omitempty" doc:"where silence leads"`
	Deadline   string      `json:"deadline,omitempty"`
	Outcome    string      `json:"outcome,omitempty"`
	Ruling     *RulingInfo `json:"ruling,omitempty"`
	Unwitness  bool        `json:"unwitnessed,omitempty" doc:"some step has no witness outside both parties"`
	Items      []Item      `json:"items,omitempty"`
	Events     []EventRef  `json:"events,omitempty"`
	Role       string      `json:"role" doc:"claimant, respondent, mediator or observer"`
	Answer     string      `json:"answer,omitempty" doc:"text handed in with the answer, for parties and mediators"`
}

// Claim is one claim of a case.
type Claim struct {
	N        int    `json:"n"`
	Code     string `json:"code"`
	Perm     string `json:"perm"`
	Subject  string `json:"subject"`
	Acts     int    `json:"acts"`
	Proven   int    `json:"proven" doc:"acts that verify"`
	Reply    string `json:"reply,omitempty"`
	Finding  string `json:"finding"`
	Result   string `json:"result,omitempty"`
	Severity int    `json:"severity,omitempty" doc:"thousandths of a point"`
}

// RulingInfo is a ruling in force.
type RulingInfo struct {
	ID      string `json:"id"`
	Event   string `json:"event"`
	By      string `json:"by"`
	Outcome string `json:"outcome"`
	Summary string `json:"summary"`
	Reasons string `json:"reasons,omitempty"`
	At      string `json:"at"`
}

// Item is one piece of evidence and what its check found.
type Item struct {
	N       int    `json:"n"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	By      string `json:"by"`
	Finding string `json:"finding" doc:"proven, hash_only, attested, unproven, contradicted"`
	Why     string `json:"why,omitempty"`
}

// Cases is a list of cases.
type Cases struct {
	Cases []Case `json:"cases"`
}

// Created names what a command made.
type Created struct {
	ID     string   `json:"id"`
	Case   string   `json:"case,omitempty"`
	State  string   `json:"state,omitempty"`
	Events []string `json:"events,omitempty"`
	Words  string   `json:"words,omitempty"`
}

// Identity is an organization as this node has verified it.
type Identity struct {
	ID          string        `json:"id" doc:"version id of the head"`
	DID         string        `json:"did"`
	Name        string        `json:"name,omitempty" doc:"as the charter names it"`
	Own         bool          `json:"own,omitempty" doc:"it is this organization's"`
	State       string        `json:"state" doc:"held, frozen or deactivated"`
	Version     string        `json:"version"`
	Versions    int           `json:"versions" doc:"how many versions of it are held"`
	ClaimedAt   string        `json:"claimed_at,omitempty" doc:"when its controller says the head was made; proves nothing"`
	VerifiedAt  string        `json:"verified_at,omitempty" doc:"when its bytes were first verified here"`
	ConfirmedAt string        `json:"confirmed_at,omitempty" doc:"newest live statement that names this head; decides nothing"`
	ConfirmedBy string        `json:"confirmed_by,omitempty" doc:"own, beacon, host or import"`
	Fingerprint string        `json:"fingerprint" doc:"to be compared aloud"`
	Keys        []string      `json:"keys" doc:"assertion keys at the head"`
	History     []IdentityKey `json:"history" doc:"every assertion key and witness key there ever was"`
	Witnesses   []string      `json:"witnesses,omitempty" doc:"who witnesses the next entry"`
	Threshold   int           `json:"threshold,omitempty" doc:"how many of them must"`
	Names       []string      `json:"names,omitempty" doc:"other DIDs of the same log"`
	Fork        *IdentityFork `json:"fork,omitempty" doc:"two valid entries of one number"`
	Changed     []string      `json:"changed,omitempty" doc:"did:web documents that were served and are not trusted"`
	Entry       *EntryState   `json:"entry,omitempty" doc:"own DID: the entry under way"`
}

// IdentityKey is one assertion key and the time it counts for, by versions of the DID log
// and indexes of the attestation log.
type IdentityKey struct {
	Key       string  `json:"key"`
	Role      string  `json:"role" doc:"issuer, governance, witness or other"`
	From      string  `json:"from" doc:"version that listed it first"`
	Until     string  `json:"until,omitempty" doc:"version that no longer lists it"`
	FromIndex *uint64 `json:"from_index,omitempty" doc:"of the event that announced that version"`
	UntilIdx  *uint64 `json:"until_index,omitempty"`
}

// IdentityFork names the two branches. While neither is decided for, what they bring is listed here and nowhere else.
type IdentityFork struct {
	Number      int           `json:"number"`
	Held        string        `json:"held"`
	Offered     string        `json:"offered"`
	Decided     string        `json:"decided,omitempty" doc:"what settled it"`
	HeldKeys    []IdentityKey `json:"held_keys,omitempty" doc:"keys that the held branch adds; not accepted while the fork is open"`
	OfferedKeys []IdentityKey `json:"offered_keys,omitempty" doc:"keys that the other branch adds; not accepted"`
}

// JoinRequest asks for this organization's join file.
type JoinRequest struct {
	Votes bool `json:"votes" doc:"whether the organization wants a vote"`
	Ceremony
}

// FedApply asks to put a charter in force.
type FedApply struct {
	Data        []byte `json:"data" doc:"the file's bytes, base64"`
	Fingerprint string `json:"fingerprint,omitempty"`
}
