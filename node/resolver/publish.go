package resolver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/node/fault"
)

// The files of an organization's DID on its web server.
const (
	FileLog     = "did.jsonl"
	FileWitness = "did-witness.json"
	FileWeb     = "did.json"
)

// Published is what the web server of the own DID serves: all from one verified history,
// so the witness file has the proofs of every entry in the log, and of the log before the
// newest entry. Who reads the log first so never lacks a proof, also if an entry came
// before he read the other file.
type Published struct {
	DID     did.DID
	Version string // versionId of the head
	State   did.State
	TTL     uint64 // seconds a reader may keep it
	Log     []byte
	Witness []byte  // nil: no entry had to be witnessed
	Web     []byte  // did.json; nil unless State is held: a did:web reader cannot be told of a fork or an end
	WebDID  did.DID // the parallel did:web, whether or not it has a document
	URL     string  // of the log
}

// URLOf is where a file is to be reached.
func (p Published) URLOf(file string) string { return strings.TrimSuffix(p.URL, FileLog) + file }

// Published answers what is to be served of the own DID now. Errors: *fault.Denied, not
// found for an organization whose DID is a key and has no files.
func (r *Resolver) Published(ctx context.Context) (Published, error) {
	if r.n == nil {
		return Published{}, fault.New(fault.NotFound, "no_node", "there is no node whose DID could be served")
	}
	v, err := r.ring.Head(ctx, r.n.Org)
	if err != nil {
		return Published{}, err
	}
	h, err := r.ring.History(ctx, r.n.Org)
	if errors.Is(err, keyring.ErrMethod) {
		return Published{}, fault.New(fault.NotFound, "method", "a did:%s is its own document and has no files to serve", r.n.Org.Method())
	}
	if err != nil {
		return Published{}, err
	}
	id, err := didwebvh.ParseIdentifier(h.DID())
	if err != nil {
		return Published{}, err
	}
	p := Published{DID: h.DID(), Version: h.Head().ID, State: v.State, TTL: h.Head().Parameters.TTL, Log: h.Log(), Witness: h.Witness(), URL: id.URL()}
	if h.Deactivated() {
		p.State = did.Deactivated
	}
	if p.WebDID, err = did.Parse("did:" + didweb.Method + strings.TrimPrefix(h.DID().String(), "did:"+didwebvh.Method+":"+id.SCID)); err != nil {
		return Published{}, err
	}
	if p.State == did.Held {
		_, p.Web, err = h.Web()
	}
	return p, err
}

// Hosting is how a file on the web server stands to what is held here.
type Hosting string

// The ways. Values are part of the API: never renamed.
const (
	Same        Hosting = "same"        // byte for byte
	Behind      Hosting = "behind"      // an earlier state of it
	Ahead       Hosting = "ahead"       // it goes on where this node ends
	Other       Hosting = "other"       // something else
	Missing     Hosting = "missing"     // the server has no such file
	Unreachable Hosting = "unreachable" // the server gave no answer
	Unneeded    Hosting = "unneeded"    // nothing has to be there
)

// FileCheck says how one file stands.
type FileCheck struct {
	File, URL string
	State     Hosting
	Words     string
}

// CheckHost asks the web server of the own DID for its files and compares them with what
// is held here. For the operator alone. Errors are those of Published.
func (r *Resolver) CheckHost(ctx context.Context) ([]FileCheck, error) {
	p, err := r.Published(ctx)
	if err != nil {
		return nil, err
	}
	log, witness := r.checkLog(ctx, p)
	return []FileCheck{log, witness, r.checkWeb(ctx, p)}, nil
}

func (p Published) check(file string, s Hosting, format string, args ...any) FileCheck {
	return FileCheck{File: file, URL: p.URLOf(file), State: s, Words: fmt.Sprintf(format, args...)}
}

// unread is the state of files that could not be had.
func unread(err error) Hosting {
	if errors.Is(err, did.ErrAbsent) {
		return Missing
	}
	return Unreachable
}

func (r *Resolver) checkLog(ctx context.Context, p Published) (log, witness FileCheck) {
	got, err := r.fetch(ctx, p.DID)
	if err != nil {
		s := unread(err)
		return p.check(FileLog, s, "%s", why(err)), p.check(FileWitness, s, "not asked for: it goes with the log")
	}
	log = p.compare(got.Material.Log)
	switch {
	case got.Material.Witness == nil && p.Witness == nil:
		return log, p.check(FileWitness, Unneeded, "no entry has to be witnessed, and there is no such file")
	case bytes.Equal(got.Material.Witness, p.Witness):
		return log, p.check(FileWitness, Same, "it is the one held here")
	case got.Material.Witness == nil && log.State == Behind:
		return log, p.check(FileWitness, Behind, "there is none yet; it is to be there before the log is replaced")
	case got.Material.Witness == nil:
		return log, p.check(FileWitness, Missing, "there is none, so nobody can verify the log")
	}
	if _, err := didwebvh.Verify(got.Material.Log, got.Material.Witness, r.now()); err != nil {
		return log, p.check(FileWitness, Other, "the log beside it does not verify with it: %v", err)
	}
	if log.State == Same {
		return log, p.check(FileWitness, Same, "it is not the one held here, and has the proofs for the log")
	}
	return log, p.check(FileWitness, log.State, "it has the proofs for the log beside it")
}

// compare says how a log stands to the one held here.
func (p Published) compare(got []byte) FileCheck {
	n, m := bytes.Count(got, []byte("\n")), bytes.Count(p.Log, []byte("\n"))
	switch {
	case bytes.Equal(got, p.Log):
		return p.check(FileLog, Same, "it is the log held here, up to %s", p.Version)
	case bytes.HasPrefix(p.Log, got) && bytes.HasSuffix(got, []byte("\n")):
		return p.check(FileLog, Behind, "it ends at entry %d, this node holds %d: put the newer files there", n, m)
	case bytes.HasPrefix(got, p.Log):
		return p.check(FileLog, Ahead, "it goes on to entry %d (%s), this node holds %d: if another node of this organization made that, restore its newest backup; "+
			"else somebody has your update key: trustnode did rotate --recovery", n, lastVersion(got), m)
	}
	return p.check(FileLog, Other, "it is not the log of this DID as held here: readers see another history or none")
}

func (r *Resolver) checkWeb(ctx context.Context, p Published) FileCheck {
	got, err := r.fetch(ctx, p.WebDID)
	switch {
	case err != nil && p.Web == nil && errors.Is(err, did.ErrAbsent):
		return p.check(FileWeb, Unneeded, "there is none, as it is to be while the DID is %s", p.State)
	case err != nil && errors.Is(err, did.ErrAbsent):
		return p.check(FileWeb, Missing, "there is none; only readers that know no did:webvh miss it")
	case err != nil:
		return p.check(FileWeb, unread(err), "%s", why(err))
	case p.Web == nil:
		return p.check(FileWeb, Behind, "it still shows a document, but the DID is %s: remove it", p.State)
	case bytes.Equal(bytes.TrimSpace(got.Material.Log), p.Web):
		return p.check(FileWeb, Same, "it is the parallel document of the newest version")
	}
	return p.check(FileWeb, Other, "it is not the document of the newest version: put the newer file there")
}
