package reference

import (
	"strings"
	"unicode"
)

// isSpace reports whether JavaScript takes a character for white space: a byte order mark is, next line is not.
func isSpace(r rune) bool { return unicode.IsSpace(r) && r != '\u0085' || r == '\ufeff' }

// trim returns a line without the white space at its ends.
func trim(line string) string { return strings.TrimFunc(line, isSpace) }

func joinTrimmed(lines []string) string {
	var text strings.Builder
	for i, line := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(trim(line))
	}
	return text.String()
}

// indentOf returns the white space with which a line begins.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeftFunc(line, isSpace))] }

// indentLike returns new lines with the indentation that they need beside lines that were found in a file, where the
// caller thought these to be indented as in wanted. Both are the same but for white space. It fails where that does not
// follow from how wanted is indented.
func indentLike(found, wanted, lines []string) (out []string, ok bool) {
	known := map[string]string{} // the indentation in the file, by the one in wanted
	open := map[string]bool{}    // with different ones in the file
	for i, line := range wanted {
		if trim(line) == "" {
			continue
		}
		have, is := indentOf(line), indentOf(found[i])
		if other, seen := known[have]; seen && other != is {
			open[have] = true
		}
		known[have] = is
	}
	for i, line := range lines {
		have := indentOf(line)
		if trim(line) == "" {
			out = append(out, line)
			continue
		}
		is := ""
		if i < len(wanted) && trim(wanted[i]) != "" && indentOf(wanted[i]) == have {
			is = indentOf(found[i])
		} else if is, ok = findIndent(known, open, have); !ok {
			return nil, false
		}
		out = append(out, is+line[len(have):])
	}
	return out, true
}

// findIndent returns the indentation in the file of a line that the caller indented in a certain way.
func findIndent(known map[string]string, open map[string]bool, have string) (is string, ok bool) {
	if is, ok = known[have]; ok {
		return is, !open[have]
	}
	longest, above := "", false
	for other := range known {
		if strings.HasPrefix(have, other) && (!above || len(other) > len(longest)) {
			longest, above = other, true
		}
	}
	if !above || open[longest] {
		return "", false
	}
	is, more := known[longest], have[len(longest):]
	switch {
	case is == longest:
		return have, true
	case longest == "" && strings.HasPrefix(have, is): // as in the file already, or further in?
		return "", false
	case strings.Trim(is+more, " ") == "", strings.Trim(is+more, "\t") == "":
		return is + more, true
	}
	return "", false // tabs and spaces would be mixed
}
