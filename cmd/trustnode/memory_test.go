package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// TestMemoryVerbs walks the verbs of memory on one node that does not run.
func TestMemoryVerbs(t *testing.T) {
	dir := home(t)
	do := func(code int, args ...string) answer {
		t.Helper()
		a := call(append(args, "--data", dir)...)
		if a.code != code {
			t.Fatalf("want exit %d: %s", code, a)
		}
		return a
	}
	says := func(a answer, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(a.out+a.err, w) {
				t.Errorf("no %q in %s", w, a)
			}
		}
	}
	do(exitDone, "agent", "add", "research", "--can", "lend", "--project", "portfolio")
	add := func(args ...string) (e httpapi.Entry) {
		t.Helper()
		do(exitDone, append([]string{"memory", "add", "--agent", "research", "--json"}, args...)...).into(t, &e)
		return e
	}
	old := add("Berth 7 is open", "--tag", "berth:7", "--subject", "Doe, Jane", "--review-after", "2100-01-01T00:00:00Z")
	pic := filepath.Join(t.TempDir(), "pic")
	if err := os.WriteFile(pic, []byte{1, 2, 3}, 0o600); err != nil {
		t.Fatal(err)
	}
	image := add("a photograph", "--content-type", "image/png", "--data-file", pic, "--derived-from", old.ID, "--derived-by", "camera", "--tag", "berth:7")
	if image.Data != "AQID" || image.Trust != "derived" || image.Depth != 1 || len(image.Subjects) != 1 || image.Subjects[0] != old.Subjects[0] {
		t.Errorf("derived: %+v", image)
	}
	fixed := add("Berth 7 is closed", "--tag", "berth:7", "--supersedes", old.ID)

	says(do(exitDone, "memory", "show", old.ID, "--project", "portfolio"), "superseded", "superseded by  "+fixed.ID, "Doe, Jane", "Berth 7 is open")
	says(do(exitDone, "memory", "show", old.ID+"@1", "--project", "portfolio"), `"statement":"Berth 7 is open"`)
	says(do(exitFailed, "memory", "show", old.ID, "--project", "elsewhere"), "no such entry", "hint:")
	says(do(exitDone, "memory", "list", "--project", "portfolio", "--state", "superseded"), "Berth 7 is open", "1 of 1 entry")
	says(do(exitDone, "memory", "list", "--project", "portfolio", "--tag", "berth:7"), "Berth 7 is closed", "a photograph")
	says(do(exitDone, "memory", "list", "--project", "portfolio", "--review"), "0 of 0 entries")
	says(do(exitDone, "memory", "tag", fixed.ID, "--project", "portfolio", "--add", "class:personal", "--subject", "Roe, R."), "1 entry changed")
	says(do(exitDone, "memory", "search", "--as", "research", "--scope", "tag:berth:7", "closed"), "1 of 1 entry", "1 more match of class personal", "loan")
	says(do(exitDone, "memory", "untag", fixed.ID, "--project", "portfolio", "--subject", "Roe, R.", "--tag", "berth:7"), "1 entry changed")
	says(do(exitDone, "memory", "tag", image.ID, "--project", "portfolio", "--quarantine"), "1 entry changed")
	says(do(exitDone, "memory", "stats", "--project", "portfolio"), "1 entry active, 1 in quarantine, 1 superseded", "class personal")
	says(do(exitRefused, "memory", "add", "x", "--agent", "research", "--project", "other"), "another project", "hint:")
	says(do(exitDone, "agent", "move", "research", "--project", "other"), "research works in other")

	says(do(exitUsage, "memory", "forget", "--project", "portfolio"), "what to forget", "hint:")
	says(do(exitUsage, "memory", "forget", "x"), "--project is missing")
	says(do(exitDone, "memory", "forget", "--subject", "Doe, Jane", "--unlink"), "3 entries forgotten in portfolio", "name of the subject is forgotten")
	says(do(exitFailed, "memory", "forget", "--subject", "Doe, Jane"), "no subject of that name", "hint:")
	says(do(exitFailed, "memory", "forget", old.ID, "--project", "portfolio"), "none of these entries", "hint:")
	says(do(exitDone, "memory", "stats", "--project", "portfolio"), "0 entries active, 0 in quarantine, 0 superseded")
}
