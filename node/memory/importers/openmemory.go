package importers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// openMemory reads a backup of OpenMemory: the zip, or one of the two files in
// it. memories.json has the user, names of apps and categories, and memories
// that refer to both by id; memories.jsonl.gz has the same memories again, with
// names. The first is read where both are there. Access rules and the history of
// states grant nothing and are counted as left out.
type openMemory struct{ o Options }

var _ memory.Importer = openMemory{}

func (openMemory) Name() string { return "openmemory" }

func (openMemory) Sniff(head []byte) bool {
	s := shapeOf(head)
	return isZip(head) || s.has("id", "content", "state") || s.outer["export_meta"] || s.outer["memories"] && s.outer["access_controls"]
}

func (f openMemory) Lines(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	br := bufio.NewReaderSize(r, MaxLine+1)
	head, err := br.Peek(len(zipMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isZip(head) {
		return f.zip(ctx, br, emit)
	}
	if isLined(br) {
		return f.rows(ctx, br, emit)
	}
	return f.document(ctx, br, MaxDocument, emit)
}

// rows reads memories.jsonl.
func (f openMemory) rows(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	b := newBackup(f.o, emit)
	return finish(documents(ctx, r, func(v strictjson.Value) []memory.Line {
		if v.Kind() != strictjson.Object {
			return []memory.Line{reject(RejectShape, "a %v", v.Kind())}
		}
		return []memory.Line{b.memory(v)}
	}, emit), emit)
}

// document reads memories.json.
func (f openMemory) document(ctx context.Context, r io.Reader, room int64, emit func(memory.Line) error) error {
	b := newBackup(f.o, emit)
	b.w = &walk{pick: b.pick, part: b.part}
	if err := b.w.run(ctx, r, room); err != nil {
		return finish(err, emit)
	}
	if b.begun && !b.listed {
		return emit(memory.Line{Number: b.w.line, Reason: RejectShape, Detail: "no list memories; a custom export cannot be told from anything else"})
	}
	return nil
}

// backup is one memories.json, or memories.jsonl, while it is read.
type backup struct {
	o                Options
	emit             func(memory.Line) error
	w                *walk
	n                int
	begun, listed    bool   // the file is not empty, and has a list of memories
	userRow, user    string // the backup's only user: id of the row, and name
	apps, categories map[string]string
}

func newBackup(o Options, emit func(memory.Line) error) *backup {
	return &backup{o: o, emit: emit, apps: map[string]string{}, categories: map[string]string{}}
}

func (b *backup) pick(path string) step {
	switch path {
	case "":
		b.begun = true
		return descend
	case "memories", "items":
		b.listed = true
		return descend
	case "apps", "categories", "access_controls", "status_history":
		return descend
	case "user", "apps[]", "categories[]", "memories[]", "items[]", "access_controls[]", "status_history[]", "[]":
		b.listed = b.listed || path == "[]"
		return take
	}
	return skip
}

func (b *backup) part(path string, raw []byte) error {
	switch path {
	case "memories[]", "items[]", "[]":
		return b.each(raw, b.memory)
	case "access_controls[]":
		return b.emit(left("access rules"))
	case "status_history[]":
		return b.emit(left("history of states"))
	case "user", "apps[]", "categories[]":
		return b.each(raw, func(v strictjson.Value) memory.Line { return b.name(path, v) })
	}
	b.listed = true // to be no backup once is enough
	return b.emit(memory.Line{Number: b.w.at, Reason: RejectShape, Detail: path})
}

func (b *backup) each(raw []byte, read func(strictjson.Value) memory.Line) error {
	for _, l := range lineOf(raw, func(v strictjson.Value) []memory.Line {
		if v.Kind() != strictjson.Object {
			return []memory.Line{reject(RejectShape, "a %v", v.Kind())}
		}
		return []memory.Line{read(v)}
	}) {
		if b.n++; l.Origin == "" && l.Reason == "" && l.Left == "" { // a name
			b.n--
			continue
		}
		l.Number, l.Item = b.w.at, b.n
		if err := b.emit(l); err != nil {
			return err
		}
	}
	return nil
}

// name notes the user, an app or a category.
func (b *backup) name(path string, v strictjson.Value) memory.Line {
	id, name := text(v, "id"), text(v, "name")
	names := b.apps
	switch path {
	case "user":
		b.userRow, b.user = id, text(v, "user_id", "userId")
		return memory.Line{}
	case "categories[]":
		names = b.categories
	}
	if len(names) == maxNamed || len(name) > memory.MaxSourceID {
		return reject(RejectShape, "%s: one too many, or its name is too long", path)
	}
	names[id] = name
	return memory.Line{}
}

func (b *backup) memory(v strictjson.Value) memory.Line {
	id, said := text(v, "id"), text(v, "content")
	if _, ok := get(v, "content"); !ok || id == "" {
		return reject(RejectShape, "no id and content; a custom export cannot be told from anything else")
	}
	if out := b.ended(v); out != "" {
		return left(out)
	}
	switch state := text(v, "state"); state {
	case "", "active", "paused":
	default:
		return reject(RejectState, "%s", state)
	}
	at, err := when(v, "created_at", "createdAt")
	if err != nil {
		return reject(RejectTime, "%v", err)
	}
	categories, bad := b.named(v)
	if bad.Reason != "" {
		return bad
	}
	return labelled(remembered{id: id, app: b.app(v), user: b.owner(v), said: said, at: at}, categories)
}

// ended says in which way a memory is one no more.
func (b *backup) ended(v strictjson.Value) string {
	_, deleted := get(v, "deleted_at", "deletedAt")
	_, archived := get(v, "archived_at", "archivedAt")
	switch state := text(v, "state"); {
	case state == "deleted" || deleted && state != "active":
		return "deleted"
	case state == "archived" || archived && state != "active":
		return "archived"
	}
	return ""
}

// named returns a memory's categories, which it has by name or by id.
func (b *backup) named(v strictjson.Value) ([]string, memory.Line) {
	names, ok := texts(v, "categories")
	ids, ok2 := texts(v, "category_ids", "categoryIds")
	if !ok || !ok2 || len(names)+len(ids) > maxParts {
		return nil, reject(RejectShape, "categories")
	}
	for _, id := range ids {
		name, known := b.categories[id]
		if !known {
			return nil, reject(RejectCategory, "%s is not among the file's categories", id)
		}
		names = append(names, name)
	}
	return names, memory.Line{}
}

// app is the name of the app that a memory is from, or its id.
func (b *backup) app(v strictjson.Value) string {
	if name := text(v, "app", "app_name", "appName"); name != "" {
		return name
	}
	id := text(v, "app_id", "appId")
	if name := b.apps[id]; name != "" {
		return name
	}
	return id
}

// owner is the user as others call them, where the file says it.
func (b *backup) owner(v strictjson.Value) string {
	if row := text(v, "user_id", "userId"); row != "" && row != b.userRow {
		return row
	}
	return b.user
}

var zipMagic = []byte("PK\x03\x04")

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, zipMagic) || strings.HasPrefix(string(head), "PK\x05\x06") // an empty one
}
