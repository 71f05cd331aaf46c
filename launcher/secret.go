package launcher

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
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
	secretFlag = spelling.Form(`(?i)^--?(?:[a-z0-9]+[-_])*` + secretName + `$`)
	// keyFlag is an option whose value may be a secret: "--key" is also that of a file or of a name.
	keyFlag = spelling.Form(`(?i)^--?(?:[a-z0-9]+[-_])*(?:key|pat|auth|authentication)$`)
	// keyWord has the characters of a key, behind a scheme such as "basic:" or "pat ".
	keyWord = spelling.Form(`^(?:[A-Za-z]+[: ]\s*)?([A-Za-z0-9_+=~-]{12,})$`)
	// assignedSecret is such a name with its value, anywhere in an argument.
	assignedSecret = spelling.Form(`(?i)((?:^|[^a-z0-9])(?:[a-z0-9]+[-_])*` + secretName + `["']?\s*[=:]\s*)` +
		`("[^"]*"|'[^']*'|[^\s&]+(?:\s+[^\s&]+)*)`)
	// optionSecret is such an option with its value, in a shell line.
	optionSecret = spelling.Form(`(?i)(\s--?(?:[a-z0-9]+[-_])*` + secretName + `\s+)("[^"]*"|'[^']*'|\S+)`)
	// bearerSecret is the credential of an Authorization header.
	bearerSecret = spelling.Form(`(?i)((?:bearer|basic)\s+)(\S+)`)
	// urlPassword is the password of a URL.
	urlPassword = spelling.Form(`(://[^/\s:@]*:)([^/\s@]+)(@)`)
	// shortOption is an option of one letter with its value, which may be joined to it.
	shortOption = spelling.Form(`((?:^|\s)-[A-Za-z]\s*)([^\s-]\S{7,})`)
	// shortFlag is such an option alone.
	shortFlag = spelling.Form(`^-[A-Za-z]$`)
	// password has the characters of a password, and none that separates parts of a path, a list or a version: a full
	// stop is its last one.
	password = spelling.Form(`^[A-Za-z0-9!#$%&()*+<>?@^|~]{7,}[A-Za-z0-9!#$%&()*+.<>?@^|~]$`)
	// secretEnd is the end of the name of a variable or a header that holds a secret.
	secretEnd = spelling.Form(`(?i)` + secretName + `$`)
	// knownToken is a token whose beginning tells which service it is for.
	knownToken = spelling.Form(`()(` + strings.Join([]string{
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
	// longWord is a word of 32 characters or more, after a prefix that may mark it as a digest.
	longWord = spelling.Form(`((?:^|[^A-Za-z0-9_])(?:sha256:|sha512-)?)([A-Za-z0-9_]{32,})`)
)

// Redact returns a copy of args in which "<redacted>" replaces what looks like a secret.
// References to variables and inputs of a client ("${KEY}", "$KEY", "%KEY%", "{{key}}") are
// no secrets.
func Redact(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = redact(arg)
		if i == 0 || isReference(arg) || secretFile().MatchString(arg) || strings.HasPrefix(arg, "-") {
			continue
		}
		if secretFlag().MatchString(args[i-1]) || keyFlag().MatchString(args[i-1]) && looksKey(arg) ||
			shortFlag().MatchString(args[i-1]) && looksChosen(arg) {
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
		assignedSecret(), optionSecret(), bearerSecret(), urlPassword(), knownToken(), shortOption(),
	} {
		s = re.ReplaceAllStringFunc(s, func(found string) string {
			m := re.FindStringSubmatch(found)
			value := strings.Trim(m[2], `"'`)
			isFile := secretFile().MatchString(value) && !strings.ContainsAny(value, " \t\r\n") // else of a line
			if isReference(value) || isFile || re == shortOption() && !looksChosen(value) {
				return found
			}
			if _, rest, ok := strings.Cut(value, " "); ok && re == assignedSecret() && isReference(rest) {
				return found // "Bearer ${TOKEN}"
			}
			out := m[1] + redactedText
			if quote := m[2][:1]; (quote == `"` || quote == `'`) && strings.HasSuffix(strings.TrimRight(m[1], " =:\t"),
				quote) {
				out = m[1] + quote + redactedText + quote // of JSON
			}
			if len(m) > 3 {
				out += m[3]
			}
			return out
		})
	}
	return redactLong(s)
}

// redactLong replaces the long words of one argument that look random and name no part of a path.
func redactLong(s string) string {
	var out strings.Builder
	done := 0
	for _, m := range longWord().FindAllStringSubmatchIndex(s, -1) {
		prefix, word := s[m[2]:m[3]], s[m[4]:m[5]]
		if looksRandom(prefix, word) && !isDigestInPath(s[:m[4]], word) {
			out.WriteString(s[done:m[4]] + redactedText)
			done = m[5]
		}
	}
	return out.String() + s[done:]
}

// IsSecret reports whether what a variable or a header of that name holds looks like a secret.
func IsSecret(name, value string) bool {
	if secretEnd().MatchString(name) && !secretFile().MatchString(value) {
		value = "secret=" + value
	}
	return redact(value) != value
}

// reference is a variable or an input that something else fills in, or a place for one.
var reference = spelling.Form(`^(?:\$\{[^}]*\}|\$[A-Z_][A-Z0-9_]*|\$\(?env:[A-Za-z0-9_]+\)?|` +
	`%[A-Za-z0-9_]+%|\{\{[^}]*\}\}|\{[a-z]+:[^}]*\}|<[^>]*>)$`)

// example is what documents write in the place of a secret: "YOUR_API_KEY", "xoo_your_key_here", "sk-...".
var example = spelling.Form(`(?i)^(?:[a-z]{1,8}[-_ ])?your(?:[-_ ][a-z]{1,16}){0,3}` +
	`[-_ ](?:key|token|secret|password|id|here|value)(?:[-_ ]here)?$` +
	`|^[a-z]*[-_]?(?:\.{3}|…|x{3,}|\*{3,})$`)

// secretFile is the path of a file, which holds the secret in the place of the configuration.
var secretFile = spelling.Form(`^(?:~|\.{1,2}|[A-Za-z]:)?[\\/][^?&=]*\.[A-Za-z][A-Za-z0-9]{1,7}$|^~[\\/][^\s?&=]+$`)

// isReference reports whether a value is empty, a reference, or an example that the user is to replace.
func isReference(v string) bool {
	return v == "" || reference().MatchString(v) || example().MatchString(v)
}

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

// isDigestInPath reports whether a word behind before is a part of a path of the disk that is named by digits and
// letters of one case, as editors and caches name directories by a digest. In a URL such a part may be a key.
func isDigestInPath(before, word string) bool {
	path := strings.ReplaceAll(before[strings.LastIndexAny(before, " \t\r\n\"'=")+1:], `\`, "/")
	first, _, _ := strings.Cut(path, "/")
	isHost := strings.Contains(strings.TrimLeft(first, "."), ".")
	return strings.HasSuffix(path, "/") && !strings.Contains(path, "//") && !isHost &&
		(word == strings.ToLower(word) || word == strings.ToUpper(word))
}

// looksKey reports whether a value is like a key: one long word in which letters and digits are mixed.
func looksKey(value string) bool {
	m := keyWord().FindStringSubmatch(value)
	return m != nil && strings.ContainsAny(m[1], "0123456789") && strings.ContainsFunc(m[1], unicode.IsLetter)
}

// looksChosen reports whether a value is like a password: it changes between capitals, small letters, digits and
// other characters at least three times, which words and numbers with a unit do not.
func looksChosen(value string) bool {
	seen := map[string]bool{}
	changes, last := 0, ""
	for _, r := range value {
		kind := "other"
		switch {
		case unicode.IsDigit(r):
			kind = "digit"
		case unicode.IsUpper(r):
			kind = "capital"
		case unicode.IsLower(r):
			kind = "small"
		}
		if last != "" && kind != last {
			changes++
		}
		seen[kind], last = true, kind
	}
	return password().MatchString(value) && changes >= 3 && seen["digit"] && seen["capital"] && seen["small"]
}
