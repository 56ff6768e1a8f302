package didwebvh

import (
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Version is one verified entry of a log. Its slices are shared and must not be changed.
type Version struct {
	Number     int          // from 1
	ID         string       // versionId: number, dash, hash
	Time       time.Time    // versionTime, as the controller claims it
	Line       []byte       // the exact bytes of the log line, without its newline
	Document   did.Document // the state
	Parameters Parameters   // in force after this entry
}

// node is a version with what verification must know to go on after it. What
// grows with the log is chained from node to node, so that a log of moves or of
// new witness lists takes memory by its length and not by its square.
type node struct {
	Version
	names *name // every DID the log had so far: more than one after a move
	run   *run  // who had to witness so far
	size  int   // bytes of the log so far
}

// name is one DID the log had, and those before it.
type name struct {
	id     did.DID
	before *name
}

func (n *name) has(d did.DID) bool {
	for ; n != nil; n = n.before {
		if n.id == d {
			return true
		}
	}
	return false
}

// History is a verified log: its versions in order, at least one unless it is
// the zero value. It is immutable; copies share memory and are safe for
// concurrent use.
type History struct {
	nodes   []*node
	witness []byte
}

// last is the head, or the node before the first entry.
func (h History) last() *node {
	if len(h.nodes) == 0 {
		return &node{}
	}
	return h.nodes[len(h.nodes)-1]
}

// Len is the number of versions.
func (h History) Len() int { return len(h.nodes) }

// Head is the newest version, the zero Version if h is the zero History.
func (h History) Head() Version { return h.last().Version }

// At is version n, counted from 1; false if there is none.
func (h History) At(n int) (Version, bool) {
	if n < 1 || n > len(h.nodes) {
		return Version{}, false
	}
	return h.nodes[n-1].Version, true
}

// ByID is the version with that versionId; false if there is none.
func (h History) ByID(versionID string) (Version, bool) {
	n, _, err := parseVersionID(versionID)
	if err != nil {
		return Version{}, false
	}
	v, ok := h.At(n)
	return v, ok && v.ID == versionID
}

// ByTime is the version in force at t, by the times the controller claims; false before the first.
func (h History) ByTime(t time.Time) (Version, bool) {
	n, _ := slices.BinarySearchFunc(h.nodes, t, func(n *node, t time.Time) int {
		if n.Time.After(t) {
			return 1
		}
		return -1
	})
	return h.At(n)
}

// DID is the name of the head's document.
func (h History) DID() did.DID { return h.last().Document.ID() }

// DIDs are all names the log had, the newest first: more than one after a move.
func (h History) DIDs() (out []did.DID) {
	for n := h.last().names; n != nil; n = n.before {
		out = append(out, n.id)
	}
	return out
}

// SCID is the hash all names of the log share.
func (h History) SCID() string { return h.last().Parameters.SCID }

// Names reports whether d is a name the log has or had.
func (h History) Names(d did.DID) bool { return h.last().names.has(d) }

// Deactivated reports whether the head ended the DID.
func (h History) Deactivated() bool { return h.last().Parameters.Deactivated }

// Prefix is the history up to version n, h itself for a larger n.
func (h History) Prefix(n int) History {
	return History{nodes: h.nodes[:max(0, min(n, len(h.nodes)))], witness: h.witness}
}

// Log is the whole log, each line with its newline.
func (h History) Log() []byte { return h.After(0) }

// After is the lines of the versions after n, each with its newline; empty if there are none.
func (h History) After(n int) []byte {
	var out []byte
	for _, v := range h.nodes[max(0, min(n, len(h.nodes))):] {
		out = append(append(out, v.Line...), '\n')
	}
	return out
}

// Witness is a witness file that proves what had to be witnessed, nil if
// nothing had to. It is the file as it came, unless the proofs of two files
// were needed together.
func (h History) Witness() []byte { return h.witness }

// member is one name and value of an object that is built here.
func member(name string, v strictjson.Value) strictjson.Member {
	return strictjson.Member{Name: name, Value: v}
}
