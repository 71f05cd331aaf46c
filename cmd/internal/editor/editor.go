// Package editor is the command of the editing server, which is a program of its own and
// a command of hallmark.
package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/hashfile"
)

// ProgramName is the name of the command where it is a program of its own.
const ProgramName = "hashfile-mcp"

const help = `Be an MCP server on standard input and output that reads text files line by line as
NUMBER:TAG|CONTENT and edits them through these anchors: an edit names the hash of the
file that was read, so that it never lands on a file that has changed.

Only directories of --root are used; the client's roots can narrow them. Without --root
the client's roots are used, and if it has none, every call is refused. The front matter
of AGENTS.md files (forbidden, read_only, ignore) is obeyed.`

// Command is the editing server, under the name of its program or command.
func Command(name string) *cobra.Command {
	var c hashfile.Config
	cmd := &cobra.Command{
		Use:     name + " [--root DIR]...",
		Short:   "Serve files to a model, read and edited by line hashes",
		Long:    help,
		Example: "--root ~/src/project\n--root docs --root src --read-only",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return program.Usage(cmd, fmt.Errorf("a directory is given with --root: %s --root %s",
					cmd.CommandPath(), strconv.QuoteToASCII(args[0])))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd, c)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&c.Roots, "root", nil, "`directory` that may be read and written; may be given several times")
	f.BoolVar(&c.ReadOnly, "read-only", false, "offer no tool that writes")
	f.IntVar(&c.TagWidth, "tag-width", 2, "hex `digits` of a line's tag: 2, 3 or 4")
	f.BoolVar(&c.ExactAnchors, "exact-anchors", false,
		"refuse an anchor of which the line number is wrong, also if only one line has its tag")
	f.IntVar(&c.MaxMove, "max-relocation", 0,
		"most `lines` that an anchor is moved to the only line with its tag (0: any distance)")
	f.BoolVar(&c.HardLinks, "hard-links", false, "write files with several names, in place and not atomically")
	f.Int64Var(&c.MaxFile, "max-file", hashfile.DefaultMaxFile, "largest file, in `bytes`")
	f.IntVar(&c.MaxRequest, "max-request", hashfile.DefaultMaxRequest, "largest message of the client, in `bytes`")
	f.IntVar(&c.ReadTokens, "read-tokens", hashfile.DefaultReadTokens,
		"most `tokens`, about, that a read gives unless it asks for more")
	return cmd
}

// serve serves until the client is gone.
func serve(cmd *cobra.Command, c hashfile.Config) error {
	if !c.ReadOnly {
		var err error
		if c.Locks, err = findLocks(os.Getenv); err != nil {
			return err
		}
	}
	c.Version = program.Release()
	c.Logger = slog.New(program.Warnings{Name: cmd.Root().Name(), Stderr: cmd.ErrOrStderr()})
	s, err := hashfile.New(c)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "make the directory, or name one that exists with --root"
		}
		return evidence.Errorf(evidence.Validation, "hashfile", hint, err)
	}
	defer s.Close()
	signal.Ignore(syscall.SIGPIPE) // a client that is gone ends no write to a file halfway
	program.ExplainWait(cmd.Root().Name(), cmd.Name())
	if err := s.Run(cmd.Context(), os.Stdin, os.Stdout); err != nil {
		return evidence.Errorf(evidence.Operation, "hashfile", "", err)
	}
	return nil
}
