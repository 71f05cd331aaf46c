package serverjson

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Filled is a text of a document that [Fill] set.
type Filled struct {
	Path string // JSON pointer; "" for a placeholder, which may stand anywhere
	Was  string
	Now  string
}

// Fill returns raw with the placeholders ${name} and {{name}}, in upper or lower case, replaced by value, and
// everything else byte for byte. The name "version" also sets the version of the document, of the packages that have
// the same one, and of the addresses of their files and images that have it in them, as a release does. It also returns
// what it set. It is an error if there is neither a placeholder nor a version, and if an image is pinned by its digest,
// which belongs to the old version.
func Fill(raw []byte, name, value string) ([]byte, []Filled, error) {
	if err := surface.CheckJSON(raw, surface.Limits{Size: MaxSize, Depth: MaxDepth}); err != nil {
		return nil, nil, fmt.Errorf("server.json: %w", err)
	}
	var all []Filled
	placeholder := regexp.MustCompile(`(?i)\$\{` + regexp.QuoteMeta(name) + `\}|\{\{ ?` + regexp.QuoteMeta(name) +
		` ?\}\}`)
	inside := quote(value)
	inside = inside[1 : len(inside)-1]
	out := placeholder.ReplaceAllStringFunc(string(raw), func(was string) string { // only a string has such characters
		all = append(all, Filled{"", was, value})
		return inside
	})
	if name == "version" {
		set, more, err := setVersion([]byte(out), value)
		return set, append(all, more...), err
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("server.json: has no placeholder ${%s} or {{%[1]s}}", name)
	}
	return []byte(out), all, nil
}

// setVersion sets the version of a document, and of what has the same.
func setVersion(raw []byte, version string) (out []byte, all []Filled, err error) {
	doc := decodeMembers(raw)
	old, ok := doc["version"].(string)
	if !ok || old == "" {
		return nil, nil, errors.New("server.json: has no version, and no placeholder ${version}")
	}
	out = raw
	set := func(members map[string]any, path []string, change func(string) string) {
		was, ok := members[path[len(path)-1]].(string)
		now := change(was)
		if err != nil || !ok || now == was {
			return
		}
		if strings.Contains(was, "@sha256:") {
			err = fmt.Errorf("server.json: /%s is pinned by the digest of the old version: write that of the new "+
				"one, or none", strings.Join(path, "/"))
			return
		}
		out, err = setAt(out, path, now, "")
		all = append(all, Filled{"/" + strings.Join(path, "/"), was, now})
	}
	same := func(was string) string {
		if bare, v := strings.CutPrefix(was, "v"); v && bare == old {
			return "v" + version
		} else if was == old {
			return version
		}
		return was
	}
	within := func(was string) string {
		if escaped := url.QueryEscape(old); strings.Contains(was, "://") && escaped != old {
			was = replaceVersion(was, escaped, url.QueryEscape(version))
		}
		return replaceVersion(was, old, version)
	}
	packages, _ := doc["packages"].([]any)
	for i, p := range packages {
		members, _ := p.(map[string]any)
		at := []string{"packages", strconv.Itoa(i)}
		set(members, append(at, "version"), same)
		set(members, append(at, "identifier"), within)
	}
	location, _ := doc["package_location"].(map[string]any)
	set(location, []string{"package_location", "version"}, same)
	set(location, []string{"package_location", "package_name"}, within)
	set(location, []string{"package_location", "url"}, within)
	set(doc, []string{"version"}, func(string) string { return version })
	return out, all, err
}

// replaceVersion replaces a version in an address where nothing beside it belongs to it: what is before says what may
// follow.
//
//   - A tag or a version behind ":", "@" or "=" is whole, up to the end or a digest.
//   - A directory is whole; the name of a file may go on with its suffix.
//   - Behind "-" or "_", or at the beginning, it is a word of a file's name: no letter, no digit and no further number
//
// follows.
//
// A "v" before it belongs to none.
func replaceVersion(text, old, version string) string {
	if !strings.Contains(old, ".") { // as short as a part of a path: "v1"
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			return b.String() + text
		}
		before, after := text[:i], text[i+len(old):]
		goesOn := inName
		switch before = strings.TrimSuffix(before, "v"); {
		case before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "_"):
		case strings.HasSuffix(before, "/"):
			goesOn = inPath
		case strings.ContainsRune(":@=", rune(before[len(before)-1])):
			goesOn = inTag
		default:
			goesOn = nil
		}
		b.WriteString(text[:i])
		if goesOn != nil && !goesOn().MatchString(after) {
			b.WriteString(version)
		} else {
			b.WriteString(old)
		}
		text = after
	}
}

// What follows a version and belongs to it.
var (
	inTag  = spelling.Form(`^[^@]`)
	inPath = spelling.Form(`^(?:[^./]|\.[^A-Za-z])`)
	inName = spelling.Form(`^(?:[0-9A-Za-z]|\.[0-9])`)
)
