package verifier

import (
	"trustnode/did/credential"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/casefile"
)

// Caps in bytes on what is read of one file, by what it is. A file that is longer is
// refused without being read to its end.
const (
	maxHead   = bundle.MaxHeader + 1 // enough to tell what a file is: the longest first line
	maxLog    = 8 << 20              // of did.jsonl, as did/didwebvh reads it
	maxJSON   = 1 << 20              // of did-witness.json, the longest of the single JSON values
	maxObject = bundle.MaxLine       // of a signed object
	maxToken  = credential.MaxCredential
	maxBundle = charter.MaxFile
	maxCase   = casefile.MaxFile
)

const (
	maxDepth   = 64  // nesting of JSON whose kind is told; each kind then has its own cap
	maxMembers = 8   // names of members shown of JSON that is not known
	maxText    = 200 // bytes of foreign text in one sentence
)

// MaxWith caps the number of files given as material.
const MaxWith = 64
