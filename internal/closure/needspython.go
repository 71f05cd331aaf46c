package closure

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/project"
)

// NeedsPythonError says that a package, or one that it depends on, is for other versions of Python.
type NeedsPythonError struct {
	Requires string // in the form of Requires-Python, such as ">=3.12"
	Version  string // of the python that was tried; "" if it is not known

	otherwise string // another way on, for the hint
}

func (e *NeedsPythonError) Error() string {
	return fmt.Sprintf("needs Python %s; python3 is %s", e.Requires, cmp.Or(e.Version, "of another version"))
}

// pythonNeeds match what uv and pip say about a python that does not fit; the last version that pip
// lists is the newest.
var pythonNeeds = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`Python\s+version\s+\([^)]*\)\s+does\s+not\s+satisfy\s+Python([<>=!~][<>=!~0-9.*,]*)`),
		regexp.MustCompile(`requires a different Python: \S+ not in '([<>=!~0-9.*, ]+)'`),
		regexp.MustCompile(`(?m)require a different python version:.* Requires-Python ([<>=!~0-9.*, ]+)$`),
	}
})

// pythonNeed returns the versions of Python that a resolver or installer said a package is for; ""
// if it failed for another reason.
func pythonNeed(output []byte) string {
	for _, re := range pythonNeeds() {
		if m := re.FindSubmatch(output); m != nil {
			return strings.TrimRight(strings.TrimSpace(string(m[1])), ",.")
		}
	}
	return ""
}

// leastPython finds a version that a requirement names as one that fits.
var leastPython = spelling.Form(`(?:>=|==|~=)\s*3\.([0-9]+)`)

// pythonMarker matches one part of a marker that is about the version of Python.
var pythonMarker = spelling.Form(`^python_(?:full_)?version\s*(>=|<|<=|>|==|!=)\s*'(3[0-9.*]*)'$`)

// newestNeed returns the versions of Python that the newest version of a package is for, if several
// versions of it differ in nothing else; "" if they do. The newest is the one for the newest Python.
func newestNeed(err error) (need string) {
	var several *project.SeveralVersionsError
	if !errors.As(err, &several) {
		return ""
	}
	newest := -1
	for _, marker := range several.Markers {
		var parts []string
		for part := range strings.SplitSeq(marker, " and ") {
			m := pythonMarker().FindStringSubmatch(strings.TrimSpace(part))
			if m == nil {
				return ""
			}
			parts = append(parts, m[1]+m[2])
		}
		least := -1
		requires := strings.Join(parts, ",")
		if m := leastPython().FindStringSubmatch(requires); m != nil {
			least, _ = strconv.Atoi(m[1]) // digits
		}
		if least > newest {
			newest, need = least, requires
		}
	}
	return need
}

// withPython adds to an error about the version of Python which one was tried, and the command that
// leads on.
func withPython(err error, rt *project.Runtime) error {
	var need *NeedsPythonError
	var problem *evidence.Error
	if !errors.As(err, &need) || !errors.As(err, &problem) {
		return err
	}
	need.Version = PythonVersion(rt.Version)
	want := `"` + need.Requires + `"`
	if m := leastPython().FindStringSubmatch(need.Requires); m != nil {
		want = "3." + m[1]
	}
	problem.Hint = "run 'uv python install " + want + "', or put such a python3.N into PATH, " +
		"then run the same command again" + need.otherwise
	return err
}
