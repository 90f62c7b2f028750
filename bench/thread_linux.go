package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor's time that this thread has used.
func threadTime() time.Duration {
	var t unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}
