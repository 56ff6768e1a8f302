package importers

// Caps of files, 04 section 2.
const (
	// MaxLine is the longest line, or item of a list, in bytes.
	MaxLine = 1 << 20
	// MaxDocument is the longest file that is one JSON document, in bytes.
	// Longer exports come in pages or lines.
	MaxDocument = 64 << 20
	// MaxUnpacked is the most bytes that an archive, and the files in it,
	// unpack to; also its size before.
	MaxUnpacked = 8 << 30
	// MaxRatio is how many times its packed size a file may unpack to, once it
	// is past ratioGrace bytes: below that it does no harm.
	MaxRatio   = 100
	ratioGrace = 1 << 20
	// maxZipFiles is the most files of an archive; a backup has two.
	maxZipFiles = 64
)

const (
	// maxDepth is the nesting of an item; values of a LangGraph store are free.
	maxDepth = 32
	// maxMembers is the most members of an object that is read in parts.
	maxMembers = 10_000
	// maxMemberName is the longest name of such a member, in bytes.
	maxMemberName = 4 << 10
	// maxNamed is how many names of apps and categories, or ids of messages, an
	// importer remembers.
	maxNamed = 10_000
	// maxParts is the most parts of a namespace, or categories, that fit the
	// tags of an entry beside its class.
	maxParts = 31
	// sniffBytes is how much of a file decides over its format.
	sniffBytes = 64 << 10
)
