package main

import (
	"testing"

	"trustnode/node/httpapi"
)

func TestReadersWord(t *testing.T) {
	got := readersWord([]httpapi.ReaderInfo{{Borrower: "a"}, {Borrower: "b"}, {Borrower: "a"}})
	if want := "2 agents under 3 loans"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
