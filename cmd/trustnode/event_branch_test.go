package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

func TestASecondBranchIsGolden(t *testing.T) {
	var b httpapi.LogBranch
	err := json.Unmarshal([]byte(`{"org":"did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example","from":4,"to":7,"next":6,"events":[
{"event":{"at":"2026-12-15T09:00:05Z","data":{},"kid":"k","refs":[],"type":"agent.issued"},"id":"zQmbQuHr9YkdJrEPfziDL3Mfi3KCMiZePaKsEZks8pmzNNe","index":4,"words":"agent \"\u001b[31mbilling\", z6MkjJ6a…, serial 1"},
{"id":"zQmSoaAAQ3FvrBX1Tbc23vnVydMxAEHDq8Zo5XNQKkGtLsZ","index":5,"words":"not an event"}]}`), &b)
	if err != nil {
		t.Fatal(err)
	}
	const want = `zQmbQuHr9YkdJrEPfziDL3Mfi3KCMiZePaKsEZks8pmzNNe  2026-12-15 09:00:05  acme.example 4  agent.issued  agent "[31mbilling", z6MkjJ6a…, serial 1  other branch, not judged
zQmSoaAAQ3FvrBX1Tbc23vnVydMxAEHDq8Zo5XNQKkGtLsZ                       acme.example 5                not an event                              other branch, not judged
more  the same with --cursor 6, or --all
kept  3 entries of a second branch of acme.example, from 4 on: below that both are one; none of them counts here
`
	var out bytes.Buffer
	if printOtherBranch(&out, b, true); out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestASecondBranchIsRefusedWhereThereIsNone(t *testing.T) {
	dir := logged(t)
	for args, want := range map[string]struct {
		code int
		err  string
	}{
		"--branch":                             {exitUsage, "--org is missing"},
		"--branch --org self --standing valid": {exitUsage, "what is on a second branch is not judged"},
		"--branch --org self --cursor x":       {exitUsage, "the index where a page ended"},
		"--branch --org self":                  {exitFailed, "no second branch of the log of did:webvh:"},
	} {
		a := call(append([]string{"event", "list", "--data", dir}, strings.Fields(args)...)...)
		if a.code != want.code || !strings.Contains(a.err, want.err) || !strings.Contains(a.err, "hint: ") || a.out != "" {
			t.Errorf("%s: want %d and %q, got %s", args, want.code, want.err, a)
		}
	}
}
