//go:build !race

package daemon

// raceEnabled tells: the race detector is off.
const raceEnabled = false
