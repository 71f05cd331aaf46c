package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/surface"
)

// settings take precedence over those of the user's configuration.
var settings = []string{
	"protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always",
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.interactive=false",
	"fetch.fsckObjects=true", "gc.auto=0", "maintenance.auto=false", "submodule.recurse=false",
	"fetch.writeCommitGraph=false",
	"uploadpack.packObjectsHook=", "advice.detachedHead=false",
}

// run runs the git command on the repository in dir, one of ours, and returns what it prints. It makes no
// connection: see runRemote.
func (r Repository) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return r.runSet(ctx, dir, nil, nil, args...)
}

// runWith is run with bytes on standard input.
func (r Repository) runWith(ctx context.Context, dir string, stdin io.Reader, args ...string) ([]byte, error) {
	return r.runSet(ctx, dir, stdin, nil, args...)
}

// runRemote is run for a command that connects to the repository's host.
func (r Repository) runRemote(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ssh, err := r.sshCommand(ctx, dir)
	if err != nil {
		return nil, err
	}
	return r.runSet(ctx, dir, nil, []string{"GIT_SSH_COMMAND=" + ssh}, args...)
}

// runSet is run with bytes on standard input and more variables of the environment.
func (r Repository) runSet(ctx context.Context, dir string, stdin io.Reader, set []string,
	args ...string) ([]byte, error) {
	stall := int(stallTime / time.Second)
	all := []string{"--git-dir=" + dir}
	for _, s := range append(settings, "http.lowSpeedLimit=1", "http.lowSpeedTime="+strconv.Itoa(stall)) {
		all = append(all, "-c", s)
	}
	return call(ctx, r.name(), args[0], foreign.Call{
		Args: append(all, args...), Dir: dir, Checkout: r.Checkout, Environ: r.Environ, Time: r.time(), Stdin: stdin,
		Set: append(set, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir)),
	})
}

// call starts git as c says, with what all runs of git have in common, and returns what it prints. An error names the
// repository and the command of git.
func call(ctx context.Context, repository, command string, c foreign.Call) ([]byte, error) {
	bin, err := c.Checkout.Find(foreign.Variable(c.Environ, "PATH"), "git")
	if evidence.ClassOf(err) == evidence.Refused {
		return nil, err
	}
	if err != nil {
		return nil, &wire.Error{Ref: repository, Cause: evidence.Unsupported, Err: errors.New("git is not installed")}
	}
	c.Tool, c.Path, c.Output = foreign.Git, bin, cmp.Or(c.Output, maxOutput)
	c.Set = append([]string{
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C",
	}, c.Set...)
	out, err := foreign.Run(ctx, c)
	if err == nil {
		return out.Stdout, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text := strings.ReplaceAll(strings.TrimSpace(string(out.Messages)), "\n", "; ")
	return nil, &wire.Error{Ref: repository, Cause: evidence.Unreachable,
		Err: fmt.Errorf("git %s: %w: %s", command, err, surface.Escape(artifact.RedactURLs(text)))}
}
