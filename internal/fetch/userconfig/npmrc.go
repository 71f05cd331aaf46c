package userconfig

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxNPMRC is the largest .npmrc that is read, in bytes.
const maxNPMRC = 1 << 20

// npmSetting is a line of an .npmrc file as it is written, with its variables.
type npmSetting struct {
	key, value string
	bare       bool // without "="
}

// parseNPMSettings reads the text of an .npmrc file as npm does: lines "key = value" in
// the ini dialect of npm, "#" and ";" begin comments and values may be quoted. A key
// without "=" is "true", and what follows a [section] is no setting. As for npm, nothing is an
// error.
func parseNPMSettings(text string) []npmSetting {
	var settings []npmSetting
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		indented := line[0] == ' ' || line[0] == '\t'
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if !indented && line[0] == '[' && strings.IndexByte(line, ']') == len(line)-1 {
			break // a section's keys are not settings, and a section has no end
		}
		key, value, ok := strings.Cut(line, "=")
		if ok {
			value = parseINIValue(value)
		} else {
			value = "true"
		}
		if key = parseINIValue(key); len(key) > 2 {
			key = strings.TrimSuffix(key, "[]")
		}
		if key == "" {
			continue
		}
		settings = append(settings, npmSetting{key, value, !ok})
	}
	return settings
}

// parseNPMRC returns the settings of a file of the user's. ${NAME} in keys and values stands
// for a variable of the environment; the last of several equal keys counts.
func parseNPMRC(text string, env func(string) string) map[string]string {
	settings := make(map[string]string)
	for _, s := range parseNPMSettings(text) {
		settings[expand(s.key, env)] = strings.TrimSpace(expand(s.value, env))
	}
	return settings
}

// quoteNPM returns a value in a form from which npm reads exactly that value, and looks up no
// variable.
func quoteNPM(value string) string {
	escaped := beforeVariable().ReplaceAllString(value, `$1$1\$${`)
	quoted, err := json.Marshal(escaped)
	if err != nil {
		panic(err) // a string
	}
	return string(quoted)
}

// beforeVariable matches the beginning of a variable with the backslashes before it.
var beforeVariable = spelling.Form(`(\\*)\$\{`)

// sortedKeys returns the keys of m in byte order.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// parseINIValue returns a key or value without its quotes, its escapes and the comment after
// it.
func parseINIValue(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if first, last := s[0], s[len(s)-1]; first == last && (first == '"' || first == '\'') {
		if first == '\'' {
			s = strings.TrimSuffix(s[1:], "'")
		}
		var text string
		if json.Unmarshal([]byte(s), &text) == nil {
			return text
		}
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ';' || c == '#':
			return strings.TrimSpace(b.String())
		case c == '\\' && i+1 < len(s):
			i++
			if strings.IndexByte(`\;#`, s[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return strings.TrimSpace(b.String())
}

// expand replaces ${NAME}, ${NAME?} (empty if unset) and ${NAME-default} or ${NAME:-default}.
// An unset variable without "?" or default stays as it is written. After an odd number of
// backslashes "$" is plain text. A variable that is empty counts as unset.
func expand(s string, env func(string) string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == '\\' {
			j++
		}
		name, end := parseVariable(s, j)
		if end < 0 {
			j = min(j+1, len(s))
			b.WriteString(s[i:j])
			i = j
			continue
		}
		slashes := j - i
		if slashes%2 == 1 {
			b.WriteString(s[i+(slashes+1)/2 : end])
		} else {
			b.WriteString(s[i : i+slashes/2])
			b.WriteString(lookUpVariable(name, s[j:end], env))
		}
		i = end
	}
	return b.String()
}

// parseVariable reads "${NAME}" or "${NAME?}" at s[i:]. Name keeps the "?"; end is -1 if there
// is no variable.
func parseVariable(s string, i int) (name string, end int) {
	if !strings.HasPrefix(s[i:], "${") {
		return "", -1
	}
	n := strings.IndexByte(s[i:], '}')
	if n < 0 {
		return "", -1
	}
	name = s[i+2 : i+n]
	bare := strings.TrimSuffix(name, "?")
	if bare == "" || strings.ContainsAny(bare, "${?") {
		return "", -1
	}
	return name, i + n + 1
}

// lookUpVariable returns the value of a variable that is written as literal.
func lookUpVariable(name, literal string, env func(string) string) string {
	bare, optional := strings.CutSuffix(name, "?")
	if v := env(bare); v != "" {
		return v
	}
	if optional {
		return ""
	}
	if plainName, otherwise, ok := strings.Cut(bare, "-"); ok {
		if v := env(strings.TrimSuffix(plainName, ":")); v != "" {
			return v
		}
		return otherwise
	}
	return literal
}
