package facet

import (
	"path"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxVariableNotes is how many texts are named that need the directory of a plugin.
const maxVariableNotes = 20

// pluginVariable is how texts name the directory of the plugin that they are part of, which its own client fills in.
var pluginVariable = spelling.Form(`\$\{?(?:[A-Z]+_)*PLUGIN_(?:ROOT|DATA)\b\}?|\$\{extensionPath\}`)

// noteVariables names the texts of skills, agents and commands that name files of the plugin by a variable of its
// client. Contents are never rewritten, so that such a path leads nowhere once the text is installed.
func (w *wrapping) noteVariables() error {
	shown, more := 0, 0
	for _, to := range sortedKeys(w.contents) {
		from := w.contents[to]
		if strings.HasPrefix(to, kept) || path.Ext(to) != ".md" {
			continue
		}
		data, err := readSome(w.open, w.files[from].path, maxText)
		if err != nil {
			return err
		}
		switch found := pluginVariable().Find(data); {
		case found == nil:
		case shown < maxVariableNotes:
			shown++
			w.note(from, "names %s, which its own client alone fills in: what it leads to is not where the text "+
				"looks for it", found)
		default:
			more++
		}
	}
	if more > 0 {
		w.note(evidence.Count(more, "more text"), "names files of the plugin in this way")
	}
	return nil
}
