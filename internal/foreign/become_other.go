//go:build !unix

package foreign

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Become runs the program at path in the place of this one, with its standard streams, and
// ends this program with its exit code. argv includes the program's name. It returns only
// if that fails.
func Become(path string, argv, environ []string) error {
	c := exec.Cmd{Path: path, Args: argv, Env: environ, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := c.Run() // Ctrl-C reaches both, and this one waits for the other
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	os.Exit(c.ProcessState.ExitCode())
	return nil
}
