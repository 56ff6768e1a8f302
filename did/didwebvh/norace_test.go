//go:build !race

package didwebvh_test

const raceDetector = false
