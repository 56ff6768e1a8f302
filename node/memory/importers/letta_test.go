package importers

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRealAgentFiles(t *testing.T) {
	for _, c := range []struct {
		file, left string
		blocks     []string // beginnings
	}{
		{"customer_service.af", "1 messages, 7 tools", []string{"\nAct as ANNA", "\nThe human is looking"}},
		{"memgpt_agent_with_convo.af", "1 messages, 3 tools", []string{"\nThe following is a starter", "\nThis is what I know"}},
		{"outreach_workflow_agent.af", "1 messages, 4 tools", nil},
	} {
		k := newKit(t)
		rep := k.read(t, "auto", file(t, "letta/"+c.file))
		var got []string
		for s := range k.held(t) {
			got = append(got, s)
		}
		slices.Sort(got)
		ok := len(got) == len(c.blocks)
		for i := range min(len(got), len(c.blocks)) {
			ok = ok && strings.HasPrefix(got[i], c.blocks[i])
		}
		if !ok || rejects(rep) != "" || lefts(rep) != c.left {
			t.Errorf("%s: %.40q, rejected %q, left %q", c.file, got, rejects(rep), lefts(rep))
		}
	}
}

// Two agent files number their blocks alike.
func TestBlocksOfTwoAgentsAreNotOne(t *testing.T) {
	k := newKit(t)
	for _, agent := range []string{"a", "b"} {
		k.read(t, "letta", `{"agents":[{"name":"`+agent+`","block_ids":["block-0"]}],"blocks":[{"id":"block-0","label":"human","value":"of `+agent+`"}]}`)
	}
	if len(k.held(t)) != 2 {
		t.Errorf("held %v", k.held(t))
	}
}

// No tool, its source, or secret of an agent file reaches the store.
func TestSecretsStayOut(t *testing.T) {
	k := newKit(t)
	k.o.Messages = true
	rep := k.read(t, "letta", file(t, "letta/convo.af"))
	for _, e := range k.held(t) {
		for _, secret := range []string{"sk-", "TOKEN", "API_KEY"} {
			if strings.Contains(string(e.View())+e.Source.ID, secret) {
				t.Errorf("%s is in %s", secret, e.View())
			}
		}
	}
	if s, err := json.Marshal(rep); err != nil || bytes.Contains(s, []byte("sk-")) {
		t.Errorf("report %s, %v", s, err)
	}
}

func TestAgentFilesOfOtherShapes(t *testing.T) {
	for _, c := range []struct{ name, text, want, rejected, left string }{
		{"the older shape", `{"agent_type":"memgpt","core_memory":[{"label":"human","value":"v"}],"messages":[],"name":"a"}`, "v", "", ""},
		{"null lists", `{"agents":[{"name":"a","messages":null,"secrets":null}],"blocks":null,"tools":null}`, "", "", ""},
		{"a list for a block", `{"agents":[],"blocks":[[1],"x",{"label":"l"}]}`, "", "1.1 unknown_shape, 1.2 unknown_shape, 1.3 unknown_shape", ""},
		{"no agent file", `{"a":1}`, "", "1 unknown_shape", ""},
		{"a list", `[1]`, "", "1 unknown_shape", ""},
		{"torn", `{"agents":[],"blocks":[{"label":"l","value":"v"},{"lab`, "v", "1 not_json", ""},
		{"blocks twice", `{"agents":[],"blocks":[{"label":"l","value":"v"}],"blocks":[{"label":"l","value":"w"}]}`, "v", "1 not_json", ""},
		{"a block with a member twice", `{"agents":[],"blocks":[{"label":"l","value":"v","value":"w"}]}`, "", "1.1 not_json", ""},
		{"a torn string around it", `"{\"agents\":[],\"blocks\":[{\"label\":\"l\",\"value\":\"v\"}`, "v", "1 not_json", ""},
		{"half a pair in the string around it", `"{\"agents\":[],\"blocks\":[{\"label\":\"l\",\"value\":\"v\ud800\"}]}"`, "", "1 not_json", ""},
		{"a text of 16 KiB and a byte", `{"agents":[],"blocks":[{"label":"l","value":"` + strings.Repeat("x", 16<<10+1) + `"}]}`, "", "1.1 statement", ""},
		{"an empty file", "", "", "", ""},
	} {
		k := newKit(t)
		rep := k.read(t, "letta", c.text)
		got := ""
		for s := range k.held(t) {
			got += s
		}
		if got != c.want || rejects(rep) != c.rejected || lefts(rep) != c.left {
			t.Errorf("%s: %.40q, rejected %q, left %q", c.name, got, rejects(rep), lefts(rep))
		}
	}
}

func TestUnquote(t *testing.T) {
	for _, s := range []string{"", "plain", `"quoted" \ and / "`, "é 東京 😀 \u2028", "a\nb\tc\x00"} {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(strings.NewReader("\ufeff \n" + string(text)))} {
			if got, err := io.ReadAll(unquote(r)); err != nil || string(got) != s {
				t.Errorf("%q: %q, %v", s, got, err)
			}
		}
	}
	for _, s := range []string{"", "x", `"`, `"a`, `"\`, `"\u12`, `"\q"`, `"\ud83d"`, `"\ud83dx\u00"`, `"\udc00"`} {
		if got, err := io.ReadAll(unquote(strings.NewReader(s))); err == nil {
			t.Errorf("%q: %q without an error", s, got)
		}
	}
	if got, err := io.ReadAll(unquote(strings.NewReader(`"\ud83d\ude00\u00e9"`))); err != nil || string(got) != "😀é" {
		t.Errorf("%q, %v", got, err)
	}
}
