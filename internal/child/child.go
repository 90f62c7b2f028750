// Package child ties a server that a test starts to the life of the test's process, so that none is left behind when that is
// killed.
package child

import "os/exec"

// Bind makes cmd, not yet started, die with this process where the system can do that (Linux). Elsewhere the test's own
// cleaning up has to do.
func Bind(cmd *exec.Cmd) { bind(cmd) }
