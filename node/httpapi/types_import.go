package httpapi

// Imported is the result of an import, or what one would come to.
type Imported struct {
	Imported int        `json:"imported" doc:"entries taken in, or that a dry run would take in"`
	Known    int        `json:"known" doc:"entries that were here already"`
	DryRun   bool       `json:"dry_run,omitempty" doc:"nothing was written"`
	Rejected []Rejected `json:"rejected" doc:"the first 100,000 that were not taken"`
	Reasons  []Counted  `json:"reasons" doc:"all that were not taken, by reason"`
	Left     []Counted  `json:"left" doc:"what the format's rules leave out"`
	Tags     []TagCount `json:"tags"`
}

// Rejected is a line of a file, or an item of a list in it, that was not taken, and why.
type Rejected struct {
	Line   int    `json:"line"`
	Item   int    `json:"item,omitempty" doc:"which one of the file's or line's list, from 1"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty" doc:"more for a person"`
}

// Counted is how often something was met.
type Counted struct {
	What string `json:"what"`
	N    int    `json:"n"`
}

// TagCount is a tag and how many entries carry it.
type TagCount struct {
	Tag string `json:"tag"`
	N   int    `json:"n"`
}
