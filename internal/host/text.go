package host

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// QuoteArguments quotes arguments for a shell, in hints that show a command.
func QuoteArguments(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = surface.Escape(a)
		if a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:@,+") != "" {
			words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(words[i]) + `"`
		}
	}
	return strings.Join(words, " ")
}

// CutLast cuts s around the last sep. Without one it returns s, "" and false.
func CutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
