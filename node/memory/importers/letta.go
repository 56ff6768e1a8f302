package importers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// letta reads agent files (.af): an object, or a JSON string that holds one.
// Blocks become entries, and with Options.Messages the messages do; a file holds
// only an agent's last messages. Tools, their source and secrets are not even
// looked at. Ids such as "block-2" are the file's own, so an entry is known by
// agent and text.
type letta struct{ o Options }

var _ memory.Importer = letta{}

func (letta) Name() string { return "letta" }

func (letta) Sniff(head []byte) bool {
	s := shapeOf(head)
	return s.has("agents", "blocks") || s.outer["agents"] && s.inner["agent_type"] || s.has("agent_type", "core_memory")
}

func (f letta) Lines(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	br := bufio.NewReaderSize(r, 4096)
	head, err := br.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var in io.Reader = br
	if bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n"), []byte(`"`)) {
		in = unquote(br)
	}
	a := &agentFile{letta: f, emit: emit, held: map[string]bool{}}
	a.w = &walk{pick: a.pick, part: a.part}
	if err := a.w.run(ctx, in, MaxDocument); err != nil {
		return finish(err, emit)
	}
	return a.missing()
}

// agentFile is one file while it is read.
type agentFile struct {
	letta
	emit  func(memory.Line) error
	w     *walk
	n     int
	agent string          // the last name read: of the only agent, as a rule
	held  map[string]bool // ids of the messages that the file holds
	heard []string        // ids of the messages that the agent had in mind
	begun bool            // the file is not empty
	known bool            // and it has what an agent file has
}

func (a *agentFile) pick(path string) step {
	switch path {
	case "":
		a.begun = true
		return descend
	case "agents", "blocks", "core_memory":
		a.known = true
		return descend
	case "agents[]", "messages", "agents[].messages", "agents[].in_context_message_ids",
		"tools", "agents[].tools", "agents[].secrets", "agents[].tool_exec_environment_variables", "tool_exec_environment_variables":
		return descend
	case "agents[].name", "name", "blocks[]", "core_memory[]", "messages[]", "agents[].messages[]", "agents[].in_context_message_ids[]",
		"tools[]", "agents[].tools[]":
		return take
	}
	if strings.HasPrefix(path, "agents[].secrets") || strings.Contains(path, "tool_exec_environment_variables") {
		return take
	}
	return skip
}

func (a *agentFile) part(path string, raw []byte) error {
	switch path {
	case "tools[]", "agents[].tools[]":
		return a.emit(left("tools"))
	case "", "agents", "agents[]", "blocks", "core_memory", "messages", "agents[].messages", "tools", "agents[].tools", "agents[].in_context_message_ids",
		"agents[].secrets", "agents[].tool_exec_environment_variables", "tool_exec_environment_variables":
		return a.scalar(path, raw)
	case "blocks[]", "core_memory[]":
		return a.line(raw, a.block)
	case "messages[]", "agents[].messages[]":
		return a.line(raw, a.message)
	}
	if strings.Contains(path, "secrets") || strings.Contains(path, "environment") {
		return a.emit(left("secrets"))
	}
	v, err := strictjson.Parse(raw, 0)
	s, ok := v.Text()
	switch {
	case err != nil || !ok:
		return a.emit(memory.Line{Number: a.w.at, Reason: RejectShape, Detail: path})
	case path == "name" || path == "agents[].name":
		a.agent = s
	case len(a.heard) < maxNamed:
		a.heard = append(a.heard, s)
	}
	return nil
}

// scalar is what stands where an object or a list should.
func (a *agentFile) scalar(path string, raw []byte) error {
	if string(raw) == "null" && path != "" {
		return nil
	}
	a.known = true // to be no agent file once is enough
	return a.emit(memory.Line{Number: a.w.at, Reason: RejectShape, Detail: path})
}

func (a *agentFile) line(raw []byte, read func(strictjson.Value) memory.Line) error {
	a.n++
	for _, l := range lineOf(raw, func(v strictjson.Value) []memory.Line { return []memory.Line{read(v)} }) {
		l.Number, l.Item = a.w.at, a.n
		if err := a.emit(l); err != nil {
			return err
		}
	}
	return nil
}

func (a *agentFile) block(v strictjson.Value) memory.Line {
	label, value := text(v, "label"), text(v, "value")
	if _, ok := v.Get("value"); !ok || v.Kind() != strictjson.Object {
		return reject(RejectShape, "no value")
	}
	if strings.TrimSpace(value) == "" {
		return left("empty blocks")
	}
	tag, ok := slug("label:", label)
	if !ok {
		return reject(RejectTag, "label %s", label)
	}
	return a.entry(memory.Draft{Statement: statement(value), Tags: []string{tag}, Source: memory.Source{ID: a.source(label)}}, "block", label, value)
}

// source names the agent, where it is known, and what of it this is.
func (a *agentFile) source(what string) string { return strings.TrimPrefix(a.agent+"/"+what, "/") }

func (a *agentFile) entry(d memory.Draft, identity ...string) memory.Line {
	d.Source.Type = memory.SourceImport
	h := sha256.Sum256([]byte(join(append(identity, a.agent)...)))
	return memory.Line{Origin: string(h[:]), Draft: d}
}

func (a *agentFile) message(v strictjson.Value) memory.Line {
	id, role := text(v, "id"), text(v, "role")
	if id != "" && len(a.held) < maxNamed {
		a.held[id] = true
	}
	switch {
	case v.Kind() != strictjson.Object || role == "":
		return reject(RejectShape, "no role")
	case !a.o.Messages:
		return left("messages")
	case role == "system":
		return left("system prompts")
	}
	at, err := when(v, "created_at")
	if err != nil {
		return reject(RejectTime, "%v", err)
	}
	tag, ok := slug("role:", role)
	if !ok {
		return reject(RejectTag, "role %s", role)
	}
	d := memory.Draft{Tags: []string{tag}, Source: memory.Source{ID: a.source(id), ObservedAt: at}}
	said := spoken(v)
	if note := decision(v); note != "" {
		d.Kind = memory.DecisionNote // it says that someone decided, and grants nothing
		said = strings.TrimSpace(note + "\n" + said)
	}
	if said == "" {
		return left("messages without text")
	}
	d.Statement = statement(said)
	return a.entry(d, "message", id, role, at.String(), said)
}

// spoken joins the text parts of a message's content.
func spoken(v strictjson.Value) string {
	content, _ := get(v, "content", "text")
	if s, ok := content.Text(); ok {
		return strings.TrimSpace(s)
	}
	var parts []string
	for _, p := range content.Elements() {
		if s := text(p, "text"); s != "" && text(p, "type") == "text" {
			parts = append(parts, s)
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// decision repeats what a message says of an approval.
func decision(v strictjson.Value) string {
	var notes []string
	note := func(v strictjson.Value, request string) {
		m, ok := get(v, "approve")
		if !ok {
			return
		}
		said := fmt.Sprintf("approve: %t", m.IsTrue())
		if request != "" {
			said += ", request: " + request
		}
		if reason := text(v, "denial_reason", "reason"); reason != "" {
			said += ", reason: " + reason
		}
		notes = append(notes, said)
	}
	note(v, text(v, "approval_request_id"))
	list, _ := get(v, "approvals")
	for _, a := range list.Elements() {
		note(a, text(a, "tool_call_id"))
	}
	return strings.Join(notes, "\n")
}

// missing counts the messages that the agent had in mind and the file has not.
func (a *agentFile) missing() error {
	if a.begun && !a.known {
		return a.emit(memory.Line{Number: a.w.line, Reason: RejectShape, Detail: "no agents, blocks or core_memory"})
	}
	for _, id := range a.heard {
		if a.held[id] {
			continue
		}
		if err := a.emit(left("messages that the file does not hold")); err != nil {
			return err
		}
	}
	return nil
}
