package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func didShow(c *cli.Context, s *streams) error {
	who := c.Args().First()
	if who == "" {
		who = "self"
	}
	if _, err := did.Parse(who); err != nil && strings.HasPrefix(who, "did:") {
		return &usageError{err.Error(), help(c)}
	}
	return with(c, func(ctx context.Context, k *caller) error { return showIdentity(ctx, s, k, who, time.Now()) })
}

func showIdentity(ctx context.Context, s *streams, k *caller, who string, now time.Time) error {
	var d httpapi.Identity
	if err := k.call(ctx, "GET", "/api/v1/identities/"+url.PathEscape(who), nil, &d); err != nil {
		return err
	}
	if err := s.result(d, func(w writer) { printIdentity(w, d, now) }); err != nil {
		return err
	}
	return standingOf(d)
}

// standingOf refuses what a person must not take for a DID that can be relied on.
func standingOf(d httpapi.Identity) error {
	if d.State == did.Deactivated.String() {
		return &failedError{exitRefused, placeOf(d.DID) + " is deactivated: its controller ended it", "what it signed before still verifies"}
	}
	if d.State != did.Frozen.String() || d.Fork == nil {
		return nil
	}
	return fault.New(fault.Forked, "did_log", "frozen: two valid entries %d for %s: %s, %s; keys after entry %d are not accepted", d.Fork.Number, placeOf(d.DID), short(d.Fork.Held), short(d.Fork.Offered), d.Fork.Number-1).
		WithHint("the charter decides, or you do once you know by another way which one is theirs: trustnode did resolve --accept-head VERSION --reason TEXT %s", d.DID)
}

// heldWords says what the state of a held DID means.
func heldWords(d httpapi.Identity) string {
	switch {
	case d.State == did.Frozen.String():
		return "two different continuations are signed; nothing newer than their common part is accepted"
	case d.State == did.Deactivated.String():
		return "ended by its owner for good; what it signed before still verifies"
	case isWeb(d):
		return "this document is pinned; other keys are not taken without approval"
	case d.Version == did.StaticVersion:
		return "it follows from the DID"
	case d.Fork != nil:
		return "verified here; another continuation was seen, and decided against"
	}
	return "verified here, and nothing that was seen contradicts it"
}

// isWeb tells a DID whose versions are documents that were served, without numbers and without a log.
func isWeb(d httpapi.Identity) bool { return strings.HasPrefix(d.DID, "did:"+didweb.Method+":") }

func printIdentity(w writer, d httpapi.Identity, now time.Time) {
	if d.Name != "" {
		fmt.Fprintf(w, "%s\n", d.Name)
	}
	fmt.Fprintf(w, "did          %s\n", d.DID)
	for _, n := range d.Names {
		fmt.Fprintf(w, "also         %s\n", n)
	}
	fmt.Fprintf(w, "state        %s: %s\n", d.State, heldWords(d))
	if d.Version == did.StaticVersion {
		fmt.Fprintln(w, "version      static: the DID is the key, and cannot change")
	} else {
		fmt.Fprintf(w, "version      %s, the newest of %d held\n", d.Version, d.Versions)
	}
	fmt.Fprintf(w, "known        %s\n", knownWords(d, now))
	fmt.Fprintf(w, "fingerprint  %s   compare it aloud with what they see\n", d.Fingerprint)
	printKeys(w, d)
	printWitnesses(w, d)
	if d.Fork != nil && d.Fork.Decided != "" {
		fmt.Fprintf(w, "fork         entry %d was signed twice: %s, and %s, which was decided against\n", d.Fork.Number, d.Fork.Held, d.Fork.Offered)
	}
	if d.State == did.Frozen.String() && d.Fork != nil {
		printBranch(w, "branches", d.Fork.Held+", held first", d.Fork.HeldKeys)
		printBranch(w, "", d.Fork.Offered, d.Fork.OfferedKeys)
	}
	for _, c := range d.Changed {
		fmt.Fprintf(w, "not trusted  its host has served other keys: %s\n", c)
	}
	if d.Entry != nil {
		printPending(w, *d.Entry)
	}
}

// printBranch shows one side of an open fork, and the keys it would bring.
func printBranch(w writer, what, version string, keys []httpapi.IdentityKey) {
	fmt.Fprintf(w, "%-12s %s\n", what, version)
	for _, k := range keys {
		fmt.Fprintf(w, "%-12s   not accepted: %s %s, in %s\n", "", k.Role, k.Key, short(k.From))
	}
}

// knownWords says since when the head is held, and who said last that it is the newest.
func knownWords(d httpapi.Identity, now time.Time) string {
	var parts []string
	if d.VerifiedAt != "" {
		parts = append(parts, "verified "+d.VerifiedAt)
	}
	by := map[string]string{"own": "its own node", "beacon": "a member's beacon", "host": "its host", "import": "a file brought here"}[d.ConfirmedBy]
	at, err := time.Parse(time.RFC3339, d.ConfirmedAt)
	switch {
	case d.Own:
		parts = append(parts, "it is this organization's own")
	case by != "" && err == nil:
		parts = append(parts, fmt.Sprintf("named as the newest by %s %s ago", by, now.Sub(at).Round(time.Second)))
	case d.Version != did.StaticVersion:
		parts = append(parts, "nobody has named it as the newest since this node started")
	}
	if len(parts) == 0 {
		return "by itself"
	}
	return strings.Join(parts, "; ")
}

func printKeys(w writer, d httpapi.Identity) {
	for _, k := range d.History {
		if k.Until == "" {
			fmt.Fprintf(w, "key          %s  %s, since %s\n", k.Key, k.Role, sinceWords(d, k.From, k.FromIndex))
		}
	}
	for _, k := range d.History {
		if k.Until != "" {
			fmt.Fprintf(w, "retired      %s  %s, from %s to %s\n", k.Key, k.Role, sinceWords(d, k.From, k.FromIndex), sinceWords(d, k.Until, k.UntilIdx))
		}
	}
	if len(d.History) == 0 {
		for _, k := range d.Keys {
			fmt.Fprintf(w, "key          %s\n", k)
		}
	}
}

// number is the number of a versionId.
func number(version string) string {
	n, _, _ := strings.Cut(version, "-")
	return n
}

// sinceWords names a version, and where the log of its organization announces it: the first begins that log, and those of a
// did:web are in none.
func sinceWords(d httpapi.Identity, version string, index *uint64) string {
	switch {
	case isWeb(d):
		return "document " + version
	case index != nil:
		return fmt.Sprintf("version %s (log index %d)", number(version), *index)
	case number(version) == "1":
		return "version 1"
	}
	return fmt.Sprintf("version %s (not announced in its log yet)", number(version))
}

func printWitnesses(w writer, d httpapi.Identity) {
	if len(d.Witnesses) == 0 {
		return
	}
	var names []string
	for _, x := range d.Witnesses {
		names = append(names, placeOf(x))
	}
	fmt.Fprintf(w, "witnesses    %d of %d sign each next entry: %s\n", d.Threshold, len(names), strings.Join(names, ", "))
}

// placeOf shortens a did:webvh to its host.
func placeOf(text string) string {
	d, err := did.Parse(text)
	if err != nil || d.Method() != "webvh" {
		return text
	}
	_, host, _ := strings.Cut(d.ID(), ":")
	return host
}

// short is a versionId as far as a person compares it.
func short(version string) string {
	n, hash, _ := strings.Cut(version, "-")
	return n + "-" + hash[:min(len(hash), 10)] + "…"
}
