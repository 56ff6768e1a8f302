package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"trustnode/node/httpapi"
	"trustnode/node/store"
)

// told is what a verb printed, with what differs from run to run replaced by words.
func toldText(a answer, dir string) string {
	text := a.out + a.err
	for _, r := range []struct{ what, by string }{
		{regexp.QuoteMeta(dir), "DIR"}, {`did:webvh:Qm[1-9A-HJ-NP-Za-km-z]{44}:`, "did:webvh:SCID:"}, {`zQm[1-9A-HJ-NP-Za-km-z]{44}`, "zQm"},
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?`, "TIME"}, {`process \d+`, "process PID"}, {`\d+ MiB free`, "N MiB free"}, {`, [0-9.]+m?s\n`, ", TIME\n"},
	} {
		text = regexp.MustCompile(r.what).ReplaceAllString(text, r.by)
	}
	return text
}

// flipEntry changes one byte of an entry of the own log of a directory that no node runs on.
func flipEntry(t *testing.T, dir string, index int) {
	t.Helper()
	db, err := store.OpenBadger(filepath.Join(dir, "audit"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var k, v []byte
	err = db.View(t.Context(), func(r store.Reader) error {
		n := 0
		return r.Scan([]byte("en/"), nil, func(key, val []byte) bool {
			k, v = bytes.Clone(key), bytes.Clone(val)
			n++
			return n <= index
		})
	})
	v[len(v)/2] ^= 1
	if err == nil {
		err = db.Update(t.Context(), func(tx store.Tx) error { return tx.Set(k, v) })
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestFailuresAreGolden is 03, section 16.9: the situations of the failure table of section 14
// that one organization can be in, made for real, and what is printed of each. Those of a member
// that forked, of a full disk and of verify stand in tests of their own.
func TestFailuresAreGolden(t *testing.T) {
	dir := home(t)
	earlier, good := filepath.Join(t.TempDir(), "earlier"), filepath.Join(t.TempDir(), "good")
	for i, name := range []string{"a", "b", "c"} {
		if a := call("agent", "add", name, "--can", "lend", "--data", dir); a.code != exitDone {
			t.Fatal(a)
		}
		if i == 0 {
			copyTree(t, dir, earlier)
		}
	}
	copyTree(t, dir, good)
	file := filepath.Join(t.TempDir(), "solo.tnb")
	says := func(situation, verb string, code int, want string) {
		t.Helper()
		a := call(append(strings.Fields(verb), "--data", dir)...)
		got := toldText(a, dir)
		if a.code != code || !strings.Contains(got, want) {
			t.Errorf("%s: %s: exit %d, want %d\ngot\n%s\nwant in it\n%s", situation, verb, a.code, code, got, want)
		}
	}

	copyTree(t, filepath.Join(earlier, "audit"), filepath.Join(dir, "audit"))
	const short = "a log below its pins"
	says(short, "status", exitDone, `            the data are older than what this node has signed: peers bring the missing part, or restore a newer backup
            the own log is recovering: the log took in 1, the outbox begins at 3; decisions wait and nothing is signed
log         2 entries, 2 waiting, witnessed 0 of 0
`)
	says(short, "doctor", exitDone, `warn  the own log is recovering: the log took in 1, the outbox begins at 3
      hint: peers bring what is missing; if none will come: trustnode run --accept-unconfirmed
`)
	says(short, "fsck", exitUnverified, `state: the log took in 1, the outbox begins at 3: the audit database is older than the state
did:webvh:SCID:solo.example: the log has 2 events, pins name 4
logs        1 log, 2 entries: each against its tree, its indexes and the heads kept
heads       1 head, and 1 signature on them verified, cosignatures included
events      not judged anew: trustnode fsck --rebuild checks the signature of each
rows        0 rows against their audit.rows
objects     3 objects against their ids
outbox      1 item waits for the log
charters    0 charters
pins        name the own log up to 4
result      damaged, 2 faults, TIME
trustnode: DIR does not verify: 2 faults
hint: index rows alone are made anew by trustnode fsck --rebuild; entries and trees of logs, and a log that is too short, come back from peers: trustnode run --data DIR; all else from a backup: trustnode restore FILE --data NEWDIR
`)
	says(short, "fsck --rebuild", exitUnverified, "events      not judged anew, since what that rests on is damaged\n")

	copyTree(t, good, dir)
	flipEntry(t, dir, 1)
	const corrupt = "an entry that does not hash to the tree"
	says(corrupt, "status", exitDone, "            the own log is corrupt: 1 does not hash to the pinned tree; decisions wait and nothing is signed\n")
	says(corrupt, "doctor", exitFailed, `fail  the own log is corrupt: nothing is appended or signed, decisions wait
      hint: 1 does not hash to the pinned tree: trustnode fsck --repair, or restore a backup
`)
	for _, verb := range []string{"event show 1", "event prove 1", "event erase 1"} {
		says(corrupt, verb, exitFailed, `trustnode: not available now: a log is not as it was written: 1 does not hash to the pinned tree
hint: 1 does not hash to the pinned tree: trustnode fsck --repair, or restore a backup
`)
	}
	says(corrupt, "event show 2", exitDone, "standing   valid\n") // questions are answered
	says(corrupt, "fsck --repair", exitFailed, `trustnode: not available now: no node runs on DIR, and what is damaged comes from its peers
hint: trustnode run --data DIR, then the same again; without --repair all of it is verified
`)
	says(corrupt, "fsck", exitUnverified, "did:webvh:SCID:solo.example/1: the entry does not hash to its leaf in the tree\n")

	copyTree(t, good, dir)
	if a := call("backup", "--with-keys", "-o", file, "--data", dir); a.code != exitDone {
		t.Fatal(a)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	const restored = "nobody has confirmed our numbers"
	says(restored, "restore "+file, exitDone, `pins        name the own log up to 4; recovering, peers have not confirmed yet that there is none above
result      sound, TIME
keys        the backup is without the keys of the next DID entry: put the update store back, or rotate by the recovery key
next        trustnode run --data DIR --accept-unconfirmed: it is in no federation, so nobody can tell it its last numbers
`)
	says(restored, "doctor", exitDone, `warn  the own log is recovering: restored from a backup of TIME
      hint: peers bring what is missing; if none will come: trustnode run --accept-unconfirmed
`)
	says(restored, "agent add d --can lend", exitDone, "can lend until TIME\n") // it waits in the outbox
	says(restored, "status", exitDone, "log         4 entries, 1 waiting, witnessed 0 of 0\n")
}

// TestWitnessedByMoreThanAsked: more than are asked for are not said as a share.
func TestWitnessedByMoreThanAsked(t *testing.T) {
	for _, c := range []struct {
		have, need int
		long, list string
	}{
		{0, 0, "0 of 0", "witnessed 0/0"}, {0, 1, "0 of 1", "witnessed 0/1"}, {1, 1, "1 of 1", "witnessed 1/1"},
		{2, 1, "by 2, where 1 is asked for", "witnessed by 2"}, {1, 0, "1 of 0", "witnessed 1/0"},
	} {
		if got := haveOf(c.have, c.need); got != c.long {
			t.Errorf("%d of %d: %s", c.have, c.need, got)
		}
		if got := witnessedWord(httpapi.Witnessed{Have: c.have, Need: c.need}); got != c.list {
			t.Errorf("%d of %d: %s", c.have, c.need, got)
		}
	}
}

// TestTheColumnsOfAWatchStay: a longer line moves none of the columns that most lines fit.
func TestTheColumnsOfAWatchStay(t *testing.T) {
	var b bytes.Buffer
	v := &view{s: &streams{out: &b}, names: orgNames{}}
	v.t.widen(watchColumns(false))
	for _, e := range goldenEvents(t).Events {
		if err := v.show("", e); err != nil {
			t.Fatal(err)
		}
	}
	at := -1
	for line := range strings.Lines(b.String()) {
		i := strings.Index(line, "authored")
		if i < 0 {
			i = strings.Index(line, "logged")
		}
		i = len([]rune(line[:i]))
		if at < 0 {
			at = i
		}
		if i != at {
			t.Errorf("the last column is at %d, and was at %d:\n%s", i, at, b.String())
		}
	}
}
