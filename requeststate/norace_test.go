//go:build !race

package requeststate_test

const raceEnabled = false
