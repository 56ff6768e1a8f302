package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foreignClients reads the loan with released clients of another SDK. Their packages are
// installed by scripts/check, where npm reaches its registry:
//
//	npm ci --ignore-scripts (in a copy of testdata/mcp), then TRUSTNODE_MCP_CLIENTS=that copy
func foreignClients(t *testing.T, l *borrowing) {
	dir := os.Getenv("TRUSTNODE_MCP_CLIENTS")
	if dir == "" {
		t.Skip("TRUSTNODE_MCP_CLIENTS names no folder with the packages of testdata/mcp")
	}
	program, _ := json.Marshal([]string{l.bin, "mcp", "--node", l.base, "--as", "quant"})
	script, err := filepath.Abs(filepath.Join("testdata", "mcp", "read.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Dir = l.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.dir, "TRUSTNODE_MCP_CLIENTS=" + dir, "URL=" + l.base + "/mcp", "TOKEN=" + l.token["quant"], "PERM=" + l.perm, "PROGRAM=" + string(program)}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	var ways []string
	for line := range strings.Lines(string(out)) {
		var r struct {
			Name, Over, Receipt, Text, Denied string
			Tools, Entries                    []string
			IsError                           bool
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		ways = append(ways, r.Name+" "+r.Over)
		if r.IsError || len(r.Tools) != 8 || len(r.Entries) != 2 || !slices.Contains(r.Entries, "Berth 7 is closed for dredging.") || r.Receipt == "" || r.Denied != "invalid" {
			t.Errorf("%s", line)
		}
		if !strings.Contains(r.Text, "\n> Berth 7 is closed for dredging.\n") {
			t.Errorf("no quotation: %s", r.Text)
		}
	}
	if want := []string{"sdk 1 http", "sdk 1 stdio", "client 2 http", "client 2 stdio"}; !slices.Equal(ways, want) {
		t.Errorf("read by %v, want %v", ways, want)
	}
	// Each of them is a row at the lender, with the purpose it gave.
	audit := l.must("loan", "audit", "--data", "acme", l.perm, "--json").out
	for _, w := range []string{"sdk 1 over http", "sdk 1 over stdio", "client 2 over http", "client 2 over stdio"} {
		if !strings.Contains(audit, fmt.Sprintf("read by %s", w)) {
			t.Errorf("no row of the read by %s", w)
		}
	}
}
