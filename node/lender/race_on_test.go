//go:build race

package lender

const raceEnabled = true
