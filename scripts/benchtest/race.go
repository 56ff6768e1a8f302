//go:build race

package benchtest

// Race reports whether the race detector runs, which slows one kind of work more than
// another: ratios then say nothing.
const Race = true
