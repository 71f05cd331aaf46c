package fetch

import "strings"

// maxConfigFile is the largest file of a tool's configuration that is read, in bytes.
const maxConfigFile = 1 << 20

// parsePipConf reads pip's configuration: sections of keys in the ini dialect of
// Python. "=" or ":" ends a key, lines that begin with "#" or ";" are comments, and an
// indented line goes on with the value before it. Keys are of any case, and "_" is
// "-". A value's lines are joined by newlines. Nothing is an error: pip's own refusal
// of a file it cannot read is not ours to repeat.
func parsePipConf(text string) map[string]map[string]string {
	sections := make(map[string]map[string]string)
	var section map[string]string
	key := ""
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case (line[0] == ' ' || line[0] == '\t') && key != "":
			section[key] = strings.TrimPrefix(section[key]+"\n"+trimmed, "\n")
		case trimmed[0] == '[':
			key, section = "", nil
			if name, _, ok := strings.Cut(trimmed[1:], "]"); ok {
				if sections[name] == nil {
					sections[name] = make(map[string]string)
				}
				section = sections[name]
			}
		default:
			key = ""
			i := strings.IndexAny(trimmed, "=:")
			if i <= 0 || section == nil {
				continue
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(trimmed[:i])), "_", "-")
			key = strings.TrimPrefix(key, "--")
			if key != "" {
				section[key] = strings.TrimSpace(trimmed[i+1:])
			}
		}
	}
	return sections
}
