package httpapi

// LoanRequest asks a lender for a permission, as one of the own agents.
type LoanRequest struct {
	As        string   `json:"as,omitempty" doc:"name or DID of the borrowing agent; the token's own where an agent asks by token"`
	Lender    string   `json:"lender,omitempty" doc:"DID of the lending agent; a discovery, a parent or a request replied to name it already"`
	Purpose   string   `json:"purpose"`
	Expires   string   `json:"expires" doc:"duration such as 720h, or a time" example:"720h"`
	MaxReads  uint64   `json:"max_reads"`
	Patterns  []string `json:"patterns,omitempty" doc:"of read, discover, downstream_write; none is read"`
	Scope     string   `json:"scope,omitempty" doc:"none leaves it to the lender" example:"tag:client:acme -tag:confidential"`
	CostCap   *Money   `json:"cost_cap,omitempty"`
	From      string   `json:"from,omitempty" doc:"id of the receipt of a discovery, of which tags are asked for"`
	Tags      []string `json:"tags,omitempty" doc:"with from: entries that have one of these"`
	Parent    string   `json:"parent,omitempty" doc:"own permission that provides for sub-lending"`
	For       string   `json:"for,omitempty" doc:"with parent: DID of the agent to be let in"`
	InReplyTo string   `json:"in_reply_to,omitempty" doc:"own request that this one counters"`
	Preview   bool     `json:"preview,omitempty" doc:"say what would be asked, and of whom; send nothing"`
}

// Money is an amount in whole smallest units of an asset.
type Money struct {
	Amount string `json:"amount"`
	Asset  string `json:"asset"`
	Chain  string `json:"chain,omitempty"`
}

// LoanRequestInfo is a loan request and how it stands, received or sent.
type LoanRequestInfo struct {
	ID          string   `json:"id,omitempty" doc:"none in a preview"`
	Role        string   `json:"role" enum:"lender,borrower" doc:"what this organization is in it"`
	State       string   `json:"state,omitempty" doc:"requested, declined, issued, lapsed"`
	Heard       bool     `json:"heard" doc:"false: nobody has answered, and whether it arrived is not known"`
	Reason      string   `json:"reason,omitempty" doc:"why it was declined, in the lender's words"`
	Permission  string   `json:"permission,omitempty" doc:"id of the permission that answers it"`
	Lender      string   `json:"lender"`
	LenderOrg   string   `json:"lender_org"`
	Borrower    string   `json:"borrower"`
	BorrowerOrg string   `json:"borrower_org"`
	Purpose     string   `json:"purpose"`
	Scope       string   `json:"scope,omitempty" doc:"none: it is left to the lender"`
	Patterns    []string `json:"patterns"`
	MaxReads    uint64   `json:"max_reads"`
	ExpiresAt   string   `json:"expires_at"`
	CostCap     *Money   `json:"cost_cap,omitempty"`
	Parent      string   `json:"parent,omitempty"`
	For         string   `json:"for,omitempty"`
	InReplyTo   string   `json:"in_reply_to,omitempty"`
	Replied     string   `json:"replied,omitempty" doc:"the request that counters it"`
	Round       uint64   `json:"round,omitempty"`
	At          string   `json:"at" doc:"when it was signed"`
	Until       string   `json:"until,omitempty" doc:"when it lapses, if nobody answers"`
	Beyond      bool     `json:"beyond,omitempty" doc:"its scope goes beyond every discovery that was opened to the borrower"`
	Other       Other    `json:"other" doc:"what is known of the other side"`
}

// Other is what one side of a loan request knows of the other.
type Other struct {
	Trust   *TrustWord `json:"trust,omitempty" doc:"none where no score can be made"`
	NoTrust string     `json:"no_trust,omitempty" doc:"why there is none"`
	Loans   uint64     `json:"loans" doc:"loans with its organization so far"`
	Valid   uint64     `json:"valid" doc:"of these, valid now"`
	Revoked uint64     `json:"revoked"`
	Reads   uint64     `json:"reads" doc:"granted under all of them"`
	Broken  uint64     `json:"broken" doc:"loans under which it did what it may not"`
}

// TrustWord is a score in short; trust show has the whole.
type TrustWord struct {
	Composite int64  `json:"composite" doc:"0..1000"`
	Tier      string `json:"tier"`
	Disputes  int64  `json:"disputes" doc:"lost or defaulted"`
}

// LoanRequests is a list of requests.
type LoanRequests struct {
	Requests []LoanRequestInfo `json:"requests"`
}

// LoanDecline ends a request with a reason.
type LoanDecline struct {
	Reason string `json:"reason" doc:"one line for the borrower, at most 200 bytes"`
}

// LoanDiscover asks which tags there are under a permission, as one of the own agents.
type LoanDiscover struct {
	As         string `json:"as,omitempty" doc:"name or DID of the borrowing agent; the token's own where an agent asks by token"`
	Permission string `json:"permission" doc:"id or compact form"`
	Purpose    string `json:"purpose"`
	Filter     string `json:"filter,omitempty"`
}

// LoanTags is what a discovery found, after it was verified.
type LoanTags struct {
	Permission string      `json:"id" doc:"id of the permission"`
	Tags       []string    `json:"tags"`
	Withheld   bool        `json:"withheld" doc:"some were left out because too few entries have them"`
	Receipt    ReceiptInfo `json:"receipt"`
}

// Survey is what an operator sees of a scope before it is lent.
type Survey struct {
	Tags     map[string]int `json:"tags" doc:"matches by tag"`
	Classes  map[string]int `json:"classes" doc:"matches by class"`
	Excluded map[string]int `json:"excluded" doc:"by exclusion: entries that match but for it"`
	Daily    []int          `json:"daily" doc:"matches by day of ingestion over 30 days, UTC, today first"`
	Newest   []SurveyEntry  `json:"newest" doc:"at most five"`
}

// SurveyEntry is one statement of a preview.
type SurveyEntry struct {
	ID        string `json:"id"`
	Created   string `json:"created"`
	Statement string `json:"statement"`
}

// LoanGrowth says that a loan reaches much more than at issue.
type LoanGrowth struct {
	At      string   `json:"at"`
	Matches uint64   `json:"matches"`
	Classes []string `json:"classes" doc:"that were not there at issue"`
}
