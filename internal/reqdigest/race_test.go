//go:build race

package reqdigest

// raceEnabled: under the race detector sync.Pool drops what it gets at random, so allocations cannot be counted.
const raceEnabled = true
