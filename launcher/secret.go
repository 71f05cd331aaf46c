package launcher

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// redactedText stands where a secret was.
const redactedText = "<redacted>"

// secretName matches the end of the name of a variable or option that holds a secret.
const secretName = `(?:api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key|client[-_]?secret|` +
	`token|secret|password|passwd|pwd|credentials?|authorization)`

// The patterns of secrets. In all but secretFlag the first group is kept, the second is the
// secret, and a third one is kept after it.
var (
	// secretFlag is an option or a variable whose value is a secret.
	secretFlag = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^--?(?:[a-z0-9]+[-_])*` + secretName + `$`)
	})
	// assignedSecret is such a name with its value, anywhere in an argument.
	assignedSecret = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)((?:^|[^a-z0-9])(?:[a-z0-9]+[-_])*` + secretName + `\s*[=:]\s*)` +
			`("[^"]*"|'[^']*'|[^\s&]+(?:\s+[^\s&]+)*)`)
	})
	// optionSecret is such an option with its value, in a shell line.
	optionSecret = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(\s--?(?:[a-z0-9]+[-_])*` + secretName + `\s+)("[^"]*"|'[^']*'|\S+)`)
	})
	// bearerSecret is the credential of an Authorization header.
	bearerSecret = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)((?:bearer|basic)\s+)(\S+)`)
	})
	// urlPassword is the password of a URL.
	urlPassword = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(://[^/\s:@]*:)([^/\s@]+)(@)`)
	})
	// knownToken is a token whose beginning tells which service it is for.
	knownToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`()(` + strings.Join([]string{
			`(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}`,
			`(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}`,
			`github_pat_[A-Za-z0-9_]{20,}`,
			`glpat-[A-Za-z0-9_-]{16,}`,
			`xox[abprs]-[A-Za-z0-9-]{10,}`,
			`AKIA[0-9A-Z]{16}`,
			`AIza[0-9A-Za-z_-]{30,}`,
			`npm_[A-Za-z0-9]{30,}`,
			`hf_[A-Za-z0-9]{20,}`,
			`pypi-[A-Za-z0-9_-]{50,}`,
			`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`,
		}, "|") + `)`)
	})
	// longWord is a word of 32 characters or more, after a prefix that may mark it as a digest.
	longWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`((?:^|[^A-Za-z0-9_])(?:sha256:|sha512-)?)([A-Za-z0-9_]{32,})`)
	})
)

// Redact returns a copy of args in which "<redacted>" replaces what looks like a secret.
// References to variables and inputs of a client ("${KEY}", "$KEY", "%KEY%", "{{key}}") are
// no secrets.
func Redact(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = redact(arg)
		if i > 0 && secretFlag().MatchString(args[i-1]) && !isReference(arg) && !strings.HasPrefix(arg, "-") {
			out[i] = redactedText
		}
	}
	return out
}

// redact is one argument with what looks like a secret replaced.
func redact(s string) string {
	if !strings.Contains(s, "//") {
		s = artifact.RedactURLs(s) // "user:password@host/image"
	}
	for _, re := range []*regexp.Regexp{
		assignedSecret(), optionSecret(), bearerSecret(), urlPassword(), knownToken(), longWord(),
	} {
		s = re.ReplaceAllStringFunc(s, func(found string) string {
			m := re.FindStringSubmatch(found)
			value := strings.Trim(m[2], `"'`)
			if isReference(value) || re == longWord() && !looksRandom(m[1], value) {
				return found
			}
			if _, rest, ok := strings.Cut(value, " "); ok && re == assignedSecret() && isReference(rest) {
				return found // "Bearer ${TOKEN}"
			}
			out := m[1] + redactedText
			if len(m) > 3 {
				out += m[3]
			}
			return out
		})
	}
	return s
}

// reference is a variable or an input that something else fills in, or a place for one.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\$\(?env:[A-Za-z0-9_]+\)?|` +
		`%[A-Za-z0-9_]+%|\{\{[^}]*\}\}|<[^>]*>)$`)
})

// isReference reports whether a value is empty or a reference.
func isReference(v string) bool { return v == "" || reference().MatchString(v) }

// looksRandom reports whether a long word behind prefix is neither a digest nor a commit nor
// made of words.
func looksRandom(prefix, word string) bool {
	if prefix != "" && strings.ContainsRune(":-@#", rune(prefix[len(prefix)-1])) || commitRE().MatchString(word) {
		return false
	}
	var digit, lower, upper bool
	for _, r := range word {
		digit = digit || unicode.IsDigit(r)
		lower = lower || unicode.IsLower(r)
		upper = upper || unicode.IsUpper(r)
	}
	return digit && (lower || upper) && !strings.Contains(word, "__")
}
