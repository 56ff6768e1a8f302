package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
)

// Resolve answers the document of d, or of the version the options ask for,
// from what was verified here before: nothing is verified again, nothing is
// fetched. options.Now is the ring's clock if it is zero. A version of a
// deactivated DID before its end has State Held and a warning.
//
// Age counts from ConfirmedAt, or from VerifiedAt while nobody confirmed the head.
//
// Errors are *did.ResolutionError: Forked around the *Fork of a frozen DID,
// whatever version is asked for; NotFound around did.ErrAbsent and ErrAbsent,
// or around ErrUnknownVersion; InternalError around a *Below; InvalidOptions;
// MethodNotSupported for what is neither held here nor a did:key.
func (r *Ring) Resolve(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
	if o.Now.IsZero() {
		o.Now = r.now()
	}
	switch d.Method() {
	case didkey.Method:
		return didkey.Resolver{}.Resolve(ctx, d, did.Material{}, o)
	case didwebvh.Method, webMethod:
	default:
		return did.Resolution{}, &did.ResolutionError{Name: did.MethodNotSupported, Detail: "did:" + d.Method()}
	}
	m, err := r.get(d)
	if errors.Is(err, ErrAbsent) {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Err: fmt.Errorf("%w: %w", did.ErrAbsent, err)}
	}
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InternalError, Err: err}
	}
	if b, ok := m.open(); ok {
		return did.Resolution{}, &did.ResolutionError{Name: did.Forked, Err: m.describe(b)}
	}
	v, err := m.pick(o)
	if err != nil {
		return did.Resolution{}, err
	}
	return r.resolution(d, m, v, o), nil
}

// pick answers the version the options ask for.
func (m *member) pick(o did.Options) (version, error) {
	v, asked, found := m.head(), 0, true
	if o.VersionID != "" {
		asked++
		v, found = m.byID(o.VersionID)
	}
	if !o.VersionTime.IsZero() {
		asked++
		v, found = m.last(func(v version) bool { return !v.time.After(o.VersionTime) })
	}
	if o.VersionNumber != 0 {
		asked++
		v, found = m.last(func(v version) bool { return uint64(v.number) == o.VersionNumber })
	}
	if asked > 1 {
		return version{}, &did.ResolutionError{Name: did.InvalidOptions, Detail: "more than one version is asked for"}
	}
	if !found {
		return version{}, &did.ResolutionError{Name: did.NotFound, Detail: "no such version", Err: ErrUnknownVersion}
	}
	return v, nil
}

func (m *member) last(is func(version) bool) (version, bool) {
	for _, v := range slices.Backward(m.versions) {
		if is(v) {
			return v, true
		}
	}
	return version{}, false
}

func (r *Ring) resolution(d did.DID, m *member, v version, o did.Options) did.Resolution {
	res := did.Resolution{
		DID: d, Canonical: m.history.Canonical(), Version: v.id, State: did.Held, VerifiedAt: m.record.Version.VerifiedAt, Evidence: r.evidence(m, v.id),
	}
	if m.history.Len() > 0 {
		first, _ := m.history.At(1)
		res.Created, res.Updated = first.Time, v.time
	}
	_, res.ConfirmedAt = r.Confirmed(d)
	since := res.ConfirmedAt
	if since.IsZero() {
		since = res.VerifiedAt
	}
	res.Age = max(0, o.Now.Sub(since))
	if v.ended {
		res.State = did.Deactivated
		return res
	}
	res.Document, res.Raw = v.doc, v.doc.Raw()
	if m.did().Method() == webMethod {
		res.Raw = m.bytes(v)
	}
	res.Warnings = slices.Clone(v.doc.Warnings())
	if m.history.Len() > 0 {
		if w := m.history.Renamed(d, v.doc.ID()); w != "" {
			res.Warnings = append(res.Warnings, did.Warning{Where: d.String(), What: w})
		}
	}
	if m.head().ended {
		res.Warnings = append(res.Warnings, did.Warning{Where: d.String(), What: "deactivated at " + m.head().id})
	}
	return res
}

// bytes answers a did.json exactly as it was served.
func (m *member) bytes(v version) []byte {
	i := slices.IndexFunc(m.versions, func(o version) bool { return o.number == v.number })
	return slices.Clone(m.record.Web[i].Bytes)
}

// Resolvers answers the resolvers of did:webvh and did:web for a registry. With
// Material.Log they are pure over it: a log is verified, and a did.json, which
// nothing in it proves, is only read and carries a warning. Without it they are
// Resolve.
func (r *Ring) Resolvers() []did.Resolver {
	return []did.Resolver{logResolver{r}, webResolver{r}}
}

type logResolver struct{ ring *Ring }

// Method returns "webvh".
func (logResolver) Method() string { return didwebvh.Method }

// Resolve implements did.Resolver.
func (s logResolver) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if len(m.Log) > 0 {
		return didwebvh.Resolver{}.Resolve(ctx, d, m, o)
	}
	if _, err := didwebvh.ParseIdentifier(d); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	return s.ring.Resolve(ctx, d, o)
}

type webResolver struct{ ring *Ring }

// Method returns "web".
func (webResolver) Method() string { return webMethod }

// Resolve implements did.Resolver.
func (s webResolver) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if len(m.Log) == 0 {
		return s.ring.Resolve(ctx, d, o)
	}
	if !o.VersionTime.IsZero() || o.VersionNumber != 0 {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidOptions, Detail: "one did.json has no times and no numbers"}
	}
	id := envelope.IDOf(m.Log).String()
	if o.VersionID != "" && o.VersionID != id {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no such version", Err: ErrUnknownVersion}
	}
	doc, err := did.ParseDocument(m.Log, d)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDIDDocument, Err: err}
	}
	return did.Resolution{
		DID: d, Document: doc, Raw: slices.Clone(m.Log), Version: id, State: did.Held, VerifiedAt: o.Now,
		Evidence: []did.Evidence{{Step: "key", Version: id}},
		Warnings: append(slices.Clone(doc.Warnings()), did.Warning{Where: d.String(), What: "nothing proves this document but where it came from"}),
	}, nil
}
