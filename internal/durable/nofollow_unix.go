//go:build unix

package durable

import "syscall"

// itself has a file opened that is no link, without waiting, and no terminal become this
// process's.
const itself = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY
