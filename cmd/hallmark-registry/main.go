// Hallmark-registry runs a registry that recomputes every hash, and keeps its data: the
// operator's commands. "hallmark registry" hands over to it.
package main

import (
	"os"

	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/cmd/internal/operator"
)

func main() { os.Exit(app.Main(operator.HallmarkRegistry, os.Args[1:])) }
