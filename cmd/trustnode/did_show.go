package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func didShow(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		who := c.Args().First()
		if who == "" {
			who = "self"
		}
		if _, err := did.Parse(who); err != nil && strings.HasPrefix(who, "did:") {
			return &usageError{err.Error(), help(c)}
		}
		var d httpapi.Identity
		if err := k.call(ctx, "GET", "/api/v1/identities/"+url.PathEscape(who), nil, &d); err != nil {
			return err
		}
		if err := s.result(d, func(w writer) { printIdentity(w, d, time.Now()) }); err != nil {
			return err
		}
		return standingOf(d)
	})
}

// standingOf refuses what a person must not take for a DID that can be relied on.
func standingOf(d httpapi.Identity) error {
	if d.State != did.Frozen.String() || d.Fork == nil {
		return nil
	}
	return fault.New(fault.Forked, "did_log", "frozen: two valid entries %d for %s: %s, %s; keys after entry %d are not accepted", d.Fork.Number, placeOf(d.DID), short(d.Fork.Held), short(d.Fork.Offered), d.Fork.Number-1).
		WithHint("the charter decides, or you do once you know by another way which one is theirs: trustnode did resolve --accept-head VERSION --reason TEXT %s", d.DID)
}

// heldWords says what the state of a held DID means.
var heldWords = map[string]string{
	"held":        "verified here, and nothing contradicts it",
	"frozen":      "two different continuations are signed; nothing newer than their common part is accepted",
	"deactivated": "ended by its owner for good; what it signed before still verifies",
}

func printIdentity(w writer, d httpapi.Identity, now time.Time) {
	if d.Name != "" {
		fmt.Fprintf(w, "%s\n", d.Name)
	}
	fmt.Fprintf(w, "did          %s\n", d.DID)
	for _, n := range d.Names {
		fmt.Fprintf(w, "also         %s\n", n)
	}
	fmt.Fprintf(w, "state        %s: %s\n", d.State, heldWords[d.State])
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
		fmt.Fprintf(w, "branches     %s, held first\n             %s\n", d.Fork.Held, d.Fork.Offered)
	}
	for _, c := range d.Changed {
		fmt.Fprintf(w, "not trusted  its host has served other keys: %s\n", c)
	}
	if d.Entry != nil {
		printPending(w, *d.Entry)
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
			fmt.Fprintf(w, "key          %s  %s, since version %s%s\n", k.Key, k.Role, number(k.From), atIndex(k.FromIndex))
		}
	}
	for _, k := range d.History {
		if k.Until != "" {
			fmt.Fprintf(w, "retired      %s  %s, from version %s%s to version %s%s\n", k.Key, k.Role, number(k.From), atIndex(k.FromIndex), number(k.Until), atIndex(k.UntilIdx))
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

func atIndex(i *uint64) string {
	if i == nil {
		return " (not announced in its log yet)"
	}
	return fmt.Sprintf(" (log index %d)", *i)
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
