//go:build unix && !linux

package foreign

import "syscall"

// inNewSession gives a first process a session of its own.
func inNewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
