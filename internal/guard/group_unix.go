//go:build unix && !linux

package guard

import "syscall"

// processGroup gives the server a group of its own, so that signals reach all of it once.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
