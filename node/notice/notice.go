// Package notice answers: what must the operator know unasked?
//
// A notice is one durable row in the state database: that a loan has grown, that access
// has ended. It is written in the transaction of what it tells, stands in status until the
// operator acknowledges it, and is logged once. It decides nothing, and holds ids and
// numbers, never what was lent.
//
// In state: ntc/<what>/<ref>, a Notice.
package notice

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/store"
)

const key = "ntc/"

// MaxList is the most notices of one list.
const MaxList = 1000

// maxRef is the longest ref that is looked up, in bytes: an id or a DID.
const maxRef = 2048

// Levels of a notice.
const (
	Info = "info"
	Warn = "warn"
)

// Notice is what the operator is told (00, section 9). What and Ref name it: told again,
// it is the same notice with a new time.
type Notice struct {
	At     envelope.Time `json:"at"`
	Detail string        `json:"detail"` // the fact, in one sentence without a full stop
	Hint   string        `json:"hint"`   // what to do about it
	Level  string        `json:"level"`
	Ref    string        `json:"ref"`  // id of what it is about
	What   string        `json:"what"` // stable word, such as "loan_grown"
}

func (n Notice) key() []byte { return []byte(key + n.What + "/" + n.Ref) }

// Put writes a notice in the transaction of what it tells.
func Put(tx store.Tx, n Notice) error { return store.PutRow(tx, n.key(), n) }

// Log says a notice once, after it is durable.
func Log(ctx context.Context, log *slog.Logger, n Notice) {
	level := slog.LevelWarn
	if n.Level == Info {
		level = slog.LevelInfo
	}
	log.Log(ctx, level, "notice", "what", n.What, "ref", n.Ref, "detail", n.Detail)
}

// List gives the notices that nobody acknowledged, newest first, at most MaxList: where more
// wait, the newest of them.
func List(ctx context.Context, db store.DB) ([]Notice, error) {
	var out []Notice
	var bad error
	err := db.View(ctx, func(r store.Reader) error {
		out, bad = []Notice{}, nil
		return r.Scan([]byte(key), nil, func(_, v []byte) bool {
			var n Notice
			if bad = envelope.Unmarshal(v, &n); bad != nil {
				return false
			}
			if out = append(out, n); len(out) == 2*MaxList {
				out = newest(out)
			}
			return true
		})
	})
	return newest(out), errors.Join(err, bad)
}

// newest sorts notices and keeps at most MaxList of them.
func newest(ns []Notice) []Notice {
	slices.SortStableFunc(ns, func(a, b Notice) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.What, b.What), cmp.Compare(a.Ref, b.Ref))
	})
	return ns[:min(len(ns), MaxList)]
}

// Acknowledge takes back the notices about a ref, and returns how many there were. Errors:
// not_found where there is none.
func Acknowledge(ctx context.Context, db store.DB, ref string) (int, error) {
	var whats []string
	var err error
	if len(ref) <= maxRef {
		if whats, err = kinds(ctx, db); err != nil {
			return 0, err
		}
	}
	n := 0
	err = db.Update(ctx, func(tx store.Tx) error {
		n = 0
		for _, what := range whats {
			k := Notice{What: what, Ref: ref}.key()
			_, err := tx.Get(k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if err := tx.Delete(k); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err == nil && n == 0 {
		err = fault.New(fault.NotFound, "notice", "no notice about %.80q waits", ref).WithHint("trustnode status shows what waits")
	}
	return n, err
}

// kinds lists the words for which a notice waits, each found by one step of a scan.
func kinds(ctx context.Context, db store.DB) ([]string, error) {
	var out []string
	err := db.View(ctx, func(r store.Reader) error {
		out = nil
		var after []byte
		for {
			what := ""
			err := r.Scan([]byte(key), after, func(k, _ []byte) bool {
				what, _, _ = strings.Cut(string(k[len(key):]), "/")
				return false
			})
			if err != nil || what == "" {
				return err
			}
			out = append(out, what)
			after = []byte(key + what + "0") // "0" follows "/"
		}
	})
	return out, err
}
