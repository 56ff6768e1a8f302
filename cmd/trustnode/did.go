package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/did/envelope"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

func didCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "did", Usage: "identities: who an organization is, and by which keys", Subcommands: []*cli.Command{
		didResolveCommand(s),
		didHostCommand(s),
		didCreateCommand(s),
		{Name: "show", Usage: "show an organization's DID: state, keys, fingerprint", ArgsUsage: "[DID|NAME|DOMAIN]", Action: func(c *cli.Context) error { return didShow(c, s) }},
		{Name: "rotate", Usage: "replace a key of this organization", Flags: append(authorityFlags(),
			&cli.StringFlag{Name: "role", Usage: "`KEY` to replace: issuer, governance, witness or update", Value: "issuer"},
			&cli.StringFlag{Name: "reason", Usage: "scheduled, compromise or lost", Value: "scheduled"},
			&cli.Uint64Flag{Name: "taint-from", Usage: "with compromise: last `INDEX` of the own log that is surely ours", DefaultText: "nothing is put in doubt"},
			&cli.StringFlag{Name: "governance-keys", Usage: "`DIR` of the governance key, for --role governance"},
			&cli.BoolFlag{Name: "resume", Usage: "go on with the entry under way"},
			&cli.StringSliceFlag{Name: "proof", Usage: "with --resume: `FILE` that did witness sign made, may be repeated"},
			&cli.BoolFlag{Name: "abandon", Usage: "forget the entry under way; only before a witness was asked"}),
			Action: func(c *cli.Context) error { return didRotate(c, s) }},
		{Name: "deactivate", Usage: "end this organization's DID for good", Flags: append(authorityFlags(),
			&cli.StringFlag{Name: "yes", Usage: "the whole `DID`, as a confirmation"}),
			Action: func(c *cli.Context) error { return didDeactivate(c, s) }},
		{Name: "witness", Usage: "witnesses of DID logs", Subcommands: []*cli.Command{
			{Name: "set", Usage: "name the members that witness this organization's DID log", ArgsUsage: "[DID…]", Flags: append(authorityFlags(),
				&cli.IntFlag{Name: "threshold", Usage: "how many of them must sign", DefaultText: "half, rounded up"},
				&cli.BoolFlag{Name: "none", Usage: "end witnessing"}),
				Action: func(c *cli.Context) error { return didWitnessSet(c, s) }},
			{Name: "status", Usage: "the entry under way and who has witnessed it", Action: func(c *cli.Context) error { return didWitnessStatus(c, s) }},
			{Name: "request", Usage: "write the entry under way to a file, to be carried to a witness", Flags: []cli.Flag{outFlag()}, Action: func(c *cli.Context) error { return didWitnessRequest(c, s) }},
			{Name: "sign", Usage: "witness an entry that was carried here", ArgsUsage: "FILE", Flags: []cli.Flag{outFlag()}, Action: func(c *cli.Context) error { return didWitnessSign(c, s) }},
		}},
	}}
}

func outFlag() cli.Flag {
	return &cli.StringFlag{Name: "o", Usage: "`FILE` to write; - for standard output"}
}

// authorityFlags stand on each verb that makes an entry of the own DID log.
func authorityFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "update-keys", Usage: "`DIR` of the update keys; default where the last entry had them"},
		&cli.BoolFlag{Name: "recovery", Usage: "sign with the recovery key, typed in, as the next update key is lost"},
		&cli.DurationFlag{Name: "wait", Usage: "how long witnesses are waited for", Value: 20 * time.Second},
	}
}

// authority gathers what signs an entry: the passphrase of the update keys, or the
// recovery key. The one that takes its place is shown before anything commits to it.
func authority(ctx context.Context, c *cli.Context, s *streams, k *caller) (httpapi.Authority, error) {
	var e httpapi.EntryState
	if err := k.call(ctx, "GET", "/api/v1/entry", nil, &e); err != nil {
		return httpapi.Authority{}, err
	}
	place, err := absolute(c.String("update-keys"))
	if err != nil {
		return httpapi.Authority{}, err
	}
	wait, err := waitOf(c)
	if err != nil {
		return httpapi.Authority{}, err
	}
	a := httpapi.Authority{UpdateKeys: place, WaitS: wait}
	if c.Bool("recovery") {
		if a.Recovery, err = typedRecovery(e); err != nil {
			return a, err
		}
	}
	pass, err := openUpdateKeys(c, e)
	if err != nil {
		return a, err
	}
	a.Passphrase = string(pass)
	clear(pass)
	if a.Recovery == "" || c.Command.Name == "deactivate" {
		return a, nil // with the DID ended nothing is committed to any more
	}
	fresh, multikey, err := daemon.NewRecoveryKey()
	if err != nil {
		return a, err
	}
	a.NextRecovery = multikey
	fmt.Fprintf(s.err, "new recovery key   %s\nWrite it down now: it is not shown again, and this entry puts it in the place of the one typed in, which is spent then.\n", fresh)
	return a, nil
}

// typedRecovery asks for the recovery key and checks it, before anything takes its place.
func typedRecovery(e httpapi.EntryState) (string, error) {
	if !e.Active {
		return "", fault.New(fault.Conflict, "under_way", "entry %s of the own DID log is under way", e.ID).WithHint("trustnode did rotate --resume goes on with it")
	}
	text, err := recoverySecret.get("recovery key")
	if err != nil {
		return "", err
	}
	defer clear(text)
	if err := daemon.CheckRecovery(text, e.Hashes); err != nil {
		return "", err
	}
	return string(text), nil
}

// change makes one entry and says where it stands.
func change(c *cli.Context, s *streams, path string, in func(httpapi.Authority) any) error {
	return with(c, func(ctx context.Context, k *caller) error {
		a, err := authority(ctx, c, s, k)
		if err != nil {
			return err
		}
		return makeEntry(ctx, s, k, path, in(a))
	})
}

func makeEntry(ctx context.Context, s *streams, k *caller, path string, in any) error {
	var out httpapi.EntryState
	if err := k.call(ctx, "POST", path, in, &out); err != nil {
		return err
	}
	return s.result(out, func(w writer) {
		fmt.Fprintf(w, "entry        %s is in force\n", out.ID)
		switch {
		case out.Logged:
			fmt.Fprintf(w, "announced    key.rotated at index %d of the own log; partners learn of it by gossip\n", out.Index)
		case out.Event != "":
			fmt.Fprintln(w, "announced    key.rotated waits until the own log takes it: trustnode status")
		}
		if out.Reason == "compromise" {
			printCompromise(w, out)
		}
	})
}

// printCompromise says what a compromise puts in doubt, and what came of the own agents.
func printCompromise(w writer, e httpapi.EntryState) {
	if e.TaintFrom == nil {
		fmt.Fprintln(w, "in doubt     nothing: without --taint-from all that the old key signed stands")
		return
	}
	fmt.Fprintf(w, "in doubt     own events above index %d, up to this entry's, but for those that partners had cosigned before\n", *e.TaintFrom)
	for _, n := range e.Reissued {
		fmt.Fprintf(w, "issued anew  agent %s\n", n)
	}
	for _, n := range e.Ended {
		fmt.Fprintf(w, "ended        agent %s: its key is not held here; where you know its holder, a new draft brings it back: trustnode agent show %[1]s\n", n)
	}
	if len(e.Reissued)+len(e.Ended) > 0 {
		fmt.Fprintln(w, "next         the thief may have made one of these agents; end for good those you do not know: trustnode agent revoke NAME --reason key_compromise")
	}
}

// didResume needs no key: the entry is signed. With the update keys at hand, the spent one
// is deleted at once.
func didResume(c *cli.Context, s *streams) error {
	proofs, err := readProofs(c, s)
	if err != nil {
		return err
	}
	place, err := absolute(c.String("update-keys"))
	if err != nil {
		return err
	}
	wait, err := waitOf(c)
	if err != nil {
		return err
	}
	return with(c, func(ctx context.Context, k *caller) error {
		pass, err := updateSecret.given()
		if err != nil {
			return err
		}
		defer clear(pass)
		a := httpapi.Authority{UpdateKeys: place, Passphrase: string(pass), WaitS: wait}
		texts, err := proofsOf(ctx, k, proofs)
		if err != nil {
			return err
		}
		return makeEntry(ctx, s, k, "/api/v1/entry/resume", httpapi.Resumption{Authority: a, Proofs: texts})
	})
}

// changing are the flags of did rotate that say what a new entry is to change.
var changing = []string{"role", "reason", "taint-from", "governance-keys", "recovery"}

// oneAct refuses flags of did rotate that do not go together, before anything is opened: an
// entry that was made by mistake is for good.
func oneAct(c *cli.Context) error {
	resume, abandon := c.Bool("resume"), c.Bool("abandon")
	if resume && abandon {
		return &usageError{"--resume and --abandon exclude each other", help(c)}
	}
	if c.IsSet("proof") && !resume {
		return &usageError{"--proof goes with --resume: without it a new entry would be made", help(c)}
	}
	for _, f := range changing {
		if c.IsSet(f) && (resume || abandon) {
			return &usageError{fmt.Sprintf("--%s is for a new entry, not for the one under way", f), help(c)}
		}
	}
	return nil
}

// rotateFlags refuses flags of a new entry that contradict each other.
func rotateFlags(c *cli.Context) error {
	switch {
	case c.IsSet("taint-from") && c.String("reason") != "compromise":
		return &usageError{"--taint-from goes with --reason compromise alone", help(c)}
	case c.IsSet("taint-from") && c.String("role") != "issuer" && c.String("role") != "governance":
		return &usageError{fmt.Sprintf("--taint-from goes with --role issuer or governance: the %s key signs no events", c.String("role")), help(c)}
	case (c.String("role") == "governance") != (c.String("governance-keys") != ""):
		return &usageError{"--role governance and --governance-keys DIR go together", help(c)}
	}
	return nil
}

func didRotate(c *cli.Context, s *streams) error {
	for _, err := range []error{oneAct(c), oneOf(c, "role", "issuer", "governance", "witness", "update"), oneOf(c, "reason", "scheduled", "compromise", "lost"), rotateFlags(c)} {
		if err != nil {
			return err
		}
	}
	switch {
	case c.Bool("abandon"):
		return didAbandon(c, s)
	case c.Bool("resume"):
		return didResume(c, s)
	}
	if dir := c.String("governance-keys"); dir != "" && !daemon.StoreExists(dir) {
		b, err := governanceSecret.getNew("new passphrase of the governance keys in " + dir)
		if err != nil {
			return err
		}
		clear(b) // it is held, and taken from there below
	}
	g, err := ceremony(c)
	if err != nil {
		return err
	}
	in := httpapi.Rotation{Role: c.String("role"), Reason: c.String("reason"), Governance: g.Governance, GovPass: g.GovPass}
	if c.IsSet("taint-from") {
		n := c.Uint64("taint-from")
		in.TaintFrom = &n
	}
	return change(c, s, "/api/v1/identities/rotate", func(a httpapi.Authority) any {
		in.Authority = a
		return in
	})
}

// proofsOf are the proofs of files, each of which names the entry it is for: one for another entry than that under way
// would be refused as a bad signature.
func proofsOf(ctx context.Context, k *caller, files []httpapi.WitnessProof) ([]string, error) {
	if len(files) == 0 {
		return nil, nil
	}
	e, err := entryNow(ctx, k)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range files {
		if !e.Active && p.ID != e.ID {
			return nil, fault.New(fault.Invalid, "proof", "the proof is for entry %.80s, the one under way is %s", p.ID, e.ID).
				WithHint("trustnode did witness request writes the one under way, for did witness sign")
		}
		out = append(out, p.Proof)
	}
	return out, nil
}

func readProofs(c *cli.Context, s *streams) ([]httpapi.WitnessProof, error) {
	var out []httpapi.WitnessProof
	for _, name := range c.StringSlice("proof") {
		b, err := s.read(name)
		if err != nil {
			return nil, err
		}
		var p httpapi.WitnessProof
		if err := envelope.Unmarshal([]byte(strings.TrimSpace(string(b))), &p); err != nil {
			return nil, fault.Wrap(fault.Invalid, "proof", err).WithHint("%s is not what did witness sign wrote", name)
		}
		out = append(out, p)
	}
	return out, nil
}

func didAbandon(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		a, err := authority(ctx, c, s, k)
		if err != nil {
			return err
		}
		var out httpapi.EntryState
		if err := k.call(ctx, "POST", "/api/v1/entry/abandon", a, &out); err != nil {
			return err
		}
		return s.result(out, func(w writer) { fmt.Fprintln(w, "the entry under way is forgotten, its keys are deleted") })
	})
}

func didDeactivate(c *cli.Context, s *streams) error {
	if err := need(c, "yes"); err != nil {
		return err
	}
	return change(c, s, "/api/v1/identities/deactivate", func(a httpapi.Authority) any { return httpapi.Deactivation{Authority: a, DID: c.String("yes")} })
}

func didWitnessSet(c *cli.Context, s *streams) error {
	in := httpapi.Witnesses{Members: c.Args().Slice(), None: c.Bool("none"), Threshold: c.Int("threshold")}
	switch {
	case in.None && len(in.Members) > 0:
		return &usageError{"--none takes no witnesses", help(c)}
	case in.None && c.IsSet("threshold"):
		return &usageError{"--none and --threshold exclude each other", help(c)}
	case c.IsSet("threshold") && in.Threshold < 1:
		return &usageError{fmt.Sprintf("--threshold is %d: at least one witness must sign; --none ends witnessing", in.Threshold), help(c)}
	case len(in.Members) > 0 && in.Threshold > len(in.Members):
		return &usageError{fmt.Sprintf("--threshold is %d of %s", in.Threshold, count(uint64(len(in.Members)), "witness")), help(c)}
	}
	err := change(c, s, "/api/v1/identities/witnesses", func(a httpapi.Authority) any {
		in.Authority = a
		return in
	})
	if d := fault.From(err); d != nil && d.Reason == "threshold" { // of the default list, which the node alone knows
		return &usageError{d.Detail, d.Hint}
	}
	return err
}

// entryNow asks for the entry under way.
func entryNow(ctx context.Context, k *caller) (e httpapi.EntryState, err error) {
	err = k.call(ctx, "GET", "/api/v1/entry", nil, &e)
	return e, err
}

func didWitnessStatus(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		e, err := entryNow(ctx, k)
		if err != nil {
			return err
		}
		return s.result(e, func(w writer) { printPending(w, e) })
	})
}

func printPending(w writer, e httpapi.EntryState) {
	switch {
	case e.Active:
		fmt.Fprintf(w, "no entry is under way; %s is in force\n", e.ID)
		return
	case e.Committed == "":
		fmt.Fprintf(w, "entry %s is signed here and known to nobody\n", e.ID)
		fmt.Fprintln(w, "next         trustnode did rotate --resume goes on with it, --abandon forgets it")
		return
	}
	fmt.Fprintf(w, "entry %s waits for its witnesses since %s\n", e.ID, e.Committed)
	fmt.Fprintf(w, "witnessed    %d of %d\n", e.Have, e.Need)
	for _, d := range e.Missing {
		fmt.Fprintf(w, "missing      %s\n", orUnknown(d))
	}
	fmt.Fprintln(w, "next         the node asks on by itself; by hand: trustnode did witness request, trustnode did witness sign, trustnode did rotate --resume --proof FILE")
}

func orUnknown(d string) string {
	if d == "" {
		return "a key that is no member's"
	}
	return d
}

func didWitnessRequest(c *cli.Context, s *streams) error {
	return with(c, func(ctx context.Context, k *caller) error {
		e, err := entryNow(ctx, k)
		if err != nil {
			return err
		}
		switch {
		case e.Active:
			return fault.New(fault.NotFound, "under_way", "no entry of the own DID log is under way").WithHint("trustnode did rotate makes one")
		case e.Entry == "":
			return fault.New(fault.Conflict, "built", "entry %s may still be abandoned, so no witness may see it", e.ID).WithHint("trustnode did rotate --resume commits to it")
		}
		var st httpapi.Status
		if err := k.call(ctx, "GET", "/api/v1/status", nil, &st); err != nil {
			return err
		}
		b, err := envelope.Marshal(httpapi.WitnessRequest{DID: st.Org, Entry: e.Entry})
		if err != nil {
			return err
		}
		if err := s.write(c, append(b, '\n')); err != nil {
			return err
		}
		w := s.beside(c)
		fmt.Fprintf(w, "entry        %s of %s: %s\n", e.ID, placeOf(st.Org), orNothingSaid(e.Changes))
		if name := c.String("o"); name != "" && name != "-" {
			fmt.Fprintf(w, "written      %s, for one of its witnesses: trustnode did witness sign %s -o proof.json\n", name, name)
		}
		return nil
	})
}

func didWitnessSign(c *cli.Context, s *streams) error {
	a, err := args(c, "FILE")
	if err != nil {
		return err
	}
	b, err := s.read(a[0])
	if err != nil {
		return err
	}
	var in httpapi.WitnessRequest
	if err := envelope.Unmarshal([]byte(strings.TrimSpace(string(b))), &in); err != nil {
		return fault.Wrap(fault.Invalid, "request", err).WithHint("%s is not what did witness request wrote", a[0])
	}
	return with(c, func(ctx context.Context, k *caller) error {
		var out httpapi.WitnessProof
		if err := k.call(ctx, "POST", "/api/v1/witness", in, &out); err != nil {
			return err
		}
		words := out.Changes
		out.Changes = nil
		b, err := envelope.Marshal(out)
		if err != nil {
			return err
		}
		if err := s.write(c, append(b, '\n')); err != nil {
			return err
		}
		w := s.beside(c)
		fmt.Fprintf(w, "witnessed    %s of %s: %s\n", out.ID, placeOf(in.DID), orNothingSaid(words))
		if name := c.String("o"); name != "" && name != "-" {
			fmt.Fprintf(w, "written      %s, to be carried back: trustnode did rotate --resume --proof %s\n", name, name)
		}
		return nil
	})
}

func orNothingSaid(words []string) string {
	if len(words) == 0 {
		return "what it changes is not known here"
	}
	return strings.Join(words, "; ")
}

// openUpdateKeys is the passphrase of the update keys: their own, or the node's where they
// lie in the data directory or open with it. A recovery makes a store where there is none.
func openUpdateKeys(c *cli.Context, e httpapi.EntryState) ([]byte, error) {
	place := c.String("update-keys")
	if place == "" {
		place = e.Place
	}
	anew := c.Bool("recovery") && !daemon.StoreExists(place)
	if !anew {
		if err := daemon.LookForUpdateStore(place); err != nil {
			return nil, err
		}
	}
	if b, err := updateSecret.given(); b != nil || err != nil {
		return b, err
	}
	switch {
	case !e.Apart && c.String("update-keys") == "":
		return passphrase("passphrase of " + c.String("data"))
	case anew:
		return updateSecret.getNew("new passphrase of the update keys in " + place)
	}
	if b, err := nodeSecret.given(); err != nil || b != nil && daemon.StoreOpens(place, b) {
		return b, err
	}
	return updatePassphrase("passphrase of the update keys in " + place)
}

// absolute is a path as a node that runs elsewhere finds it; "" stays.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// waitOf is how long witnesses are waited for, in whole seconds.
func waitOf(c *cli.Context) (uint64, error) {
	d := c.Duration("wait")
	if d < 0 || d > 10*time.Minute {
		return 0, &usageError{"--wait is between 0 and 10m", help(c)}
	}
	return uint64(d / time.Second), nil
}
