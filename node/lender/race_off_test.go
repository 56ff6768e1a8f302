//go:build !race

package lender

const raceEnabled = false
