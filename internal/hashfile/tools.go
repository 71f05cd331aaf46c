package hashfile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/stdio"
)

// instructions tell a model how the tools are used.
const instructions = `Text files are read with each line as NUMBER:TAG|CONTENT. To edit, give file_hash and the
anchors NUMBER:TAG of the lines concerned as they were read; never repeat old text, and never put NUMBER:TAG| into
content. An edit answers with the new file_hash and fresh lines, so that the next edit of the file needs no reading. A
refusal says what to do next, and gives the file_hash and lines for it. Paths are absolute, or relative to an allowed
directory.`

// tools returns the tools, those that write last.
func (s *Server) tools() []tool {
	return []tool{
		newTool("read_text_file", "Read a text file, or lines of it: [file_hash=... total_lines=...], then each "+
			"line as NUMBER:TAG|CONTENT, which edit_text_file needs. next_start_line says that there is more.", false,
			s.readTextFile),
		newTool("read_multiple_files", "read_text_file for several files.", false, s.readMultipleFiles),
		newTool("search_files", "Find lines by pattern, printed as NUMBER:TAG|CONTENT under path and file_hash, ready "+
			"for edit_text_file; or, without pattern, files by glob. What .gitignore ignores is left out.",
			false, s.searchFiles),
		newTool("list_directory", "List a directory; of a file: size, time, mode.", false, s.listDirectory),
		newTool("edit_text_file", "Edit lines of a text file. All operations refer to the file as it was read and are "+
			"applied together. Answers with the new file_hash and lines around each edit, enough for the next one.",
			true, s.editTextFile),
		newTool("write_text_file", "Create a text file, or replace all of it.", true, s.writeTextFile),
		newTool("create_directory", "Create a directory and those above it.", true, s.createDirectory),
		newTool("move_file", "Move or rename a file, directory or link; replaces nothing.", true, s.moveFile),
	}
}

// offer returns the tools that the server offers, by name.
func (s *Server) offer() map[string]tool {
	offered := map[string]tool{}
	for _, t := range s.tools() {
		if !t.Writes || !s.c.ReadOnly {
			offered[t.Name] = t
		}
	}
	return offered
}

func (s *Server) names() []string { return slices.Sorted(maps.Keys(s.offered)) }

// refuseUnknown answers the call of a tool that is not there with the names of those that are.
func (s *Server) refuseUnknown(name string) string {
	if name == "" {
		return "the call names no tool; the tools are " + strings.Join(s.names(), ", ")
	}
	if slices.ContainsFunc(s.tools(), func(t tool) bool { return t.Name == name }) {
		return fmt.Sprintf("%s is not offered, because the server was started with --read-only; the tools are %s",
			place.Show(name), strings.Join(s.names(), ", "))
	}
	return fmt.Sprintf("%s is none of the tools, which are %s", place.Show(name), strings.Join(s.names(), ", "))
}

// call answers a call of a tool: with a result, a refusal, or the question for the client's roots.
func (s *Server) call(ctx context.Context, c *stdio.Call) *stdio.Result {
	sc, ask, err := s.roots.Scope(ctx, c)
	if err != nil {
		return refuseCall(err)
	}
	if ask != nil {
		return &stdio.Result{Ask: ask}
	}
	defer sc.Close()
	result, err := s.offered[c.Tool].call(ctx, sc, c.Arguments, s.c.MaxRequest)
	if err != nil {
		return refuseCall(err)
	}
	return result
}

// notices writes each notice of an answer as a line in brackets.
func notices(text *strings.Builder, all []string) {
	for _, notice := range all {
		text.WriteString("[" + notice + "]\n")
	}
}
