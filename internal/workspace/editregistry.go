package workspace

import (
	"bytes"
	"fmt"

	"github.com/hallmark-mcp/hallmark/internal/tomltext"
	"github.com/hallmark-mcp/hallmark/project"
	"github.com/hallmark-mcp/hallmark/surface"
)

// AddRegistry returns data, a hallmark.toml that declares no registry, with a table for one, and
// everything else as it was. Of the registry its URL and the key of its log are written, the key
// unless it is empty. Empty data becomes a new file.
func AddRegistry(data []byte, url, logKey string) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte(project.EmptyConfig)
	}
	before, err := project.ParseConfig(data)
	if err != nil {
		return nil, err
	}
	if before.Registry.URL != "" {
		return nil, invalid(project.ConfigFile,
			fmt.Errorf("declares a registry already, %s", surface.Escape(before.Registry.URL)))
	}
	end := tomltext.LineEnd(data)
	text := tomltext.NewlineBefore(data, len(data)) + end + "[registry]" + end + "url = " + tomltext.QuotePlain(url) +
		end
	if logKey != "" {
		text += "log_key = " + tomltext.QuotePlain(logKey) + end
	}
	return applyEdit(data, tomltext.Insert(len(data), text), before, func(c *project.Config) {
		c.Registry.URL, c.Registry.LogKey = url, logKey
	})
}
