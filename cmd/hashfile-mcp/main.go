// Hashfile-mcp is an MCP server that reads and edits text files by line hashes: hallmark
// hashfile, under the name that its clients' guides use.
package main

import (
	"os"

	"github.com/hallmark-mcp/hallmark/cmd/internal/editor"
	"github.com/hallmark-mcp/hallmark/cmd/internal/program"
)

func main() { os.Exit(program.Run(editor.Command(editor.ProgramName), os.Args[1:], nil)) }
