package config

import (
	"fmt"
	"slices"
	"strings"

	"trustnode/federation/lending"
)

// maxDiscoverMin keeps a discovery useful: a tag on more entries than this is told.
const maxDiscoverMin = 100

// checkLending holds [lending] to what it may say, and sets what it leaves out.
func (w *wire) checkLending() error {
	l := &w.Lending
	if l.DiscoverMin == 0 {
		l.DiscoverMin = DefaultDiscover
	}
	if l.DiscoverMin < 1 || l.DiscoverMin > maxDiscoverMin {
		return fmt.Errorf("lending.discover_min is %d, allowed are 1..%d", l.DiscoverMin, maxDiscoverMin)
	}
	for _, code := range l.RefuseHygiene {
		if !slices.Contains(lending.LintCodes(), code) {
			return fmt.Errorf("lending.refuse_hygiene names %q, allowed are %s", code, strings.Join(lending.LintCodes(), ", "))
		}
	}
	for _, p := range l.HiddenTags {
		if err := lending.CheckTag(p); err != nil {
			return fmt.Errorf("lending.hidden_tags: %v", err)
		}
	}
	return nil
}
