//go:build race

package daemon

// raceEnabled tells: the race detector is on, which takes memory and time of its own.
const raceEnabled = true
