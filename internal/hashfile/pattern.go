package hashfile

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/refusal"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/roots"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/rules"
)

// maxPattern is the length of a pattern, in bytes.
const maxPattern = 1000

// parsePattern returns the pattern of a search for lines.
func parsePattern(in searchArguments) (*regexp.Regexp, error) {
	if len(in.Pattern) > maxPattern {
		return nil, refusal.New(hashline.Invalid, "pattern has %d bytes; give at most %d", len(in.Pattern), maxPattern)
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	advice := "to find this text as it is, give " + refusal.Show(regexp.QuoteMeta(in.Pattern))
	if strings.Contains(in.Pattern, "(?") {
		advice = "it has neither lookaround nor references back"
	}
	return nil, refusal.New(hashline.Invalid, "pattern %s is no regular expression of RE2; %s; to find files by name, "+
		"give a glob and no pattern", refusal.Show(in.Pattern), advice)
}

// parseGlobs returns which paths below a directory globs are about; nil is all. Each text may hold several, with commas
// between them; those that begin with "!" exclude.
func parseGlobs(sc *roots.Scope, all []string) (only func(rel string) bool, err error) {
	var in, out rules.Globs
	for _, text := range all {
		for _, glob := range splitGlobs(text) {
			bare, excludes := strings.CutPrefix(glob, "!")
			globs, err := parseGlob(sc, bare)
			if err != nil {
				return nil, err
			}
			if excludes {
				out = append(out, globs...)
			} else {
				in = append(in, globs...)
			}
		}
	}
	if in == nil && out == nil {
		return nil, nil
	}
	return func(rel string) bool { return (in == nil || in.Matches(rel, false)) && !out.Matches(rel, false) }, nil
}

// splitGlobs divides a text at the commas that are not in braces or brackets.
func splitGlobs(text string) (globs []string) {
	depth, from := 0, 0
	add := func(glob string) {
		if glob = strings.TrimSpace(glob); glob != "" {
			globs = append(globs, glob)
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case c == ',' && depth == 0:
			add(text[from:i])
			from = i + 1
		}
	}
	add(text[from:])
	return globs
}

// parseGlob returns the globs that a glob of paths below an allowed directory stands for.
func parseGlob(sc *roots.Scope, glob string) (rules.Globs, error) {
	for _, dir := range sc.Directories() {
		if rest, ok := strings.CutPrefix(glob, filepath.ToSlash(dir)+"/"); ok {
			return nil, refusal.New(hashline.Invalid, "glob %s is absolute, and globs are of paths below a directory; "+
				"give path %s and glob %s", refusal.Show(glob), refusal.Show(dir), refusal.Show(rest))
		}
	}
	globs, ok := rules.NewGlobs(strings.TrimPrefix(glob, "./"))
	if !ok || strings.ContainsAny(glob, "; ") {
		return nil, refusal.New(hashline.Invalid, "glob %s is none; give one such as *.go, src/**/*.ts or *.{js,ts}, "+
			"or several with commas, and ? for a blank", refusal.Show(glob))
	}
	return globs, nil
}

// explainNoHits says why a pattern may have found nothing, if that shows.
func explainNoHits(in searchArguments) []string {
	pattern := in.Pattern
	switch {
	case strings.Contains(pattern, "\n"):
		return []string{"the pattern holds a line feed, and each line is searched by itself"}
	case len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/':
		return []string{"the slashes around the pattern were looked for, too; leave them out"}
	}
	return nil
}
