package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/did/didpeer"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/resolution"
	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/fetch"
	"trustnode/node/httpapi"
	"trustnode/node/resolver"
)

func didResolveCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "resolve", Usage: "say what a DID stands for: its keys, its state, and how that is known", ArgsUsage: "DIDURL",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "offline", Usage: "answer from what is held here, ask no host"},
			&cli.BoolFlag{Name: "fresh", Usage: "ask the DID's host first"},
			&cli.StringFlag{Name: "log", Usage: "verify the DID from `FILE`: did.jsonl, did.json, or the long form of a did:peer:4"},
			&cli.StringFlag{Name: "witness", Usage: "with --log: `FILE` of the witness proofs; default the did-witness.json beside it"},
			&cli.StringFlag{Name: "accept", Usage: "print the answer in `MEDIA` type, e.g. application/did"},
			&cli.StringFlag{Name: "accept-head", Usage: "decide for `VERSION` where two are valid, or where a did:web is new or changed its keys"},
			&cli.StringFlag{Name: "reason", Usage: "with --accept-head: why that version is right, and who compared it; kept in an audit row"},
		},
		Description: "The answer comes from the node of --data; what it does not hold, the DID's host is asked for, and nothing of that is kept.\n" +
			"did:key, did:peer and did:jwk answer for themselves and need no node; nor does --log.\n" +
			"With --json the result is that of DID Resolution 1.0.\n" +
			"Exit codes: 0 held, 1 nobody has it or gives an answer, 2 not a DID or an unknown method, 3 forked, ended, or its host serves what is refused, 4 does not verify.",
		Action: func(c *cli.Context) error { return didResolve(c, s) }}
}

func didResolve(c *cli.Context, s *streams) error {
	a, err := args(c, "DIDURL")
	if err != nil {
		return err
	}
	if err := resolveFlags(c); err != nil {
		return err
	}
	req, err := resolution.Parse(a[0])
	switch {
	case err != nil: // said in the same form as every other refusal
		return answerWith(c, s, standalone(nil), a[0], "")
	case c.IsSet("log"):
		return resolveFile(c, s, a[0], req.DID())
	case c.IsSet("accept-head"):
		return acceptHead(c, s, a[0], req.DID())
	case !hosted(req.DID()):
		return answerWith(c, s, standalone(nil), a[0], "")
	}
	_, err = config.Read(c.String("data"))
	if errors.Is(err, config.ErrNoNode) {
		return resolveAlone(c, s, a[0])
	}
	return with(c, func(ctx context.Context, k *caller) error { return resolveByNode(c, s, byNode{k}, a[0]) })
}

// resolveFlags refuses flags that contradict each other.
func resolveFlags(c *cli.Context) error {
	for _, x := range [][2]string{{"offline", "fresh"}, {"log", "fresh"}, {"accept-head", "offline"}, {"accept-head", "fresh"}, {"accept", "json"}} {
		if c.IsSet(x[0]) && c.IsSet(x[1]) {
			return &usageError{"--" + x[0] + " and --" + x[1] + " exclude each other", help(c)}
		}
	}
	for _, x := range [][2]string{{"witness", "log"}, {"reason", "accept-head"}, {"accept-head", "reason"}} {
		if c.IsSet(x[0]) && c.String(x[1]) == "" {
			return &usageError{"--" + x[0] + " needs --" + x[1], help(c)}
		}
	}
	return nil
}

// hosted reports whether a DID is of a method that keeps its documents on web servers.
func hosted(d did.DID) bool { return d.Method() == didweb.Method || d.Method() == didwebvh.Method }

// resolveAlone answers without a node.
func resolveAlone(c *cli.Context, s *streams, text string) error {
	if c.Bool("offline") {
		return answerWith(c, s, standalone(nil), text, "")
	}
	l := standalone(fetch.New(fetch.Config{}))
	l.service.Resolve = l.r.Fresh
	return answerWith(c, s, l, text, "")
}

// resolveByNode asks the node, and has it ask the DID's host where the operator says so, or
// where it knows nothing.
func resolveByNode(c *cli.Context, s *streams, n byNode, text string) error {
	if c.Bool("fresh") {
		return answerWith(c, s, n, text, noCache)
	}
	if !c.Bool("offline") {
		a, err := n.get(c.Context, text, "", "")
		if err != nil {
			return err
		}
		if r, err := readResolved(a.Body); err == nil && r.meta().Error.Type == did.NotFound.URI() {
			return answerWith(c, s, n, text, noCache)
		}
	}
	return answerWith(c, s, n, text, "")
}

// noCache is the option by which a node asks a DID's host.
const noCache = "noCache=true"

// resolveFile answers from files, without a node.
func resolveFile(c *cli.Context, s *streams, text string, d did.DID) error {
	var m did.Material
	var err error
	if m.Log, err = s.read(c.String("log")); err != nil {
		return fault.From(err).WithHint("--log takes the did.jsonl of a did:webvh, with its did-witness.json beside it, the did.json of a did:web, or the long form of a did:peer:4")
	}
	if d.Method() == didpeer.Method {
		m.Log = bytes.TrimSpace(m.Log)
	}
	switch name := c.String("witness"); {
	case name != "":
		m.Witness, err = s.read(name)
	case d.Method() == didwebvh.Method && c.String("log") != "-":
		m.Witness, err = witnessBeside(c.String("log"))
	}
	if err != nil {
		return err
	}
	if c.IsSet("accept-head") {
		return acceptDocument(c, s, text, d, m.Log)
	}
	l := standalone(nil)
	l.service.Resolve = func(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
		return l.r.Given(ctx, d, m, o)
	}
	err = answerWith(c, s, l, text, "")
	if f := (*failedError)(nil); errors.As(err, &f) && f.code == exitUnverified && lacksWitness(d, m) {
		f.hint = "its did-witness.json belongs beside the log, or give it with --witness FILE"
	}
	return err
}

// lacksWitness reports whether all that a log lacks is its witness file.
func lacksWitness(d did.DID, m did.Material) bool {
	if d.Method() != didwebvh.Method || m.Witness != nil {
		return false
	}
	_, err := didwebvh.Verify(m.Log, nil, time.Now())
	return didwebvh.ReasonOf(err) == didwebvh.ReasonWitness
}

// acceptHead carries out the operator's decision, then shows what stands.
func acceptHead(c *cli.Context, s *streams, text string, d did.DID) error {
	return acceptDocument(c, s, text, d, nil)
}

func acceptDocument(c *cli.Context, s *streams, text string, d did.DID, doc []byte) error {
	return with(c, func(ctx context.Context, k *caller) error {
		in := httpapi.HeadAccept{DID: d.String(), Version: c.String("accept-head"), Reason: c.String("reason"), Document: doc}
		var out httpapi.HeadAccepted
		if err := k.call(ctx, "POST", "/api/v1/identities/accept", in, &out); err != nil {
			return err
		}
		if !s.json {
			fmt.Fprintln(s.out, acceptedWords(out))
		}
		return answerWith(c, s, byNode{k}, text, "")
	})
}

// acceptedWords says what an operator's decision changed.
func acceptedWords(out httpapi.HeadAccepted) string {
	switch {
	case !out.Changed:
		return fmt.Sprintf("nothing changes: %s is what stands", out.ID)
	case out.From == out.ID:
		return fmt.Sprintf("accepted: %s stands; the act is an audit row, the other entry is kept as evidence", out.ID)
	case out.From == "":
		return fmt.Sprintf("accepted: %s is pinned as the first version of this DID; the act is an audit row", out.ID)
	}
	return fmt.Sprintf("accepted: %s stands now, in place of %s; the act is an audit row, the other version is kept as evidence", out.ID, out.From)
}

// answerer answers in the HTTP form of DID Resolution 1.0, from somewhere. query are
// options beside those in the DID URL.
type answerer interface {
	get(ctx context.Context, text, query, accept string) (answered, error)
	// held answers from what is held, for the versions before the one that was answered.
	held(ctx context.Context, text, query string) (answered, error)
}

// answered is an answer with its exit code, -1 where only its text tells.
type answered struct {
	httpapi.Answer
	exit int
}

// byNode asks a node.
type byNode struct{ k *caller }

func (n byNode) get(ctx context.Context, text, query, accept string) (answered, error) {
	path := resolution.Endpoint + identifierOf(text)
	if query != "" {
		path += "?" + query
	}
	a, err := n.k.api.Get(ctx, path, accept)
	return answered{a, -1}, err
}

func (n byNode) held(ctx context.Context, text, query string) (answered, error) {
	return n.get(ctx, text, query, "")
}

// local answers in this process, without a node.
type local struct {
	r       *resolver.Resolver
	service resolution.Service
}

func standalone(h resolver.Host) *local {
	r := resolver.Alone(h, time.Now)
	return &local{r, r.Service(false)}
}

func (l *local) get(ctx context.Context, text, query, accept string) (answered, error) {
	return got(l.service.Get(ctx, identifierOf(text), query, accept)), nil
}

func (l *local) held(ctx context.Context, text, query string) (answered, error) {
	return got(l.r.Service(false).Get(ctx, identifierOf(text), query, "")), nil
}

func got(a resolution.Answer) answered {
	return answered{httpapi.Answer{Status: a.Status, Kind: a.ContentType, Body: a.Body}, a.Exit}
}

// identifierOf is a DID URL as it stands in a path, encoded as a whole, so that neither an
// escape nor a fragment is lost on the way.
func identifierOf(text string) string {
	if rest, ok := strings.CutPrefix(text, "did:"); ok {
		return "did%3A" + url.PathEscape(rest)
	}
	return url.PathEscape(text)
}

// answerWith asks, prints and gives the exit code.
func answerWith(c *cli.Context, s *streams, n answerer, text, query string) error {
	a, err := n.get(c.Context, text, query, c.String("accept"))
	if err != nil {
		return err
	}
	r, err := readResolved(a.Body)
	if s.json || c.IsSet("accept") {
		if _, werr := s.out.Write(append(a.Body, '\n')); werr != nil {
			return werr
		}
		if err != nil || c.IsSet("accept") && a.Status == 200 {
			return nil // a document alone says nothing beside itself
		}
	} else if err != nil {
		return fault.New(fault.Internal, "answer", "an answer of status %d that is no result: %v", a.Status, err)
	} else if r.meta().Error.Type == "" {
		explain(c.Context, s, n, text, r)
	}
	return outcome(text, a, r)
}

// outcome is the exit code of an answer, with what to say on standard error.
func outcome(text string, a answered, r resolved) error {
	m := r.meta()
	if m.Error.Type == "" {
		return ended(text, m)
	}
	name := did.ErrorName(strings.TrimPrefix(m.Error.Type, did.ErrorBase))
	exit := a.exit
	if exit < 0 {
		exit = resolution.OutcomeOf(&did.ResolutionError{Name: name}).Exit
		if name == did.InvalidDID && hostedAndNamed(text) {
			exit = exitUnverified // the DID is well formed: its log is not
		}
	}
	return &failedError{exit, refusalWords(name, m.Error.Title, m.Error.Detail, bare(text)), hintFor(name, exit, m.Error.Detail, bare(text))}
}

// refusalWords says a refusal in one line. The titles are those of DID Resolution; where
// they would mislead a person, others stand.
func refusalWords(name did.ErrorName, title, detail, d string) string {
	switch {
	case name == did.Forked:
		title = "frozen"
	case name == did.InternalError && detail != "":
		title = "no answer"
	case name == did.NotFound && strings.HasPrefix(detail, resolution.NotHeld):
		detail = d + " is not held here"
	}
	for _, said := range []string{title, did.ErrSyntax.Error()} { // the sentinel that a detail ends with says the title again
		if detail = strings.TrimSuffix(detail, ": "+said); detail == said {
			detail = ""
		}
	}
	if detail == "" {
		return title
	}
	return title + ": " + detail
}

// bare is the DID of a DID URL.
func bare(text string) string {
	if i := strings.IndexAny(text, "?#/"); i >= 0 {
		return text[:i]
	}
	return text
}

// hostedAndNamed reports whether the DID in text names a place as its method wants.
func hostedAndNamed(text string) bool {
	req, err := resolution.Parse(text)
	if err != nil {
		return false
	}
	switch req.DID().Method() {
	case didweb.Method:
		_, err = didweb.ParseIdentifier(req.DID())
	case didwebvh.Method:
		_, err = didwebvh.ParseIdentifier(req.DID())
	default:
		return false
	}
	return err == nil
}

func hintFor(name did.ErrorName, exit int, detail, d string) string {
	switch {
	case name == did.Forked:
		return "trustnode did show " + d + "; the charter decides: fed propose --set or --rekey; without one: did resolve --accept-head VERSION --reason TEXT"
	case name == did.NotFound && strings.HasPrefix(detail, resolution.NotHeld):
		return "a member's DID comes with the charter; a file works too: " + byFile(d)
	case name == did.NotFound && detail == "no such version":
		return "trustnode did show " + d + " says which is the newest here; --fresh asks its host for newer ones"
	case name == did.NotFound:
		return "" // another version, no such file: it says all there is to do
	case name == did.InternalError && exit == exitFailed:
		return "try again later, or with a file: " + byFile(d)
	case exit == exitUnverified:
		return "do not trust it; ask who published it"
	case name == did.MethodNotSupported, name == did.FeatureNotSupported, name == did.RepresentationNotSupported:
		return ""
	}
	return "a DID looks like did:webvh:SCID:acme.example, a DID URL adds ?versionNumber=N or #key"
}

// byFile is the command that resolves a DID from a file, by what its method publishes.
func byFile(d string) string {
	if strings.HasPrefix(d, "did:"+didweb.Method+":") {
		return "did resolve --log did.json " + d
	}
	return "did resolve --log did.jsonl " + d + ", with its did-witness.json beside the log"
}

// ended is the outcome of an answer without an error: a DID that has ended has no document,
// and a host that serves what is refused is no good news either.
func ended(text string, m metadata) error {
	if m.Trust.State == did.Deactivated.String() {
		return &failedError{exitRefused, bare(text) + " is deactivated: its controller ended it", "what it signed before still verifies; an earlier version: did resolve '" + bare(text) + "?versionNumber=1'"}
	}
	host, asked := m.step(resolver.StepHost)
	newest := m.Trust.Version // a did:web that is not held has no other
	if head, ok := m.step("head"); ok {
		newest = head.Version
	}
	if !asked || host.Version == newest || len(m.Trust.Warnings) == 0 {
		return nil
	}
	said := m.Trust.Warnings[len(m.Trust.Warnings)-1].What
	switch {
	case host.Version == "":
		return &failedError{exitUnverified, said, "what is held here stands; ask its operator to put the right files there"}
	case strings.HasPrefix(text, "did:"+didweb.Method+":"):
		return &failedError{exitRefused, said, "compare by voice, then trustnode did resolve --accept-head " + host.Version + " --reason TEXT " + bare(text)}
	}
	return &failedError{exitRefused, said, "what is held here stands; its operator should restore the newest did.jsonl"}
}

// resolved is the wire form of a resolution or a dereferencing.
type resolved struct {
	Document json.RawMessage `json:"didDocument"`
	DocMeta  struct {
		VersionID   string `json:"versionId"`
		Created     string `json:"created"`
		Updated     string `json:"updated"`
		Deactivated bool   `json:"deactivated"`
	} `json:"didDocumentMetadata"`
	Res     *metadata       `json:"didResolutionMetadata"`
	Content json.RawMessage `json:"content"`
	Deref   *metadata       `json:"dereferencingMetadata"`
}

type metadata struct {
	Error struct {
		Type, Title, Detail string
	} `json:"error"`
	Trust struct {
		AgeS        string `json:"age_s"`
		ConfirmedBy string `json:"confirmed_by"`
		State       string `json:"state"`
		VerifiedAt  string `json:"verified_at"`
		Version     string `json:"version"`
		Warnings    []struct{ Where, What string }
		Evidence    []evidence
	} `json:"trustnode"`
}

type evidence struct{ Step, Kid, ID, Version, Line string }

func readResolved(b []byte) (r resolved, err error) {
	if err := json.Unmarshal(b, &r); err != nil {
		return resolved{}, err
	}
	if r.Res == nil && r.Deref == nil {
		return resolved{}, errors.New("no metadata")
	}
	return r, nil
}

// document reads the document under the name it has itself: that of a log which moved may have another than was asked for.
func (r resolved) document() (did.Document, error) {
	var name struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(r.Document, &name); err != nil {
		return did.Document{}, err
	}
	d, err := did.Parse(name.ID)
	if err != nil {
		return did.Document{}, err
	}
	return did.ParseDocument(r.Document, d)
}

func (r resolved) meta() metadata {
	if r.Res != nil {
		return *r.Res
	}
	if r.Deref != nil {
		return *r.Deref
	}
	return metadata{}
}

func (m metadata) step(name string) (evidence, bool) {
	for _, e := range m.Trust.Evidence {
		if e.Step == name {
			return e, true
		}
	}
	return evidence{}, false
}
