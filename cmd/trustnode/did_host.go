package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/resolver"
)

func didHostCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "host", Usage: "the files of this organization's DID on its web server", Flags: append(authorityFlags(),
		&cli.StringFlag{Name: "out", Usage: "write the files to `DIR`, for a web server that serves files"},
		&cli.BoolFlag{Name: "check", Usage: "ask the web server, and say whether it serves what is held here"},
		&cli.StringFlag{Name: "move", Usage: "move the DID to another `DOMAIN`; partners follow by its history"}),
		Description: "Without a flag it says where each file has to be reached. The node serves them itself under /.well-known/; put a TLS proxy in front of it,\n" +
			"or copy them with --out: into the folder .well-known of the domain, after each change.\n" +
			"With --check: exit 0 if all is as held, 1 if something is missing or behind, 4 if it is something else.",
		Action: func(c *cli.Context) error { return didHost(c, s) }}
}

func didHost(c *cli.Context, s *streams) error {
	n := 0
	for _, f := range []string{"out", "check", "move"} {
		if c.IsSet(f) {
			n++
		}
	}
	switch {
	case n > 1:
		return &usageError{"--out, --check and --move exclude each other", help(c)}
	case c.IsSet("move"):
		if err := need(c, "move"); err != nil {
			return err
		}
		return change(c, s, "/api/v1/identities/move", func(a httpapi.Authority) any { return httpapi.Move{Authority: a, Domain: c.String("move")} })
	case c.IsSet("out"):
		if err := need(c, "out"); err != nil {
			return err
		}
		return with(c, func(ctx context.Context, k *caller) error { return hostOut(ctx, s, k, c.String("out")) })
	case c.Bool("check"):
		return with(c, func(ctx context.Context, k *caller) error { return hostCheck(ctx, s, k) })
	}
	return with(c, func(ctx context.Context, k *caller) error { return hostShow(ctx, s, k) })
}

// hostedFiles are the files of the own DID, as the node serves them. The log is taken
// first: the witness file that is taken after it has the proofs for it.
func hostedFiles(ctx context.Context, k *caller) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, file := range []string{resolver.FileLog, resolver.FileWitness, resolver.FileWeb} {
		a, err := k.api.Get(ctx, "/.well-known/"+file, "")
		switch {
		case err != nil:
			return nil, err
		case a.Status == 200:
			out[file] = a.Body
		case a.Status == 404 && file == resolver.FileWitness, a.Status == 410 && file == resolver.FileWeb, a.Status == 503 && file == resolver.FileWeb:
			// nothing had to be witnessed; a DID that has ended or forked has no did.json
		default:
			return nil, fault.New(fault.NotFound, "files", "%s: %s", file, bytes.TrimSpace(a.Body))
		}
	}
	return out, nil
}

// written is a file that host --out left.
type written struct {
	File  string `json:"file"`
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// hostOut leaves the files in a folder, the witness file before the log: a reader of the
// new log never lacks a proof.
func hostOut(ctx context.Context, s *streams, k *caller, dir string) error {
	files, err := hostedFiles(ctx, k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := goesOn(filepath.Join(dir, resolver.FileLog), files[resolver.FileLog]); err != nil {
		return err
	}
	var out []written
	for _, file := range []string{resolver.FileWitness, resolver.FileLog, resolver.FileWeb} {
		name := filepath.Join(dir, file)
		b, ok := files[file]
		if !ok {
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			continue
		}
		if err := writeDurable(name, b); err != nil {
			return err
		}
		out = append(out, written{file, name, len(b)})
	}
	return s.result(out, func(w writer) {
		for _, f := range out {
			fmt.Fprintf(w, "written      %s (%d bytes)\n", f.Path, f.Bytes)
		}
		fmt.Fprintln(w, "next         trustnode did host --check, once the web server has them")
	})
}

// goesOn refuses to put a log in the place of one that it does not continue: that would
// take back what readers have seen, or publish one organization's log as another's.
func goesOn(name string, log []byte) error {
	had, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(log, had) {
		return fault.New(fault.Conflict, "other_log", "%s is no earlier state of this DID's log, and is left as it is", name).
			WithHint("if it is newer, another node of this organization wrote it: restore that one's backup; else name another folder")
	}
	return nil
}

// writeDurable replaces a file whole, and does not return before that outlives a power cut.
func writeDurable(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err := errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func hostCheck(ctx context.Context, s *streams, k *caller) error {
	var out httpapi.HostCheck
	if err := k.call(ctx, "POST", "/api/v1/identities/host-check", nil, &out); err != nil {
		return err
	}
	if err := s.result(out, func(w writer) {
		fmt.Fprintln(w, out.DID)
		for _, f := range out.Files {
			fmt.Fprintf(w, "%-12s %s\n             %s\n", f.State, f.URL, f.Words)
		}
	}); err != nil {
		return err
	}
	code := exitDone
	for _, f := range out.Files {
		code = max(code, map[resolver.Hosting]int{resolver.Same: exitDone, resolver.Unneeded: exitDone, resolver.Behind: exitFailed, resolver.Ahead: exitFailed,
			resolver.Missing: exitFailed, resolver.Unreachable: exitFailed, resolver.Other: exitUnverified}[resolver.Hosting(f.State)])
	}
	if code == exitDone {
		return nil
	}
	if !slices.ContainsFunc(out.Files, func(f httpapi.HostFile) bool { return f.State != string(resolver.Unreachable) }) {
		return &failedError{code, "the web server of " + out.DID + " gave no answer", "trustnode did host says where each file has to be reached"}
	}
	return &failedError{code, "the web server of " + out.DID + " does not serve what is held here", "trustnode did host says where each file has to be; did host --out DIR writes them"}
}

// placed says of one file where it has to be reached and whether it is needed.
type placed struct {
	File string `json:"file"`
	URL  string `json:"url"`
	Kind string `json:"kind"`
	Need string `json:"need"`
}

func hostShow(ctx context.Context, s *streams, k *caller) error {
	files, err := hostedFiles(ctx, k)
	if err != nil {
		return err
	}
	var st httpapi.Status
	if err := k.call(ctx, "GET", "/api/v1/status", nil, &st); err != nil {
		return err
	}
	var p httpapi.HostPlace
	if err := k.call(ctx, "GET", "/api/v1/identities/host", nil, &p); err != nil {
		return err
	}
	var out []placed
	for _, f := range []struct{ file, kind, need, without string }{
		{resolver.FileWitness, "application/json", "with the log, and replaced before it", "not needed: no entry has to be witnessed"},
		{resolver.FileLog, "text/jsonl", "always", "always"},
		{resolver.FileWeb, "application/did+json", "for readers that know did:web alone; nothing proves it", "must not be there: the DID has ended or forked"},
	} {
		x := placed{f.file, p.Base + f.file, f.kind, f.need}
		if files[f.file] == nil {
			x.Need = f.without
		}
		out = append(out, x)
	}
	return s.result(out, func(w writer) {
		fmt.Fprintln(w, p.DID)
		for _, x := range out {
			fmt.Fprintf(w, "%-16s %s  (%s)\n                 %s\n", x.File, x.URL, x.Kind, x.Need)
		}
		fmt.Fprintf(w, "served by        http://%s/.well-known/ while the node runs: put a TLS proxy in front of it, or copy the files: did host --out DIR\n", st.HTTP)
		fmt.Fprintln(w, "next             trustnode did host --check")
	})
}
