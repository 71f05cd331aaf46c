//go:build unix

package durable

import "syscall"

// NoWait is the flag that opens a file without waiting: the opening of a pipe would wait for a
// writer, and that of a terminal could make it this process's.
const NoWait = syscall.O_NONBLOCK | syscall.O_NOCTTY

// NoFollow is the flag that refuses a link at the end of a path. [os.Root] needs no flag for it.
const NoFollow = syscall.O_NOFOLLOW
