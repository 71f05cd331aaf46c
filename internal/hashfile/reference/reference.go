// Package reference is the dialect of the reference filesystem server (@modelcontextprotocol/server-filesystem): its
// tools, with the arguments, schemas and forms of answers that its clients and models know, over the engine.
//
// What is not taken over is what loses or guesses: an oldText that occurs several times is refused, where that server
// takes the first; line endings stay, where it writes line feeds alone; indentation that does not follow from oldText
// is refused, where it makes spaces of tabs; what is no text is refused, where it reads and writes replacement
// characters; a link is listed without the size of a target outside; "tail" counts lines, and not the nothing behind
// the last line feed. Rules of AGENTS.md and .gitignore hold, and .git is not walked.
//
// Errors have no structure: the schemas of outputs are those of successes.
package reference

import (
	"context"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/toolset"
)

// Instructions tell a model how the tools are used.
const Instructions = `To change a file, read it and call edit_file with all changes in order: oldText as it stands in
the file, with enough lines around it that it occurs once. write_file replaces a whole file. A refusal says what to do
next. Paths are absolute, or relative to an allowed directory.`

// dialect is what the tools of this package share.
type dialect struct{ engine *engine.Engine }

// Tools returns the tools in the order of the reference server.
func Tools(e *engine.Engine) []toolset.Tool {
	d := &dialect{e}
	return []toolset.Tool{
		read("read_file", "Read File (Deprecated)", "Read a text file. Deprecated: use read_text_file.", d.readTextFile),
		read("read_text_file", "Read Text File", "Read a text file, or with head or tail its first or last lines.",
			d.readTextFile),
		readMedia("Read a file of any kind in base64, with its MIME type: as image, audio or resource.", d.readMediaFile),
		read("read_multiple_files", "Read Multiple Files", "Read several text files, each with its own content or error.",
			d.readMultipleFiles),
		write("write_file", "Write File", "Create a text file, or replace all of its content.", true, true, d.writeFile),
		write("edit_file", "Edit File", "Replace texts in a file, in order and all or none. Each oldText must occur "+
			"exactly once; white space around lines may differ. Answers with a diff.", true, false, d.editFile),
		write("create_directory", "Create Directory", "Create a directory and those above it; one that exists is fine.",
			false, true, d.createDirectory),
		read("list_directory", "List Directory", "List a directory, each entry as [FILE] or [DIR].", d.listDirectory),
		read("list_directory_with_sizes", "List Directory with Sizes", "List a directory with the sizes of files.",
			d.listDirectoryWithSizes),
		read("directory_tree", "Directory Tree", "All that is below a directory, as JSON: name, type (file or "+
			"directory) and, of directories, children. What .gitignore ignores is left out.", d.directoryTree),
		write("move_file", "Move File", "Move or rename a file or directory; replaces nothing.", true, false, d.moveFile),
		read("search_files", "Search Files", "Find files and directories below path by a glob of their paths from there: "+
			"*.go in it, **/*.go at any depth. What .gitignore ignores is left out.", d.searchFiles),
		read("get_file_info", "Get File Info", "Size, times, kind and permissions of a file or directory.", d.getFileInfo),
		read("list_allowed_directories", "List Allowed Directories", "List the directories that may be used.",
			d.listAllowedDirectories),
	}
}

// run does what a tool does.
type run[In any] func(context.Context, *roots.Scope, In) (*toolset.Answer, error)

// read returns a tool that changes nothing.
func read[In any](name, title, about string, run run[In]) toolset.Tool {
	return toolset.New(mcp.Tool{Name: name, Title: title, Description: about, OutputSchema: textOutput(),
		InputSchema: inputOf(reflect.TypeFor[In]()),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}}, false, run)
}

// readMedia returns the tool whose answers are no text.
func readMedia(about string, run run[pathArguments]) toolset.Tool {
	t := read("read_media_file", "Read Media File", about, run)
	t.OutputSchema = mediaOutput()
	return t
}

// write returns a tool that changes files, and may destroy what they held, and may be called again without effect.
func write[In any](name, title, about string, destroys, idempotent bool, run run[In]) toolset.Tool {
	return toolset.New(mcp.Tool{Name: name, Title: title, Description: about, OutputSchema: textOutput(),
		InputSchema: inputOf(reflect.TypeFor[In]()),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destroys, IdempotentHint: idempotent,
			OpenWorldHint: new(bool)}}, true, run)
}

// answer returns a text as the text and the structure of an answer.
func answer(text string) *toolset.Answer { return &toolset.Answer{Text: text, Repeat: true} }
