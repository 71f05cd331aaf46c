//go:build unix

package beneath

import "syscall"

// atOnce has a file opened without waiting, and no terminal become this process's.
const atOnce = syscall.O_NONBLOCK | syscall.O_NOCTTY

// noFollow has a link at the end of a path not followed.
const noFollow = syscall.O_NOFOLLOW
