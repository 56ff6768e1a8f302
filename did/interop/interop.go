// Package interop answers: how do aries and this project look at the same DIDs?
//
// Registry is the one frame that every resolution passes: aries' vdr.Registry, holding only this project's methods, one
// for each did.Resolver. Before the frame stands our own check of syntax and length, around it a recover; context, options, bytes and
// the typed did.Resolution travel past it in an option, since aries has no context and its document loses members. View
// is the other way: an aries document made from a resolved one, for callers that need that type.
//
// What it never uses: aries' key, web, peer and httpbinding VDRs, its DID and document parsers, its verifier. A view is for
// reading; it is never stored, hashed or taken as what a party said.
package interop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	ariesdid "github.com/hyperledger/aries-framework-go/pkg/doc/did"
	vdrapi "github.com/hyperledger/aries-framework-go/pkg/framework/aries/api/vdr"
	"github.com/hyperledger/aries-framework-go/pkg/vdr"

	"trustnode/did"
)

// ErrReadOnly is returned where aries asks to create, update or deactivate.
var ErrReadOnly = errors.New("this registry resolves only")

// errNoCall is returned where aries resolves without what our methods need.
var errNoCall = errors.New("resolved outside interop.Registry")

// PanicError is the cause of an InternalError when a resolver panicked.
type PanicError struct {
	Value any
	Stack []byte // for the log of this machine only
}

// Error says that it was a panic and what it said.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Registry resolves DIDs of a fixed set of methods. It is safe for concurrent use. Made by New.
type Registry struct {
	frame *vdr.Registry
	names []string // of the methods, sorted
}

// New returns a registry of the given methods. Two resolvers of one method are a mistake of the program: it panics.
func New(resolvers ...did.Resolver) *Registry {
	r := &Registry{}
	var opts []vdr.Option
	for _, m := range resolvers {
		if slices.Contains(r.names, m.Method()) {
			panic("interop: two resolvers of did:" + m.Method())
		}
		r.names = append(r.names, m.Method())
		opts = append(opts, vdr.WithVDR(method{m}))
	}
	slices.Sort(r.names)
	r.frame = vdr.New(opts...)
	return r
}

// Methods returns the names of the methods, sorted.
func (r *Registry) Methods() []string { return slices.Clone(r.names) }

// Resolve resolves text, which must be a bare DID, from the bytes in m. Errors are *did.ResolutionError: INVALID_DID for
// bad syntax or length, METHOD_NOT_SUPPORTED with the methods there are, INTERNAL_ERROR around a *PanicError, and those of
// the method's resolver.
func (r *Registry) Resolve(ctx context.Context, text string, m did.Material, o did.Options) (did.Resolution, error) {
	d, err := did.Parse(text)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	if !slices.Contains(r.names, d.Method()) {
		return did.Resolution{}, &did.ResolutionError{
			Name:   did.MethodNotSupported,
			Detail: fmt.Sprintf("did:%s; supported: %s", d.Method(), strings.Join(r.names, ", ")),
		}
	}
	c := &call{ctx: ctx, did: d, material: m, options: o}
	if err := guard(func() error {
		_, err := r.frame.Resolve(text, vdrapi.WithOption(callOption, c))
		return err
	}); err != nil {
		return did.Resolution{}, typed(err)
	}
	if c.result.DID != d {
		return did.Resolution{}, &did.ResolutionError{Name: did.InternalError, Detail: "resolved to another DID"}
	}
	return c.result, nil
}

// guard runs do and turns a panic into a *PanicError.
func guard(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return do()
}

// typed takes the resolution error out of the frame's wrapping; what is none becomes an INTERNAL_ERROR.
func typed(err error) error {
	var r *did.ResolutionError
	if errors.As(err, &r) {
		return r
	}
	return &did.ResolutionError{Name: did.InternalError, Err: err}
}

const callOption = "trustnode.call"

// call is what travels past aries: down what a resolver needs, up what it found.
type call struct {
	ctx      context.Context // only as long as the call
	did      did.DID
	material did.Material
	options  did.Options
	result   did.Resolution
}

// method is one of our methods as a VDR.
type method struct{ resolver did.Resolver }

var _ vdrapi.VDR = method{}

// Accept reports whether name is this method's.
func (m method) Accept(name string, _ ...vdrapi.DIDMethodOption) bool {
	return name == m.resolver.Method()
}

// Read resolves for Registry. Its answer lies in the call; the document it returns to aries is empty.
func (m method) Read(_ string, opts ...vdrapi.DIDMethodOption) (*ariesdid.DocResolution, error) {
	values := vdrapi.DIDMethodOpts{Values: make(map[string]any)}
	for _, o := range opts {
		o(&values)
	}
	c, ok := values.Values[callOption].(*call)
	if !ok {
		return nil, errNoCall
	}
	var err error
	c.result, err = m.resolver.Resolve(c.ctx, c.did, c.material, c.options)
	if err != nil {
		return nil, err
	}
	return &ariesdid.DocResolution{}, nil
}

// Create returns ErrReadOnly.
func (method) Create(*ariesdid.Doc, ...vdrapi.DIDMethodOption) (*ariesdid.DocResolution, error) {
	return nil, ErrReadOnly
}

// Update returns ErrReadOnly.
func (method) Update(*ariesdid.Doc, ...vdrapi.DIDMethodOption) error { return ErrReadOnly }

// Deactivate returns ErrReadOnly.
func (method) Deactivate(string, ...vdrapi.DIDMethodOption) error { return ErrReadOnly }

// Close does nothing: resolvers hold nothing.
func (method) Close() error { return nil }
