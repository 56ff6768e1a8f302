package log

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func TestPathsAreThoseOfEachLeaf(t *testing.T) {
	for size := range 40 {
		leaves := make([]tlog.Hash, size)
		for i := range leaves {
			leaves[i] = tlog.RecordHash([]byte(fmt.Sprint(i)))
		}
		tree := NewPaths(leaves)
		for i := range leaves {
			got, err := tree.Path(uint64(i))
			want, werr := PathOf(leaves, uint64(i))
			if err != nil || werr != nil || !slices.Equal(got, want) {
				t.Errorf("%d of %d: got %v, %v, want %v, %v", i, size, got, err, want, werr)
			}
		}
		if _, err := tree.Path(uint64(size)); err == nil {
			t.Errorf("a leaf past the end of %d has a path", size)
		}
	}
}
