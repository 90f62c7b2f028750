//go:build !race

package reqdigest

const raceEnabled = false
