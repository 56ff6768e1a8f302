package daemon

import (
	"context"
	"errors"
	"net/http"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/federation/gossip"
	"trustnode/node/fault"
	"trustnode/node/member"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// logs shows every log held here to gossip, and takes what peers bring.
type logs struct {
	rec    *recorder.Recorder
	events *store.Events
	org    did.DID
	forked func(ctx context.Context) // evidence is held that may not be logged yet
}

var (
	_ gossip.Logs   = logs{}
	_ gossip.Intake = logs{}
	_ gossip.Edges  = logs{}
)

func (a logs) Orgs(context.Context) ([]did.DID, error) { return a.events.Orgs(), nil }

func (a logs) Log(ctx context.Context, d did.DID) (attestation.Log, error) {
	return a.events.Log(ctx, d)
}

func (a logs) Notes(ctx context.Context, d did.DID, from, to uint64, max int) ([][]byte, error) {
	return a.rec.Notes(ctx, d, from, to, max)
}

func (a logs) Ingest(ctx context.Context, p attestation.Package) (gossip.Outcome, error) {
	res, err := a.rec.Ingest(ctx, p)
	return a.outcome(ctx, res, err)
}

func (a logs) Merge(ctx context.Context, d did.DID, note []byte) (gossip.Outcome, error) {
	res, err := a.rec.MergeNote(ctx, d, note)
	return a.outcome(ctx, res, err)
}

func (a logs) Part(ctx context.Context, d did.DID, note []byte, ranges gossip.Ranges) (gossip.Outcome, error) {
	res, err := a.rec.Part(ctx, d, note, ranges)
	return a.outcome(ctx, res, err)
}

func (a logs) Lacks(ctx context.Context, d did.DID, theirs attestation.Head) (uint64, bool, error) {
	return a.rec.Lacks(ctx, d, theirs)
}

// outcome is what became of something, after a fork that it showed is logged.
func (a logs) outcome(ctx context.Context, res recorder.Result, err error) (gossip.Outcome, error) {
	o, err := taken(res, err)
	if o == gossip.Forked {
		a.forked(ctx)
	}
	return o, err
}

func (a logs) Edge(d did.DID) attlog.Range { return a.events.Edge(d) }

func (a logs) HeadKeys(d did.DID) []did.PublicKey { return a.rec.HeadKeys(d) }

// taken translates the recorder's verdict.
func taken(res recorder.Result, err error) (gossip.Outcome, error) {
	var fork *recorder.Fork
	switch {
	case errors.Is(err, recorder.ErrRejected):
		return gossip.False, nil
	case errors.As(err, &fork):
		return gossip.Forked, nil
	case err != nil:
		return 0, err
	}
	switch res.Verdict {
	case recorder.Accepted:
		return gossip.Taken, nil
	case recorder.Behind:
		return gossip.Behind, nil
	case recorder.Parked:
		return gossip.Parked, nil
	case recorder.Rejected:
		return gossip.False, nil
	case recorder.Forked:
		return gossip.Forked, nil
	}
	return gossip.Held, nil
}

// witnessing has heads cosigned: own ones by peers, theirs here.
type witnessing struct{ n *Node }

var _ gossip.Witnessing = witnessing{}

func (a witnessing) Cosign(ctx context.Context, w did.DID) error {
	err := a.n.self.Rec.Cosign(ctx, w, a.n.gossip)
	if errors.Is(err, recorder.ErrNoHead) {
		return nil
	}
	return err
}

// Entry implements gossip.Witnessing.
func (a witnessing) Entry(ctx context.Context, d did.DID, line []byte) (int, []byte, error) {
	proof, err := a.n.member.WitnessEntry(ctx, d, line)
	if err == nil {
		return http.StatusOK, proof, nil
	}
	var denied *fault.Denied
	if !errors.As(err, &denied) {
		return 0, nil, err
	}
	a.n.log.InfoContext(ctx, "an entry was not witnessed", "did", d.String(), "reason", denied.Reason)
	var other *member.Witnessed
	switch {
	case errors.As(err, &other):
		return http.StatusConflict, []byte(other.Version), nil
	case denied.Code == fault.NotFound:
		return http.StatusNotFound, []byte(denied.Reason), nil
	}
	return http.StatusForbidden, []byte(denied.Reason), nil
}

func (a witnessing) Answer(ctx context.Context, d did.DID, request []byte) (int, []byte, error) {
	status, body, err := a.n.self.Rec.WitnessAnswer(ctx, d, request)
	if err == nil && status != attlog.StatusCosigned && a.n.self.Rec.Forked(d) {
		a.n.proveForks(ctx)
	}
	return status, body, err
}
