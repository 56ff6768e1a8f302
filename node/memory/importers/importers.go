package importers

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"trustnode/node/memory"
)

// Reasons why a line, an item, or one statement of it is not imported. Import
// adds the names of fields that break a rule of 04 section 1, such as
// "statement".
const (
	RejectUTF8     = "not_utf8"        // bytes that are no text
	RejectTooLong  = "too_long"        // over MaxLine; a document over MaxDocument
	RejectTorn     = "not_json"        // torn, two writers mixed, or readable in two ways
	RejectShape    = "unknown_shape"   // JSON, but not of this format
	RejectName     = "name"            // an entity or relation without a usable name
	RejectTag      = "tag"             // a name or type that makes no tag
	RejectTime     = "time"            // a time that cannot be read
	RejectEmpty    = "no_observations" // an entity of which nothing is said
	RejectCategory = "category"        // a category that the file does not name
	RejectState    = "state"           // a state that is none of the format's
	RejectFile     = "archive_file"    // a file that no backup holds
)

// Options say how a file is read.
type Options struct {
	// Messages takes in the messages of an agent file too.
	Messages bool
	// At is the time of the import: what had ended by then is left out.
	At time.Time
}

// Formats are the names that For knows, beside "auto".
var Formats = []string{"mcp", "openmemory", "mem0", "letta", "graphiti", "langgraph", "jsonl"}

// all returns the importers in the order of Formats.
func all(o Options) []memory.Importer {
	return []memory.Importer{mcp{}, openMemory{o}, items{mem0{o}}, letta{o}, items{graphiti{o}}, items{langGraph{}}, items{jsonl{}}}
}

type coded struct{ code, reason, text, hint string }

func (e *coded) Error() string       { return e.text }
func (e *coded) FaultCode() string   { return e.code }
func (e *coded) FaultReason() string { return e.reason }
func (e *coded) FaultHint() string   { return e.hint }
func (e *coded) Is(target error) bool {
	return target == ErrFormat && e.code == "invalid" && e.reason == "format"
}

// ErrFormat says that a format is unknown (then the error names it) or could not be told.
var ErrFormat error = &coded{"invalid", "format", "the file is none of the formats known here",
	"if it is one, name it: --format " + strings.Join(Formats, "|")}

// unknownName is ErrFormat where a format is named that is none: the file was not looked at.
func unknownName(format string) error {
	return &coded{"invalid", "format", fmt.Sprintf("%.40q is the name of no format known here", format),
		"--format auto|" + strings.Join(Formats, "|")}
}

// For returns the importer of a format by name; "auto" and "" look at the file's
// beginning. It returns the reader to go on with. Errors: ErrFormat; an error of
// r.
func For(format string, r io.Reader, o Options) (memory.Importer, io.Reader, error) {
	if i := slices.Index(Formats, format); i >= 0 {
		return all(o)[i], r, nil
	}
	if format != "auto" && format != "" {
		return nil, nil, unknownName(format)
	}
	br := bufio.NewReaderSize(r, sniffBytes)
	head, err := br.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	known := all(o)
	for _, im := range append(known[1:], known[0]) { // that of mcp asks for least
		if im.Sniff(head) {
			return im, br, nil
		}
	}
	return nil, nil, ErrFormat
}

// reject is a line that is not imported.
func reject(reason, detail string, args ...any) memory.Line {
	return memory.Line{Reason: reason, Detail: fmt.Sprintf(detail, args...)}
}

// left is what a format's rules leave out.
func left(what string) memory.Line { return memory.Line{Left: what} }
