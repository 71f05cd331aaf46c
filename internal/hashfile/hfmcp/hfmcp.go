// Package hfmcp is the dialect of hashfile-mcp 0.3.4, the server in Rust: its tools, with the arguments, schemas and
// forms of answers that its clients and models know, over the engine.
//
// What is not taken over is what loses or guesses. Operations that meet are refused, several insertions at one place
// keep their order, and line endings, byte order mark and blank lines at the end stay. An empty content is an empty
// line; "delete" deletes. A file is replaced whole or not at all, and only if nobody changed it meanwhile. Paths are
// confined to the allowed directories, and rules are those of this server. Errors are marked as such. The hash of a
// file is ours, of twelve digits where that server has six.
//
// What is more: "0:" is the anchor of an empty file, other spellings of operations are understood, the answer to an
// edit goes on with the new hash and the lines around each change, and a pattern that is a name is left out of a tree
// wherever it is.
package hfmcp

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// Instructions tell a model how the tools are used.
const Instructions = `read_text_file gives file_hash in its first line, and each line as NUMBER:TAG|CONTENT. To edit,
give edit_text_file the file_hash and the anchors NUMBER:TAG of the lines concerned as they were read; never put
NUMBER:TAG| into content. It answers with the new file_hash and fresh lines, so that the next edit of the file needs no
reading. A refusal says what to do next. Paths are absolute, or relative to an allowed directory.`

// dialect is what the tools of this package share.
type dialect struct{ engine *engine.Engine }

// Tools returns the tools, those that write last.
func Tools(e *engine.Engine) []toolset.Tool {
	d := &dialect{e}
	return []toolset.Tool{
		tool("read_text_file", "Read a text file, or lines of it, for editing. First line of the answer: [Metadata: "+
			"total_lines=..., file_hash=...], then each line as NUMBER:TAG|CONTENT.", false, d.readTextFile),
		tool("read_file", "Read a text file as it is, without tags.", false, d.readFile),
		tool("read_multiple_files", "Read several text files, as a JSON array with the content or error of each.", false,
			d.readMultipleFiles),
		tool("list_directory", "List a directory, each entry as [FILE] or [DIR].", false, d.listDirectory),
		tool("directory_tree", "Draw all that is below a directory and that .gitignore does not ignore.", false,
			d.directoryTree),
		tool("edit_text_file", "Edit lines of a text file. All operations refer to the file as it was read and are "+
			"applied together.", true, d.editTextFile),
		tool("write_text_file", "Create a text file, or replace all of its content.", true, d.writeTextFile),
		tool("write_file", "Create a text file, or replace all of its content.", true, d.writeFile),
		tool("create_directory", "Create a directory and those above it.", true, d.createDirectory),
		tool("move_file", "Move or rename a file or directory; replaces nothing.", true, d.moveFile),
	}
}

// tool returns a tool that writes or not. As in the server in Rust it has no annotations.
func tool[In any](
	name, about string, writes bool, run func(context.Context, *roots.Scope, In) (*toolset.Answer, error),
) toolset.Tool {
	return toolset.New(mcp.Tool{Name: name, Description: about, InputSchema: inputOf(reflect.TypeFor[In]())}, writes, run)
}
