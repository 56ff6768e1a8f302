package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// ObjectKind says what the bytes of an object in the state database are. The
// zero value is invalid; append-only.
type ObjectKind byte

// The object kinds.
const (
	ObjectBody    ObjectKind = iota + 1 // body of an event, canonical JSON
	ObjectDSSE                          // signed object as DSSE JSON; its id is that of the body inside
	ObjectCompact                       // signed object in compact form; its id is that of the body inside
)

const maxObjectKind = ObjectCompact

func objectKey(id envelope.ID) []byte {
	sum := id.Sum()
	return append([]byte("obj/"), sum[:]...)
}

// PutObject keeps a body under obj/<id>: the kind, then the bytes. The id is
// that of the bytes.
func PutObject(tx store.Tx, kind ObjectKind, body []byte) (envelope.ID, error) {
	id := envelope.IDOf(body)
	return id, SetObject(tx, id, kind, body)
}

// SetObject keeps bytes under an id the caller has computed.
func SetObject(tx store.Tx, id envelope.ID, kind ObjectKind, b []byte) error {
	if kind == 0 || kind > maxObjectKind || id.IsZero() {
		return fmt.Errorf("object kind %d", kind)
	}
	return tx.Set(objectKey(id), append([]byte{byte(kind)}, b...))
}

// GetObject returns an object from a transaction or a snapshot, or
// attestation.ErrNotFound.
func GetObject(g interface{ Get([]byte) ([]byte, error) }, id envelope.ID) (ObjectKind, []byte, error) {
	b, err := g.Get(objectKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, fmt.Errorf("object %s: %w", id, attestation.ErrNotFound)
	}
	if err != nil {
		return 0, nil, err
	}
	if len(b) == 0 || b[0] == 0 || ObjectKind(b[0]) > maxObjectKind {
		return 0, nil, fmt.Errorf("%w: object %s", store.ErrCorrupt, id)
	}
	return ObjectKind(b[0]), b[1:], nil
}

// Body returns the attached body with an id, own or fetched from a peer, or
// attestation.ErrNotFound. Who may read it is for the caller: readers are in
// the rule of the event's type.
func (r *Recorder) Body(ctx context.Context, id envelope.ID) ([]byte, error) {
	var out []byte
	err := r.cfg.State.View(ctx, func(s store.Reader) error {
		kind, b, err := GetObject(s, id)
		if err == nil && kind == ObjectBody {
			out = b
		}
		if errors.Is(err, attestation.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || out != nil {
		return out, err
	}
	return r.cfg.Events.Body(ctx, id)
}

// PutBody keeps a body that came from a peer. Some event held here must name
// it, else attestation.ErrNotFound; it must have the form of one.
func (r *Recorder) PutBody(ctx context.Context, body []byte) (envelope.ID, error) {
	if len(body) > attestation.MaxEvidence {
		return envelope.ID{}, fmt.Errorf("%w: body of %d bytes", attestation.ErrTooLarge, len(body))
	}
	by, err := r.cfg.Events.Naming(ctx, envelope.IDOf(body))
	if err != nil {
		return envelope.ID{}, err
	}
	if err := fitsOne(by, body); err != nil {
		return envelope.ID{}, err
	}
	id, err := r.cfg.Events.PutBody(ctx, body)
	if err == nil {
		r.progress()
	}
	return id, err
}

// fitsOne reports whether body may be the body of one of these events.
func fitsOne(by []attestation.Found, body []byte) error {
	err := fmt.Errorf("no event names the body: %w", attestation.ErrNotFound)
	for _, f := range by {
		_, ev, bad := f.Entry.Envelope()
		if bad != nil {
			continue
		}
		rule, ok := attestation.RuleOf(ev.Type)
		if !ok {
			rule = attestation.Rule{Schema: "unknown"}
		}
		if err = checkBody(rule, body); err == nil {
			return nil
		}
	}
	return err
}

// Wanted returns up to max bodies that an event which counts names and that
// are not held here, with who may read them.
func (r *Recorder) Wanted(ctx context.Context, max int) ([]store.Wanted, error) {
	return r.cfg.Events.Wanted(ctx, max)
}
