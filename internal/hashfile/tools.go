package hashfile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/texts"
	"github.com/hallmark-mcp/hallmark/surface"
)

// addTools offers the tools.
func (s *Server) addTools() {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(bool)}
	writes := func(destructive, idempotent bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{DestructiveHint: &destructive, IdempotentHint: idempotent, OpenWorldHint: new(bool)}
	}
	offer(s, "read_text_file", "Read a text file, or lines of it. The first line of the answer is "+
		"[file_hash=... total_lines=...], then each line is NUMBER:TAG|CONTENT: file_hash and NUMBER:TAG are what "+
		"edit_text_file needs. An answer that stopped early names next_start_line.", reads, s.readTextFile)
	offer(s, "read_multiple_files",
		"Read several text files as read_text_file does. A file that cannot be read does not hinder the others.", reads,
		s.readMultipleFiles)
	offer(s, "search_files",
		"Search text files for a regular expression (RE2 syntax). Hits are grouped by file and printed as "+
			"NUMBER:TAG|CONTENT under the file's path and file_hash, ready for edit_text_file. "+
			"Files that .gitignore or AGENTS.md ignore are left out.", reads, s.searchFiles)
	offer(s, "list_directory", "List a directory: [FILE] or [DIR] and the name, one a line.", reads, s.listDirectory)
	offer(s, "directory_tree",
		"List a directory and what is below it, one path a line, directories ending in a slash. What .gitignore or "+
			"AGENTS.md ignore is left out.", reads, s.directoryTree)
	offer(s, "file_info", "Tell kind, size, time, mode and links of a file or directory.", reads, s.fileInfo)
	offer(s, "list_allowed_directories", "List the directories that may be used.", reads, s.listAllowedDirectories)
	if s.c.ReadOnly {
		return
	}
	offer(s, "edit_text_file",
		"Edit lines of a text file. Give the file_hash that reading gave, and operations anchored at lines as they "+
			"were read: anchor is NUMBER:TAG. All operations refer to the file before the edit and are applied "+
			"together or not at all. content is the new lines, without NUMBER:TAG|, separated by line feeds; \"\" is "+
			"one empty line. To remove lines use delete or delete_range. Into an empty file insert with anchor "+
			"\"0:\". The answer gives the new file_hash and fresh lines around each edit.",
		writes(true, false), s.editTextFile)
	offer(s, "write_text_file",
		"Create a text file, or replace its whole content. For a file that exists file_hash is required and must be "+
			"its own.", writes(true, true), s.writeTextFile)
	offer(s, "create_directory", "Create a directory, and those above it that are missing.", writes(false, true),
		s.createDirectory)
	offer(s, "move_file", "Move or rename a file, directory or link. The destination must not exist.", writes(true, false),
		s.moveFile)
}

// offer adds a tool to the server. Its arguments are the members of an In; a call with others is refused.
func offer[In any](s *Server, name, description string, hints *mcp.ToolAnnotations,
	run func(context.Context, *roots.Scope, In) (*answer, error)) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // of a type in this package
	}
	s.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: schema, Annotations: hints},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in In
			if err := decodeArguments(req.Params.Arguments, &in, schema.Properties, s.c.MaxRequest); err != nil {
				return failureResult(refusal.New(hashline.Invalid,
					"the arguments of %s are not what it takes: %s", name, refusal.Show(err.Error()))), nil
			}
			sc, ask, err := s.roots.Scope(ctx, req)
			if err != nil {
				return failureResult(err), nil
			}
			if ask != nil {
				return &mcp.CallToolResult{InputRequests: ask}, nil
			}
			defer sc.Close()
			a, err := run(ctx, sc, in)
			if err != nil {
				return failureResult(err), nil
			}
			text := a.text
			if a.write != nil {
				text = s.texts.Put(ctx, func(w io.Writer) error {
					if _, err := io.WriteString(w, a.text); err != nil {
						return err
					}
					return a.write(w)
				})
			} else if len(text) > texts.Large {
				text = s.texts.Put(ctx, func(w io.Writer) error { return texts.WriteInPieces(w, a.text) })
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}},
				StructuredContent: a.structure}, nil
		})
}

// decodeArguments decodes the arguments of a call into in, and refuses arguments that programs read in different ways.
// Package encoding/json alone would accept names in other letter case, the last of two members with one name, and
// U+FFFD for bytes that are not UTF-8, which would then be written to a file.
func decodeArguments(arguments json.RawMessage, in any, names map[string]*jsonschema.Schema, limit int) error {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if err := surface.CheckJSON(arguments, surface.Limits{Size: limit}); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return err
	}
	for name := range members {
		if names[name] == nil {
			return fmt.Errorf("there is no argument %q", name)
		}
	}
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	return d.Decode(in)
}
