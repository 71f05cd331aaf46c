package launcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// word is one word of a command line, and where it stands.
type word struct {
	text string
	at   place
}

// place is a part of an argument, in bytes. In a shell line the part holds the word's
// quotes too.
type place struct {
	arg        int
	start, end int
	shell      bool
}

// suffix is the part of w that begins at byte n. In a shell line its place is the place of all
// of w: quotes may stand anywhere in it.
func (w word) suffix(n int) word {
	at := w.at
	if !at.shell {
		at.start += n
	}
	return word{w.text[n:], at}
}

// texts are the texts of words, nil for none.
func texts(words []word) []string {
	if len(words) == 0 {
		return nil
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// grammar is a launcher's table of options. Names are written with their dashes.
type grammar struct {
	flags  []string // without a value
	values []string // with one: "--name value", "--name=value", "-n value", "-nvalue"
	single bool     // long options may have one dash, and short ones do not join: go
}

// option is an option that was read.
type option struct {
	name  string
	value word // of one that has a value
}

// readOptions takes options from words up to the first plain word, which begins rest, or "--",
// which is dropped. An option that the table lacks is returned as unknown: its value
// could not be told from the package.
func (g grammar) readOptions(words []word) (options []option, rest []word, unknown string) {
	for len(words) > 0 {
		w := words[0]
		if w.text == "--" {
			return options, words[1:], ""
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			return options, words, ""
		}
		words = words[1:]
		name, _, joined := strings.Cut(w.text, "=")
		if g.single && strings.HasPrefix(name, "--") {
			name = name[1:]
		}
		switch {
		case slices.Contains(g.flags, name):
			options = append(options, option{name: name})
		case slices.Contains(g.values, name):
			value := word{}
			if joined {
				value = w.suffix(strings.IndexByte(w.text, '=') + 1)
			} else if len(words) > 0 {
				value, words = words[0], words[1:]
			} else {
				return options, nil, w.text + " without a value"
			}
			options = append(options, option{name, value})
		case g.single || strings.HasPrefix(name, "--"):
			return options, nil, w.text
		default:
			var short []option
			short, words, unknown = g.readShort(w, words)
			if options = append(options, short...); unknown != "" {
				return options, nil, unknown
			}
		}
	}
	return options, nil, ""
}

// readShort reads short options that share the dash of w: flags, then perhaps one with the rest of w as its value, or
// with the next of words, which is not in rest then.
func (g grammar) readShort(w word, words []word) (options []option, rest []word, unknown string) {
	for i := 1; i < len(w.text); i++ {
		short := "-" + w.text[i:i+1]
		if slices.Contains(g.flags, short) {
			options = append(options, option{name: short})
			continue
		}
		if !slices.Contains(g.values, short) {
			return options, nil, w.text
		}
		value := w.suffix(i + 1)
		switch {
		case strings.HasPrefix(value.text, "="):
			value = w.suffix(i + 2)
		case value.text == "" && len(words) > 0:
			value, words = words[0], words[1:]
		case value.text == "":
			return options, nil, w.text + " without a value"
		}
		return append(options, option{short, value}), words, ""
	}
	return options, words, ""
}

// valuesOf returns the values of the options called one of names, in their order.
func valuesOf(options []option, names ...string) []word {
	var out []word
	for _, o := range options {
		if slices.Contains(names, o.name) {
			out = append(out, o.value)
		}
	}
	return out
}

// isGiven reports whether one of names was given.
func isGiven(options []option, names ...string) bool { return len(valuesOf(options, names...)) > 0 }

// unknownOption is why a command line with an option outside the table is opaque.
func unknownOption(launcher, option string) string {
	unclear := "its value from what follows"
	if strings.HasPrefix(option, "--") && strings.Contains(option, "=") {
		unclear = "what it changes"
	}
	return fmt.Sprintf("%s option %+q is not known, so Hallmark cannot tell %s", launcher, option, unclear)
}

// edit puts words in the place of a part of the arguments.
type edit struct {
	at  place
	new []string
}

// edits are what [Target.Spell] changes, from the last to the first, so that places stay what they were.
func (t Target) edits(versions []string) (out []edit, ok bool) {
	if len(versions) != len(t.Packages) {
		return nil, false
	}
	for i, p := range t.Packages {
		if versions[i] == "" {
			continue
		}
		if p.before == "" && !p.bare || !p.holdsOnlyVersion() {
			return nil, false
		}
		blank := strings.HasPrefix(strings.TrimPrefix(versions[i], "sha256:"), "<") && strings.HasSuffix(versions[i],
			">")
		if !blank && !p.accepts(versions[i]) {
			return nil, false
		}
		if p.at.shell && !blank && strings.ContainsFunc(p.before+p.after, isShellSpecial) {
			return nil, false
		}
		out = append(out, edit{p.at, slices.Concat(p.lead, []string{p.before + versions[i] + p.after}, p.trail)})
	}
	slices.SortStableFunc(out, func(a, b edit) int {
		return cmp.Or(b.at.arg-a.at.arg, b.at.start-a.at.start)
	})
	return out, true
}

// Spell writes the arguments with an exact version for each package, in the launcher's
// own syntax: versions[i] is for Packages[i]: of an image its sha256: digest; ""
// leaves that package as it is. ok is false if a package cannot be written so, or if its word
// says more than which package and version is meant.
//
// A version may be a placeholder in angle brackets, for a person to fill in.
func (t Target) Spell(versions ...string) (args []string, ok bool) {
	edits, ok := t.edits(versions)
	if !ok {
		return nil, false
	}
	args = slices.Clone(t.words)
	for _, e := range edits {
		old := args[e.at.arg]
		if e.at.shell || e.at.start > 0 || e.at.end < len(old) {
			args[e.at.arg] = old[:e.at.start] + strings.Join(e.new, " ") + old[e.at.end:]
			continue
		}
		args = slices.Replace(args, e.at.arg, e.at.arg+1, e.new...)
	}
	return args, true
}

// The specs that say nothing but which versions are meant. Anything else in them would be lost if an exact version
// took their place.
var (
	// pypiSpec is "@1.0" or "@latest" of uv, or comparisons.
	pypiSpec = spelling.Form(`^(?:@\s*[\w.+!-]+|[<>=!~]=?=?\s*[\w.+!*-]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.+!*-]+)*)?$`)
	// otherSpec is one word, or comparisons.
	otherSpec = spelling.Form(`^(?:\S*|(?:(?:[<>=~^]*\s*[vV]?[0-9xX*][\w.+*-]*|-|\|\|)(?:\s+|$))*)$`)
)

// holdsOnlyVersion reports whether an exact version can replace p's own and nothing is lost.
func (p Package) holdsOnlyVersion() bool {
	switch p.Ecosystem {
	case PyPI:
		return pypiSpec().MatchString(p.Spec)
	case Git:
		return !strings.ContainsAny(strings.TrimPrefix(p.Spec, "semver:"), ":#")
	}
	return otherSpec().MatchString(p.Spec)
}

// accepts reports whether p is pinned once version replaces its own.
func (p Package) accepts(version string) bool {
	var again Package
	switch p.Ecosystem {
	case NPM:
		again = npmPackage(word{text: p.Name + "@" + version})
	case JSR:
		again = jsrPackage(word{text: "jsr:" + p.Name + "@" + version})
	case PyPI:
		_, err := artifact.NewPyPI(p.Name, version, "")
		return err == nil
	case OCI:
		again = imagePackage(word{text: p.Name + "@" + version})
	case Go:
		again = goPackage(word{text: p.Name + "@" + version})
	case NuGet:
		again = nugetPackage(word{text: p.Name + "@" + version})
	case Git:
		return commitRE().MatchString(version)
	}
	return again.Pinned() && again.Name == p.Name
}
