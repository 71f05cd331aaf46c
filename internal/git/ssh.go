package git

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
)

// sshCommand returns the command line with which git starts ssh, in git's own order: of the environment,
// of core.sshCommand in the user's configuration, or the program that GIT_SSH names. A program of the
// checkout is refused. OpenSSH is told to ask nothing and to notice a silent server; what else the user
// chose may not know these options, and has no terminal to ask on either.
func (r Repository) sshCommand(ctx context.Context, dir string) (string, error) {
	command := foreign.Variable(r.Environ, "GIT_SSH_COMMAND")
	if command == "" {
		// The repository in dir is ours, so that only the user's and the system's configuration can say it.
		out, err := r.run(ctx, dir, "config", "--default", "", "--get", "core.sshCommand")
		if err != nil {
			return "", err
		}
		command = strings.TrimSpace(string(out))
	}
	if program := foreign.Variable(r.Environ, "GIT_SSH"); command == "" && program != "" {
		command = "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	}
	command = cmp.Or(command, "ssh")
	program := programOf(command, foreign.Variable(r.Environ, "HOME"))
	if filepath.IsAbs(program) && r.Checkout.Holds(program) {
		return "", evidence.Errorf(evidence.Refused, program,
			"name a program outside of the project in GIT_SSH_COMMAND, or in core.sshCommand of your git configuration",
			errors.New("is a program of the project, which is not started before somebody agreed"))
	}
	if base := strings.ToLower(filepath.Base(filepath.ToSlash(program))); base != "ssh" && base != "ssh.exe" {
		return command, nil
	}
	stall := strconv.Itoa(int(stallTime / time.Second))
	return command + " -oBatchMode=yes -oConnectTimeout=" + stall +
		" -oServerAliveInterval=15 -oServerAliveCountMax=4", nil
}

// programOf returns the program of a command line that a shell reads, as far as that is plain: its first
// word, without quotes, with the home directory for a leading "~/".
func programOf(command, home string) string {
	command = strings.TrimSpace(command)
	word, _, _ := strings.Cut(command, " ")
	for _, quote := range []string{"'", `"`} {
		if rest, ok := strings.CutPrefix(command, quote); ok {
			word, _, _ = strings.Cut(rest, quote)
		}
	}
	if rest, ok := strings.CutPrefix(word, "~/"); ok && home != "" {
		word = filepath.Join(home, rest)
	}
	return word
}
