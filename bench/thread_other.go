//go:build !linux

package main

import "time"

var start = time.Now()

// threadTime is the clock's, where a thread's own time is not to be had.
func threadTime() time.Duration { return time.Since(start) }
