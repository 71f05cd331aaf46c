// Mcp-publisher hashes the packages of an MCP server and publishes it: the author's
// commands of hallmark under the names that the registry's guide uses.
package main

import (
	"os"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/author"
)

func main() { os.Exit(app.Main(author.Publisher, os.Args[1:])) }
