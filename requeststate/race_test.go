//go:build race

package requeststate_test

const raceEnabled = true
