// Hashfile-mcp is an MCP server that reads and edits text files by line hashes: hallmark
// hashfile, under the name that its clients' guides use.
package main

import (
	"os"

	"github.com/hallmark-mcp/hallmark/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(cli.Hashfile, os.Args[1:])) }
