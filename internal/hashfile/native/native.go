// Package native is the dialect of the editing server itself: tools that read files as lines with tags, and edit them
// through these.
//
// What a model reads stands in the text of an answer. The answers to what changes files have a structure besides, which
// holds the same.
package native

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// Limits bound the answer to a read that asks for no number of bytes.
type Limits struct {
	Lines  int
	Bytes  int
	Tokens int // estimated, of lines with their tags
}

// Instructions tell a model how the tools are used.
const Instructions = `Text files are read with each line as NUMBER:TAG|CONTENT. To edit, give file_hash and the
anchors NUMBER:TAG of the lines concerned as they were read; never repeat old text, and never put NUMBER:TAG| into
content. An edit answers with the new file_hash and fresh lines, so that the next edit of the file needs no reading. A
refusal says what to do next, and gives the file_hash and lines for it. Paths are absolute, or relative to an allowed
directory.`

// dialect is what the tools of this package share.
type dialect struct {
	engine *engine.Engine
	limits Limits
}

// Tools returns the tools, those that write last.
func Tools(e *engine.Engine, limits Limits) []toolset.Tool {
	d := &dialect{e, limits}
	return []toolset.Tool{
		read("read_text_file", "Read a text file, or lines of it. First line of the answer: [file_hash=... "+
			"total_lines=...], then each line as NUMBER:TAG|CONTENT. edit_text_file needs file_hash and NUMBER:TAG. "+
			"If next_start_line is given, there is more.", d.readTextFile),
		read("read_multiple_files", "read_text_file for several files, each with its own answer or error.",
			d.readMultipleFiles),
		read("search_files", "Find lines by pattern, printed as NUMBER:TAG|CONTENT under path and file_hash, ready for "+
			"edit_text_file; or, without pattern, files by glob. What .gitignore ignores is left out.", d.searchFiles),
		read("list_directory", "List a directory.", d.listDirectory),
		read("directory_tree", "List all paths below a directory that .gitignore does not ignore.", d.directoryTree),
		read("file_info", "Kind, size, time, mode.", d.fileInfo),
		read("list_allowed_directories", "List the directories that may be used.", d.listAllowedDirectories),
		write("edit_text_file", "Edit lines of a text file. All operations refer to the file as it was read and are "+
			"applied together. To remove lines use delete. Answers with the new file_hash and lines around each edit, which "+
			"are enough for the next one.", d.editTextFile),
		write("write_text_file", "Create a text file, or replace all of its content.", d.writeTextFile),
		write("create_directory", "Create a directory and those above it.", d.createDirectory),
		write("move_file", "Move or rename a file, directory or link; replaces nothing.", d.moveFile),
	}
}

// read returns a tool that changes nothing.
func read[In any](name, about string, run func(context.Context, *roots.Scope, In) (*toolset.Answer, error)) toolset.Tool {
	return toolset.New(mcp.Tool{Name: name, Description: about,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, false, lead(run))
}

// write returns a tool that changes files. That it may destroy is what a client assumes of a tool without annotations.
func write[In any](name, about string, run func(context.Context, *roots.Scope, In) (*toolset.Answer, error)) toolset.Tool {
	return toolset.New(mcp.Tool{Name: name, Description: about}, true, lead(run))
}

// lead returns a tool whose refusals say which of the tools here leads on.
func lead[In any](
	run func(context.Context, *roots.Scope, In) (*toolset.Answer, error),
) func(context.Context, *roots.Scope, In) (*toolset.Answer, error) {
	return func(ctx context.Context, sc *roots.Scope, in In) (*toolset.Answer, error) {
		a, err := run(ctx, sc, in)
		var r *refusal.Refusal
		if errors.As(err, &r) {
			return nil, r.Complete()
		}
		return a, err
	}
}

// notices writes each notice of an answer as a line in brackets.
func notices(text *strings.Builder, all []string) {
	for _, notice := range all {
		text.WriteString("[" + notice + "]\n")
	}
}
