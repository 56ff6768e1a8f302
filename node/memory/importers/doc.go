// Package importers answers: what statements does this foreign memory file hold?
//
// It reads what six kinds of programs write or export (04 section 2): the JSON
// lines of the Model Context Protocol's memory server, backups of OpenMemory,
// pages of mem0, agent files of Letta, edges of Graphiti, items of a LangGraph
// store; and JSON lines of its own, for everything else. Each format is a
// [memory.Importer]; [For] finds one by name or by a file's beginning.
//
// A file is read once, front to back, in bounded memory: one line or one item of
// a list at a time. Nothing is skipped silently: each piece becomes a draft, a
// rejection with its line and reason, or is counted as left out by rule. Reading
// is strict where two readers could disagree (duplicate members, lone
// surrogates, bytes that are no UTF-8), and then the item is rejected and the
// next one read.
//
// It stores nothing and grants nothing: what a file says of trust, approval or
// access is dropped or stays text.
package importers
