package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFsckSaysWhatPinsName: what pins name is told, pins that are gone are a fault, and
// looking makes no file.
func TestFsckSaysWhatPinsName(t *testing.T) {
	dir := logged(t)
	if a := call("fsck", "--data", dir); a.code != exitDone || !strings.Contains(a.out, "pins        name the own log up to ") {
		t.Error(a)
	}
	pins := filepath.Join(dir, "pins")
	if err := os.Remove(pins); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := call("fsck", "--data", dir); a.code != exitUnverified || !strings.Contains(a.out, "pins: missing\n") {
			t.Error(a)
		}
	}
	if _, err := os.Lstat(pins); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("fsck made %s", pins)
	}
}

// TestFsckRepairIsOfARunningNode: without one nothing is repaired, and nothing is called sound.
func TestFsckRepairIsOfARunningNode(t *testing.T) {
	dir := home(t)
	if a := call("fsck", "--repair", "--data", dir); a.code != exitFailed || a.out != "" || !strings.Contains(a.err, "hint: trustnode run --data "+dir) {
		t.Error(a)
	}
	if a := call("fsck", "--repair", "--rebuild", "--data", dir); a.code != exitUsage || a.out != "" {
		t.Error(a)
	}
}
