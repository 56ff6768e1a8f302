package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didjwk"
	"trustnode/did/didkey"
	"trustnode/did/didpeer"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/resolution"
	"trustnode/node/httpapi"
	"trustnode/node/resolver"
)

// explain tells people who never saw a DID what was found.
func explain(ctx context.Context, s *streams, n answerer, text string, r resolved) {
	w, m := printable{s.out}, r.meta()
	req, err := resolution.Parse(text)
	if err != nil {
		return
	}
	d := req.DID()
	fmt.Fprintln(w, d)
	line(w, "what", "%s", whatIs(d))
	if m.Trust.Version != did.StaticVersion {
		line(w, "version", "%s", versionWords(m.Trust.Version, r.DocMeta.Updated))
	}
	line(w, "state", "%s", standingWords(d, m))
	if by := confirmedWords(m); by != "" {
		line(w, "confirmed", "%s", by)
	}
	if len(r.Content) > 0 {
		part(w, req.Fragment(), r.Content)
	} else if doc, err := r.document(); err == nil {
		document(ctx, w, n, d, doc, m)
	}
	for i, e := range known(d, m) {
		line(w, map[bool]string{true: "known by"}[i == 0], "%s", e)
	}
	for _, x := range m.Trust.Warnings {
		line(w, "warning", "%s: %s", x.Where, x.What)
	}
	noteState(ctx, s, n)
}

func line(w writer, what, format string, args ...any) {
	fmt.Fprintf(w, "%-10s %s\n", what, fmt.Sprintf(format, args...))
}

func whatIs(d did.DID) string {
	switch d.Method() {
	case didwebvh.Method:
		if id, err := didwebvh.ParseIdentifier(d); err == nil {
			return "a DID whose history of signed entries proves itself, published at " + id.URL()
		}
	case didweb.Method:
		if id, err := didweb.ParseIdentifier(d); err == nil {
			return "a DID whose document is a page of a web server, which nothing else proves: " + id.URL()
		}
	case didkey.Method:
		return "a key that is its own DID"
	case didjwk.Method:
		return "a JSON Web Key that is its own DID"
	case didpeer.Method:
		return "a DID that carries its own document"
	}
	return "a DID"
}

func versionWords(version, updated string) string {
	if updated != "" {
		return version + " of " + updated
	}
	return version
}

func standingWords(d did.DID, m metadata) string {
	_, pinned := m.step("pin")
	switch {
	case m.Trust.State == did.Deactivated.String():
		return "deactivated: its controller ended it for good"
	case m.Trust.Version == did.StaticVersion:
		return "held: it follows from the DID and cannot change"
	case !pinned:
		return "it verifies; nothing of it is kept or pinned here"
	case d.Method() == didweb.Method:
		return "held: this document is pinned, and other keys are not taken without approval"
	}
	if len(m.Trust.Warnings) > 0 {
		return "held: its history verifies; see the warnings"
	}
	return "held: its history verifies, and nothing that was seen contradicts it"
}

// confirmedWords says who last stated that the version is the newest one.
func confirmedWords(m metadata) string {
	by := map[string]string{string(keyring.ByOwn): "by its own node", string(keyring.ByBeacon): "by another member's node",
		string(keyring.ByHost): "by its web server", string(keyring.ByImport): "by a file that was brought here"}[m.Trust.ConfirmedBy]
	if _, pinned := m.step("pin"); by == "" && !pinned {
		return ""
	}
	if by == "" {
		return "by nobody since it was verified here at " + m.Trust.VerifiedAt
	}
	age, err := strconv.ParseInt(m.Trust.AgeS, 10, 64)
	if err != nil || age == 0 {
		return by + ", just now"
	}
	return fmt.Sprintf("%s, %s ago", by, time.Duration(age)*time.Second)
}

// part shows the one method or service that was asked for.
func part(w writer, fragment string, content []byte) {
	var b bytes.Buffer
	if json.Indent(&b, content, "           ", "  ") == nil {
		line(w, "part", "#%s", fragment)
		line(w, "", "%s", b.String())
	}
}

// document shows keys by what they do, then what else the document says.
func document(ctx context.Context, w writer, n answerer, d did.DID, doc did.Document, m metadata) {
	since := sinceWhen(ctx, n, d, doc, m)
	roles := didwebvh.RolesOf(doc)
	for _, k := range doc.Methods() {
		fragment := strings.TrimPrefix(k.ID, doc.ID().String())
		switch {
		case k.Err != nil:
			line(w, "key", "%s  not usable: %v", fragment, k.Err)
		default:
			line(w, "key", "%s  %s%s%s", keyName(k, fragment), roleWords(doc, roles, k), endWords(k), since[k.Public])
		}
	}
	if len(doc.Methods()) == 0 {
		line(w, "key", "none: nobody can sign for it")
	}
	if !roles.Witness.IsZero() {
		line(w, "key", "%s  witness: proves entries of others' histories%s", roles.Witness.Multikey(), since[roles.Witness])
	}
	for _, s := range doc.Services() {
		if !slices.Contains(s.Types, didwebvh.WitnessType) {
			line(w, "service", "%s (%s)  %s", strings.TrimPrefix(s.ID, doc.ID().String()+"#"), strings.Join(s.Types, ", "), strings.Join(s.Endpoints, " "))
		}
	}
	for _, a := range doc.AlsoKnownAs() {
		line(w, "also", "%s  (it says so itself)", a)
	}
}

// keyName is the key's own text, with the name the document gives it where that is another.
func keyName(k did.Method, fragment string) string {
	if text := k.Public.Multikey(); fragment != "#"+text {
		return text + " " + fragment
	}
	return k.Public.Multikey()
}

// roleWords says what a key is for.
func roleWords(doc did.Document, roles didwebvh.Roles, k did.Method) string {
	kid := strings.TrimPrefix(k.ID, doc.ID().String()+"#")
	var out []string
	for _, r := range []struct {
		rel  did.Relationship
		word string
	}{
		{did.AssertionMethod, "signs statements"},
		{did.Authentication, "proves who acts"},
		{did.KeyAgreement, "receives what is encrypted"},
		{did.CapabilityInvocation, "uses capabilities"},
		{did.CapabilityDelegation, "hands capabilities on"},
	} {
		if doc.Lists(kid, r.rel) {
			out = append(out, r.word)
		}
	}
	words := strings.Join(out, ", ")
	if a := k.Public.Algorithm(); a != did.Ed25519 && len(out) > 0 && words != "receives what is encrypted" {
		words += fmt.Sprintf(" (%v: nothing it signs is verified here)", a)
	}
	switch {
	case len(out) == 0:
		return "listed for nothing"
	case k.Public == roles.Issuer && doc.ID().Method() == didwebvh.Method:
		return "issuer: " + words
	case k.Public == roles.Governance && doc.ID().Method() == didwebvh.Method:
		return "governance: " + words
	}
	return words
}

func endWords(k did.Method) string {
	end := k.Expires
	if end.IsZero() || !k.Revoked.IsZero() && k.Revoked.Before(end) {
		end = k.Revoked
	}
	if end.IsZero() {
		return ""
	}
	return ", until " + end.UTC().Format(time.RFC3339)
}

// maxSince is how many versions are looked back through for when a key came in.
const maxSince = 64

// sinceWhen says of each key in a document since which version it is listed, for a DID
// whose versions have numbers; nothing where the earlier ones are not held.
func sinceWhen(ctx context.Context, n answerer, d did.DID, doc did.Document, m metadata) map[did.PublicKey]string {
	head, err := strconv.Atoi(strings.SplitN(m.Trust.Version, "-", 2)[0])
	if d.Method() != didwebvh.Method || err != nil {
		return nil
	}
	out := map[did.PublicKey]string{}
	left := keysOf(doc)
	when := versionAt(ctx, n, d, head)
	if when.doc.IsZero() {
		return nil
	}
	for number := head; number > 0 && len(left) > 0; number-- {
		before := dated{}
		if number > 1 && head-number < maxSince {
			before = versionAt(ctx, n, d, number-1)
		}
		listed := keysOf(before.doc)
		for i := len(left) - 1; i >= 0; i-- {
			switch k := left[i]; {
			case slices.Contains(listed, k):
				continue
			case number > 1 && before.doc.IsZero():
				out[k] = fmt.Sprintf("; since version %d or before", number)
			default:
				out[k] = fmt.Sprintf("; since version %d of %s", number, when.time)
			}
			left = slices.Delete(left, i, i+1)
		}
		when = before
	}
	return out
}

// dated is an earlier document and its time; zero where it is not held.
type dated struct {
	doc  did.Document
	time string
}

func versionAt(ctx context.Context, n answerer, d did.DID, number int) dated {
	a, err := n.held(ctx, d.String(), fmt.Sprintf("versionNumber=%d", number))
	if err != nil {
		return dated{}
	}
	r, err := readResolved(a.Body)
	if err != nil {
		return dated{}
	}
	doc, err := r.document()
	if err != nil {
		return dated{}
	}
	return dated{doc, r.DocMeta.Updated}
}

// keysOf are the keys of a document, that of a witness included.
func keysOf(doc did.Document) []did.PublicKey {
	if doc.IsZero() {
		return nil
	}
	var out []did.PublicKey
	for _, k := range doc.Methods() {
		if k.Err == nil {
			out = append(out, k.Public)
		}
	}
	if w := didwebvh.RolesOf(doc).Witness; !w.IsZero() {
		out = append(out, w)
	}
	return out
}

// known says step by step what the answer rests on.
func known(d did.DID, m metadata) []string {
	if m.Trust.Version == did.StaticVersion {
		return []string{"the DID itself: nobody was asked, and no node is needed"}
	}
	_, pinned := m.step("pin")
	var out []string
	for _, e := range m.Trust.Evidence {
		if w := stepWords(d, e, pinned, m.Trust.State == did.Deactivated.String()); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func stepWords(d did.DID, e evidence, pinned, ended bool) string {
	switch e.Step {
	case "key":
		if ended {
			return "entry " + e.Version + " ended it; it and all before it are signed and chained"
		}
		if d.Method() == didweb.Method {
			return "document " + e.Version + " lists these keys"
		}
		return "entry " + e.Version + " lists these keys; it and all before it are signed and chained"
	case "head":
		if d.Method() == didweb.Method || !pinned {
			return "" // there is one document, or the file's last entry is its newest by itself
		}
		return e.Version + " is the newest entry that was verified here"
	case "pin":
		if e.Line == "" {
			return ""
		}
		return "that is pinned, in line " + e.Line + " of the file pins: what is older is not taken any more"
	case resolver.StepHost:
		if e.Version == "" {
			return "its host was asked just now, and serves what is no version of it"
		}
		return "its host was asked just now, and serves " + e.Version
	}
	return ""
}

// noteState says when the node that answered is not in touch with its federation.
func noteState(ctx context.Context, s *streams, n answerer) {
	by, ok := n.(byNode)
	if !ok || by.k.own {
		return
	}
	var st httpapi.Status
	if err := by.k.call(ctx, "GET", "/api/v1/status", nil, &st); err != nil || st.State == "fresh" || st.State == "alone" {
		return
	}
	fmt.Fprintf(s.err, "note: this node is %s, what it holds may be behind: %s\n", st.State, strings.Join(st.Reasons, "; "))
}
