package resolver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// opAcceptHead is the kind of the audit row of an accepted head.
const opAcceptHead = "accept_head"

// acceptRow is the audit row of an operator's word that one version of a DID is its
// newest, where two are valid, or where nothing in a did:web document proves it.
type acceptRow struct {
	At      envelope.Time `json:"at"`
	DID     did.DID       `json:"did"`
	From    string        `json:"from,omitempty"` // version that stood before; absent where none did
	Op      string        `json:"op"`
	Reason  string        `json:"reason"`
	Salt    string        `json:"salt"`
	Version string        `json:"version"`
}

// Accept is an operator's decision for one version of a DID.
type Accept struct {
	DID     did.DID
	Version string // versionId, or the id of a did:web document's bytes
	Reason  string // for the audit row, 1 to 512 bytes of plain text
	// Document are the bytes of a did:web document, where they were brought by hand; nil:
	// those that were offered before, else what the host serves.
	Document []byte
}

// AcceptHead carries out an operator's decision: for one branch of a frozen did:webvh, for
// a did:web document with other keys than the pinned one, or for the first document of a
// did:web that is pinned here. The audit row is durable before anything else happens, and
// the ring's record names it. Deciding for the head of a DID that is not frozen changes
// nothing and leaves no row. Errors are *fault.Denied, or the store's.
func (r *Resolver) AcceptHead(ctx context.Context, in Accept) (keyring.Result, error) {
	if err := in.check(); err != nil {
		return keyring.Result{}, err
	}
	if r.n == nil {
		return keyring.Result{}, fault.New(fault.NotFound, "no_node", "there is no node whose view could change")
	}
	from, doc, err := r.decidable(ctx, in)
	if err != nil || from.ID == in.Version && from.State != did.Frozen {
		return keyring.Result{From: from, Version: from}, err
	}
	by, err := r.record(ctx, in, from)
	if err != nil {
		return keyring.Result{}, err
	}
	r.n.Log.WarnContext(ctx, "the operator accepts a head", "did", in.DID.String(), "from", from.ID, "version", in.Version, "row", by)
	var res keyring.Result
	if from.ID == "" && doc != nil {
		res, err = r.offerWeb(ctx, in.DID, doc.bytes, by, r.now(), doc.spki)
	} else {
		res, err = r.ring.AcceptHead(ctx, in.DID, in.Version, by)
	}
	if err != nil {
		return keyring.Result{}, undecided(in, err)
	}
	if res.Advanced {
		r.cfg.Moved(ctx, in.DID)
	}
	return res, nil
}

func (in Accept) check() error {
	switch {
	case in.DID.Method() != didwebvh.Method && in.DID.Method() != didweb.Method:
		return fault.New(fault.Invalid, "method", "a did:%s is its own document: there is no head to accept", in.DID.Method())
	case in.Version == "":
		return fault.New(fault.Invalid, "version", "no version is named")
	case in.Reason == "" || len(in.Reason) > maxReason:
		return fault.New(fault.Invalid, "reason", "the reason has %d bytes, 1 to %d are needed", len(in.Reason), maxReason).
			WithHint("say in a sentence why this version is right and who compared it: it is kept for auditors")
	case envelope.CheckText(in.Reason, false) != nil:
		return fault.Wrap(fault.Invalid, "reason", envelope.CheckText(in.Reason, false))
	}
	return nil
}

// document is a did.json and the TLS key it was fetched under, "" if it came by hand.
type document struct {
	bytes []byte
	spki  string
}

// decidable answers where the DID stands, and for a first did:web document its bytes. It
// refuses a version that nothing here knows, so that no row is written about it.
func (r *Resolver) decidable(ctx context.Context, in Accept) (keyring.Version, *document, error) {
	from, err := r.ring.Head(ctx, in.DID)
	var below *keyring.Below
	absent := errors.Is(err, keyring.ErrAbsent)
	switch {
	case errors.As(err, &below):
		from = keyring.Version{DID: below.DID, Number: below.Number, ID: below.Pinned, State: did.Frozen}
	case absent && in.DID.Method() == didwebvh.Method:
		return from, nil, fault.New(fault.NotFound, "", "%s is not held here", in.DID).
			WithHint("a log proves itself: a member's comes with the charter or by sync, and is accepted then")
	case err != nil && !absent:
		return from, nil, err
	case from.ID == in.Version && from.State != did.Frozen:
		return from, nil, nil
	}
	if r.knows(ctx, in) {
		return from, nil, nil
	}
	if in.DID.Method() == didwebvh.Method {
		return from, nil, fault.New(fault.NotFound, "version", "no entry %.100q of %s is known here", in.Version, in.DID).
			WithHint("trustnode did show lists both branches; trustnode did resolve --fresh brings what its host serves")
	}
	doc, err := r.documentOf(ctx, in)
	if err != nil || absent {
		return keyring.Version{}, doc, err
	}
	// It is held with other bytes: they are set aside, and the decision finds them.
	var changed *keyring.Changed
	if _, err := r.offerWeb(ctx, in.DID, doc.bytes, "", r.now(), doc.spki); err != nil && !errors.As(err, &changed) {
		return from, nil, undecided(in, err)
	}
	from, err = r.ring.Head(ctx, in.DID)
	return from, nil, err
}

// knows reports whether the ring has the version: in the history, on a branch, or offered.
func (r *Resolver) knows(ctx context.Context, in Accept) bool {
	list, _ := r.ring.Versions(ctx, in.DID)
	branches, _ := r.ring.Branches(ctx, in.DID)
	changes, _ := r.ring.Changes(ctx, in.DID)
	return slices.ContainsFunc(list, func(v keyring.Listing) bool { return v.ID == in.Version }) ||
		slices.ContainsFunc(branches, func(b keyring.Branch) bool { return listed(b.Lines, in.Version) }) ||
		slices.ContainsFunc(changes, func(c keyring.Changed) bool { return c.Offered == in.Version })
}

func listed(lines []byte, version string) bool {
	for line := range bytes.Lines(lines) {
		if didwebvh.VersionID(bytes.TrimSuffix(line, []byte("\n"))) == version {
			return true
		}
	}
	return false
}

// documentOf finds the bytes of the version that is to be accepted: those brought by hand,
// else what the host serves now.
func (r *Resolver) documentOf(ctx context.Context, in Accept) (*document, error) {
	doc, from := document{bytes: in.Document}, "the file"
	if doc.bytes == nil {
		got, err := r.fetch(ctx, in.DID)
		if err != nil {
			return nil, err
		}
		doc, from = document{got.Material.Log, got.SPKI.String()}, "its host"
	}
	if id := envelope.IDOf(doc.bytes).String(); id != in.Version {
		return nil, fault.New(fault.Refused, "version", "%s has document %s of %s, not %.100q", from, id, in.DID, in.Version).
			WithHint("compare by voice which of them it is to be")
	}
	return &doc, nil
}

// record writes the audit row of the act and answers how the ring's record names it.
func (r *Resolver) record(ctx context.Context, in Accept, from keyring.Version) (string, error) {
	var salt [16]byte
	rand.Read(salt[:])
	body, err := envelope.Marshal(acceptRow{At: envelope.TimeOf(r.now()), DID: in.DID, From: from.ID, Op: opAcceptHead, Reason: in.Reason,
		Salt: base64.RawURLEncoding.EncodeToString(salt[:]), Version: in.Version})
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "reason", err)
	}
	var id envelope.ID
	err = r.n.DB.Update(ctx, func(tx store.Tx) error {
		var err error
		id, err = r.n.Rec.Row(tx, audit.Row{Kind: opAcceptHead, Body: body, Keys: []string{in.DID.String()}})
		return err
	})
	if errors.Is(err, attestation.ErrBacklog) {
		return "", fault.Wrap(fault.Unavailable, "drain", err).WithHint("the audit database does not accept writes: look at the free space and the log of the node")
	}
	if err != nil {
		return "", err
	}
	return byOperator + " " + id.String(), nil
}

// byOperator names who decided, before the id of the row that says why.
const byOperator = "operator"

// undecided says why the ring did not follow a decision.
func undecided(in Accept, err error) error {
	var back *keyring.Rollback
	var fork *keyring.Fork
	var taken *pins.Taken
	switch {
	case errors.As(err, &back):
		return fault.Wrap(fault.Refused, "rollback", err).WithHint("a version that was replaced does not come back")
	case errors.As(err, &fork):
		return fault.Wrap(fault.Forked, "did_log", err).WithHint("it forks once more after %.100s: decide for one of these too", in.Version)
	case errors.As(err, &taken):
		return fault.Wrap(fault.Conflict, "pinned", err)
	case errors.Is(err, keyring.ErrUnknownVersion):
		return fault.Wrap(fault.NotFound, "version", err)
	case errors.Is(err, did.ErrTooLarge):
		return fault.Wrap(fault.TooLarge, "document", err)
	case errors.Is(err, did.ErrDocument), errors.Is(err, didweb.ErrIdentifier):
		return fault.Wrap(fault.Invalid, "document", err)
	case errors.Is(err, keyring.ErrFull), errors.Is(err, keyring.ErrVersions):
		return fault.Wrap(fault.Refused, "full", err)
	}
	return err
}
