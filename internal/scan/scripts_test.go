//go:build unix

package scan_test

import (
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/script"
)

func TestScript(t *testing.T) { script.Run(t) }
