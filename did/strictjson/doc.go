// Package strictjson answers one question about foreign JSON: which single value do these bytes spell?
//
// It reads RFC 8259 JSON that other people wrote, such as DID documents, JSON Web Keys and lines of a DID log, and
// refuses everything about which two readers could disagree: duplicate member names, comments, a byte order mark,
// bytes after the value, invalid UTF-8, lone surrogates, nesting past a given depth. Values keep the order and the exact
// bytes they came in. Canonical and Canonicalize give the RFC 8785 form.
//
// It knows nothing of the project's own signed objects: those must already be canonical, and did/envelope reads them.
package strictjson
