package httpapi

// LoanIssue asks for a permission. What answers a request or replaces a permission takes
// over from it what is left out.
type LoanIssue struct {
	As         string   `json:"as,omitempty" doc:"an own agent that acts instead of the operator: needs an approval"`
	Request    string   `json:"request,omitempty" doc:"loan request that it answers; nothing wider than that"`
	Replaces   string   `json:"replaces,omitempty" doc:"open permission that ends with it, by id or compact form"`
	Lender     string   `json:"lender,omitempty" doc:"name or DID of the lending agent"`
	Borrower   string   `json:"borrower,omitempty" doc:"DID of the borrowing agent"`
	Scope      string   `json:"scope,omitempty" example:"tag:client:acme -tag:confidential age<90d"`
	Purpose    string   `json:"purpose,omitempty"`
	Expires    string   `json:"expires,omitempty" doc:"duration such as 720h, or a time" example:"720h"`
	MaxReads   uint64   `json:"max_reads,omitempty"`
	Patterns   []string `json:"patterns,omitempty" doc:"of read, discover, downstream_write; none is read"`
	NotBefore  string   `json:"not_before,omitempty" doc:"when it begins: duration or time; none at once"`
	CacheS     *uint64  `json:"cache_s,omitempty" doc:"how long the borrower may keep an answer, in seconds, 0..86400; a revocation may take that long"`
	Provenance string   `json:"provenance,omitempty" doc:"allow: the borrower may name the lender in what it makes; none: not"`
	Sublend    string   `json:"sublend,omitempty" doc:"ask: the borrower may ask the lender to let a third agent in; none: not"`
	WriteTo    []string `json:"write_to,omitempty" doc:"destinations, with pattern downstream_write"`
	CostCap    string   `json:"cost_cap,omitempty" doc:"refused: there are no prices without a pact"`
	Signed     string   `json:"signed,omitempty" doc:"the permission in compact form, where a person's own key signed the body of a preview; all else but request is left out"`
	Preview    bool     `json:"preview,omitempty" doc:"say what would be lent, issue nothing"`
}

// Loan is a permission and how it stands.
type Loan struct {
	ID         string   `json:"id"`
	Permission string   `json:"permission,omitempty" doc:"compact form: hand it to the borrower"`
	Lender     string   `json:"lender"`
	Borrower   string   `json:"borrower"`
	Scope      string   `json:"scope"`
	Purpose    string   `json:"purpose"`
	ExpiresAt  string   `json:"expires_at"`
	MaxReads   uint64   `json:"max_reads"`
	Reads      uint64   `json:"reads" doc:"answers granted; of a loan that was lent with those under its parts"`
	Under      uint64   `json:"under,omitempty" doc:"how many of reads were under parts of it"`
	Left       uint64   `json:"left"`
	State      string   `json:"state"`
	Rests      string   `json:"rests,omitempty" doc:"why a valid loan is not read now: a log of an organization has forked"`
	Role       string   `json:"role" doc:"lender or borrower"`
	Matches    int      `json:"matches,omitempty" doc:"entries in scope when it was issued"`
	Hygiene    []string `json:"hygiene,omitempty" doc:"codes of what could be narrower"`
	Words      []string `json:"words,omitempty" doc:"the hygiene codes in words"`

	Patterns   []string    `json:"patterns,omitempty"`
	NotBefore  string      `json:"not_before,omitempty"`
	CacheS     uint64      `json:"cache_s,omitempty"`
	Provenance string      `json:"provenance,omitempty"`
	Sublend    string      `json:"sublend,omitempty"`
	WriteTo    []string    `json:"write_to,omitempty"`
	Parent     string      `json:"parent,omitempty" doc:"permission that it is a part of"`
	Request    string      `json:"request,omitempty" doc:"loan request that it answers"`
	Replaces   string      `json:"replaces,omitempty" doc:"permission that ended with its issue"`
	Growth     *LoanGrowth `json:"growth,omitempty" doc:"it reaches much more than at issue; of a preview that replaces a loan, that one"`
	Survey     *Survey     `json:"survey,omitempty" doc:"of a preview"`
	Body       string      `json:"body,omitempty" doc:"of a preview, where a person lends: the bytes to sign"`
}

// LoanRead asks to read under a permission as one of the own agents.
type LoanRead struct {
	As         string `json:"as,omitempty" doc:"name or DID of the borrowing agent; the token's own where an agent asks by token"`
	Permission string `json:"permission" doc:"id or compact form"`
	Purpose    string `json:"purpose"`
	Filter     string `json:"filter,omitempty"`
	Query      string `json:"query,omitempty" doc:"orders the entries by how well they answer it; such an answer has no cursor"`
	Limit      int    `json:"limit,omitempty"`
	Cursor     string `json:"cursor,omitempty"`
}

// LoanAnswer is what a read returned, after it was verified.
type LoanAnswer struct {
	Entries    []any       `json:"entries" doc:"the lender's entries, as quoted source"`
	Receipt    ReceiptInfo `json:"receipt"`
	Salt       string      `json:"salt" doc:"with the entries it gives the hash that the receipt names"`
	Status     string      `json:"status" doc:"state of the permission by the lender's signed receipt"`
	Cursor     string      `json:"cursor,omitempty"`
	Permission string      `json:"id" doc:"id of the permission"`
	Cached     bool        `json:"cached,omitempty" doc:"it was answered before, within the window the lender signed"`
	CacheUntil string      `json:"cache_until,omitempty" doc:"until when the lender lets this answer be used again; a revocation may take so long"`
}

// ReceiptInfo names the lender's signed receipt.
type ReceiptInfo struct {
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	Left uint64 `json:"left"`
	At   string `json:"at"`
	Hash string `json:"hash"`
	// Compact is the receipt itself.
	Compact string `json:"compact,omitempty" doc:"the receipt as the lender signed it: what its operator checks with loan audit --check"`
}

// LoanRevoke asks for the end of a loan.
type LoanRevoke struct {
	Reason string `json:"reason" doc:"ended, misuse, key_compromise, data_subject, policy, mistake, other"`
	Text   string `json:"text,omitempty"`
}

// LoanRevoked says what a revocation did.
type LoanRevoked struct {
	ID    string `json:"id" doc:"id of the revocation"`
	Loan  string `json:"loan"`
	At    string `json:"at"`
	Reads uint64 `json:"reads" doc:"reads granted before it"`
}

// LoanAudit is everything that happened under a permission, in order.
type LoanAudit struct {
	ID      string     `json:"id"`
	Granted uint64     `json:"granted"`
	Under   uint64     `json:"under,omitempty" doc:"answers granted under parts of the loan, whose own audits list them"`
	GapFree bool       `json:"gap_free" doc:"seq 1..granted, and none is missing but those of gone"`
	Gone    []GoneRead `json:"gone,omitempty" doc:"granted reads whose row is its hash alone"`
	Side    string     `json:"side" enum:"lender,borrower" doc:"whose acts these are"`
	Rows    []AuditRow `json:"rows"`
	Events  []EventRef `json:"events"`
}

// GoneRead is a granted read whose row was erased, or is past its age.
type GoneRead struct {
	Seq    uint64  `json:"seq"`
	N      uint64  `json:"n" doc:"number of the row"`
	Erased *uint64 `json:"erased,omitempty" doc:"log index of the log.erased; absent: past its age"`
}

// AuditRow is one act.
type AuditRow struct {
	N        uint64   `json:"n" doc:"number of the row in this node's own acts"`
	ID       string   `json:"id" doc:"id of the row's bytes"`
	Op       string   `json:"op"`
	Decision string   `json:"decision,omitempty"`
	Code     string   `json:"code,omitempty"`
	Seq      uint64   `json:"seq,omitempty"`
	At       string   `json:"at"`
	Purpose  string   `json:"purpose,omitempty"`
	Request  string   `json:"request,omitempty"`
	Entries  []string `json:"entries,omitempty" doc:"id@rev of what was returned"`
	Hash     string   `json:"hash,omitempty" doc:"hash of what was returned"`
	Index    *uint64  `json:"index,omitempty" doc:"log index of the audit.rows event that binds it; absent: not yet"`
}

// Loans is a list of loans.
type Loans struct {
	Loans []Loan `json:"loans"`
}
