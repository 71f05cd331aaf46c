//go:build unix

package foreign

import (
	"fmt"
	"syscall"
)

// Become replaces this program by the one at path: the process, its terminal and its
// signals stay. argv includes the program's name. It returns only if that fails.
func Become(path string, argv, environ []string) error {
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, argv, environ))
}
