package resolver

import (
	"bytes"
	"errors"
	"maps"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
)

// reasons are why an offer is not taken, in the order in which they are looked for. The
// words label a metric: they are this list and those of didwebvh.Reason, never a peer's.
var reasons = []struct {
	word string
	is   func(error) bool
}{
	{"rollback", is[*keyring.Rollback]},
	{"fork", is[*keyring.Fork]},
	{"changed", is[*keyring.Changed]},
	{"other_did", isErr(keyring.ErrOtherDID)},
	{"method", isErr(keyring.ErrMethod)},
	{"full", isErr(keyring.ErrFull)},
	{"full", isErr(keyring.ErrVersions)},
	{"unapproved", isErr(keyring.ErrUnapproved)},
	{"too_large", isErr(did.ErrTooLarge)},
	{"document", isErr(did.ErrDocument)},
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func isErr(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// reasonOf is the word for a refusal; "" for what is none: an error of this node's own, or
// lines that only lack the ones before them.
func reasonOf(err error) string {
	if w := didwebvh.ReasonOf(err); w == didwebvh.ReasonGap {
		return ""
	} else if w != 0 {
		return w.String()
	}
	for _, r := range reasons {
		if r.is(err) {
			return r.word
		}
	}
	return ""
}

func (r *Resolver) count(err error) {
	word := reasonOf(err)
	if word == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[word]++
}

// Refused counts the logs and documents that were offered since the start and not taken,
// by reason.
func (r *Resolver) Refused() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.refused)
}

// lastVersion is the versionId of the last line of a log, unverified; "" if it is none.
func lastVersion(log []byte) string {
	log = bytes.TrimRight(log, "\r\n")
	return didwebvh.VersionID(log[bytes.LastIndexByte(log, '\n')+1:])
}
