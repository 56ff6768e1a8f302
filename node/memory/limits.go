package memory

// Caps on what one entry holds, 04 section 1.
const (
	// MaxStatement is the longest statement, in bytes.
	MaxStatement = 16 << 10
	// MaxData is the most data of one entry, in bytes before base64url.
	MaxData = 256 << 10
	// MaxTags is the most tags of one entry, the class included.
	MaxTags = 32
	// MaxSubjects is the most pseudonyms of one entry.
	MaxSubjects = 16
	// MaxParents is the most entries that one entry is derived from.
	MaxParents = 32
	// MaxName is the longest tenant or project name, in bytes.
	MaxName = 64
	// MaxSourceID is the longest id of a source or a job, in bytes: the name
	// of an entity in a foreign file, the URL of a document.
	MaxSourceID = 1024
	// MaxContentType is the longest media type, in bytes.
	MaxContentType = 127
)

const (
	// MaxLimit is the most entries of one answer; DefaultLimit holds where
	// none is asked for.
	MaxLimit     = 100
	DefaultLimit = 20
	// MaxList is the most entries of one page of List.
	MaxList = 1000
)

// Caps of import, 04 section 2; node/memory/importers has those of files.
const (
	// MaxRejected is how many rejected lines a report lists; the others are
	// counted.
	MaxRejected = 100_000
	// maxReportTags and maxReportWords are how many tags, and how many reasons
	// or things left out, a report counts one by one.
	maxReportTags  = 10_000
	maxReportWords = 1000
	// maxDetail is the longest text of a report that a file chose, in bytes.
	maxDetail = 200
	// maxDrySeen is how many entries a dry run remembers, at 16 bytes, to tell
	// repetitions within the file; an import finds them in the store.
	maxDrySeen = 500_000
	// An import commits at so many entries or bytes of statements, well below
	// what one transaction takes.
	importBatch      = 512
	importBatchBytes = 512 << 10
)
