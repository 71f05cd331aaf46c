package hashfile

import (
	"errors"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxPattern is the length of a pattern, in bytes.
const maxPattern = 1000

// parsePattern returns the pattern of a search for lines.
func parsePattern(in searchArguments) (*regexp.Regexp, error) {
	if len(in.Pattern) > maxPattern {
		return nil, place.Refuse(hashline.Invalid, "pattern has %d bytes; give at most %d", len(in.Pattern), maxPattern)
	}
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	advice := "to find this text as it is, give " + showPattern(regexp.QuoteMeta(in.Pattern))
	var problem *syntax.Error
	switch {
	case strings.Contains(in.Pattern, "(?"):
		advice = "it has neither lookaround nor references back"
	case errors.As(err, &problem) && problem.Code == syntax.ErrInvalidEscape:
		advice = "it has no " + place.Show(problem.Expr) + "; " + advice
	}
	return nil, place.Refuse(hashline.Invalid, "pattern %s is no regular expression of RE2; %s; to find files "+
		"by name, give a glob and no pattern", place.Show(in.Pattern), advice)
}

// showPattern shows a pattern so that it can be given as it stands: [place.Show] would double some of its backslashes.
func showPattern(pattern string) string {
	if strings.ContainsFunc(pattern, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return place.Show(pattern)
	}
	return pattern
}

// globSet is which files a search is about, by their path from the directory that is searched.
type globSet struct {
	files place.Globs // of which one has to match
	below place.Globs // or match a directory above: those that end with a slash
	out   place.Globs // of which none may match, neither the file nor a directory above
}

// parseGlobs returns what globs are about; nil is all. Each text may hold several, with commas between them; those that
// begin with "!" exclude.
func parseGlobs(sc *place.Scope, all []string) (*globSet, error) {
	var g globSet
	for _, text := range all {
		for _, glob := range splitGlobs(text) {
			bare, excludes := strings.CutPrefix(glob, "!")
			globs, err := parseGlob(sc, bare)
			switch {
			case err != nil:
				return nil, err
			case excludes:
				g.out = append(g.out, globs...)
			case strings.HasSuffix(bare, "/"):
				g.below = append(g.below, globs...)
			default:
				g.files = append(g.files, globs...)
			}
		}
	}
	if g.files == nil && g.below == nil && g.out == nil {
		return nil, nil
	}
	return &g, nil
}

// take reports whether a file is searched, if no directory above it is skipped.
func (g *globSet) take(rel string) bool {
	if g.out.Matches(rel, false) {
		return false
	}
	if g.files == nil && g.below == nil || g.files.Matches(rel, false) {
		return true
	}
	for i := range rel {
		if g.below != nil && rel[i] == '/' && g.below.Matches(rel[:i], true) {
			return true
		}
	}
	return false
}

// skip reports whether nothing below a directory is searched.
func (g *globSet) skip(rel string) bool { return g.out.Matches(rel, true) }

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
func parseGlob(sc *place.Scope, glob string) (place.Globs, error) {
	for _, dir := range sc.Directories() {
		if rest, ok := strings.CutPrefix(glob, filepath.ToSlash(dir)+"/"); ok {
			return nil, place.Refuse(hashline.Invalid, "glob %s is absolute, and globs are of paths below a "+
				"directory; give path %s and glob %s", place.Show(glob), place.Show(dir), place.Show(rest))
		}
	}
	fromHere := glob
	if strings.HasPrefix(glob, "./") {
		fromHere = glob[1:]
	}
	globs, ok := place.NewGlobs(fromHere)
	if !ok || strings.ContainsAny(glob, "; ") {
		return nil, place.Refuse(hashline.Invalid, "glob %s is none; give one such as *.go, src/**/*.ts or *.{js,ts}, "+
			"or several with commas, ? for a blank, and brackets and braces that are closed", place.Show(glob))
	}
	return globs, nil
}

// explainNoFiles says that globs match no file, and why that may be, if it shows.
func explainNoFiles(in searchArguments) string {
	all := strings.Join(in.Glob, ",")
	text := "no file here matches the glob " + place.Show(all)
	switch {
	case slices.Contains(place.SplitPath(strings.ReplaceAll(all, ",", "/")), ".git"):
		text += "; of .git nothing is searched, unless it is the path"
	case strings.Contains(all, "["):
		text += `; brackets are a set of characters, and a name that has some is written \[name]`
	case strings.Contains(all, "|"):
		text += "; several globs have commas between them"
	case strings.Contains(all, `\`):
		text += `; names have / between them, and \ takes the meaning from the character behind it`
	case !strings.ContainsAny(all, "*?[{,!") && !strings.HasSuffix(all, "/"):
		text += "; if that is a directory, give it as path, or with / at its end"
	case in.Path != "":
		text += "; globs are of paths from " + place.Show(in.Path)
	}
	return text
}

// slashed matches a pattern between slashes, as other languages write it.
var slashed = spelling.Form(`^/.+/[a-z]*$`)

// letters are the characters of words in a set: those of all languages, of which RE2's \w and \b know ASCII ones only.
const letters = `\pL\pM\pN_`

// patternPart matches a character between words with the ends of these, an escape or a set of a pattern, escape an
// escape, and optional what lets a character be left out.
var (
	patternPart = spelling.Form(`(?s)(?:\\b)?(?:[ ,;/'"-]|\\s)(?:(?:[+*?]|\{[\d,]+\})\??)?(?:\\b)?|` +
		`\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]`)
	escape   = spelling.Form(`(?s)\\.`)
	optional = spelling.Form(`(?:[*?]|\{0[\d,]*\})\??$`)
)

// widenPattern returns a pattern with the words of all languages in place of those of ASCII.
func widenPattern(pattern string) string {
	return patternPart().ReplaceAllStringFunc(pattern, func(part string) string {
		switch {
		case part[0] == '[':
			return escape().ReplaceAllStringFunc(part, func(part string) string {
				if part == `\w` {
					return letters
				}
				return part
			})
		case part == `\w`:
			return "[" + letters + "]"
		case part == `\W`:
			return "[^" + letters + "]"
		case part == `\b`:
			return "(?:^|$|[^" + letters + "])"
		}
		between := strings.TrimSuffix(strings.TrimPrefix(part, `\b`), `\b`) // what is between words ends them
		if between == part {
			return part
		}
		return optional().ReplaceAllStringFunc(between, func(quantifier string) string { // but only if it is there
			if quantifier[0] == '*' {
				return "+"
			}
			return ""
		})
	})
}

// explainNoHits says why a pattern may have found nothing, if that shows.
func explainNoHits(in searchArguments) []string {
	bare := strings.ReplaceAll(in.Pattern, `\\`, "")
	switch {
	case strings.ContainsAny(bare, "\r\n"), strings.Contains(bare, `\n`), strings.Contains(bare, `\r`):
		return []string{"the pattern holds a line end, and each line is searched by itself, without it"}
	case slashed().MatchString(in.Pattern):
		return []string{"the slashes around the pattern were looked for, too; leave them out, and give " +
			"ignore_case for i"}
	case strings.Contains(bare, `\|`), strings.Contains(bare, `\<`), strings.Contains(bare, `\>`):
		return []string{`\|, \< and \> are these very signs in RE2; ` +
			`give | for one or the other, \b for the end of a word`}
	}
	return nil
}
