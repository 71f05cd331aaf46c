package closure

import (
	"errors"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/project"
)

// TestPythonNeed: what uv and pip say about a python of the wrong version is told from other reasons.
func TestPythonNeed(t *testing.T) {
	for output, want := range map[string]string{
		"  cause: Because the requested Python version (>=3.11) does not satisfy Python>=3.12,<3.13 and a==1 depends on " +
			"Python>=3.12,<3.13, we can conclude": ">=3.12,<3.13",
		"Because the current Python version (3.11.7) does not satisfy Python>=3.13, we can conclude": ">=3.13",
		"Because the requested Python\n  version (>=3.11) does not\n  satisfy Python==3.12.* and":    "==3.12.*",
		"ERROR: Ignored the following versions that require a different python version: 0.1.4 Requires-Python >=3.11; " +
			"0.1.5 Requires-Python ==3.12.*\nERROR: No matching distribution found for a==0.1.5\n": "==3.12.*",
		"ERROR: Package 'a' requires a different Python: 3.11.7 not in '>=3.12'":                              ">=3.12",
		"Because a was not found in the package registry and you require a==1, your requirements are":         "",
		"hint: The `requires-python` value (>=3.11) includes Python versions that are not supported by yours": "",
	} {
		if got := pythonNeed([]byte(output)); got != want {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
	}
}

// TestNeedsPythonError: the refusal is one sentence, and names a command that leads on.
func TestNeedsPythonError(t *testing.T) {
	for requires, command := range map[string]string{
		">=3.12,<3.13": "uv python install 3.12'", "==3.13.*": "uv python install 3.13'",
		"<3.9": "uv python install \"<3.9\"'",
	} {
		err := withPython(&evidence.Error{Subject: "pypi:a", Kind: evidence.Refused,
			Err: &NeedsPythonError{Requires: requires}}, &project.Runtime{Version: "cp311-cp311-linux_x86_64"})
		var e *evidence.Error
		if !errors.As(err, &e) || e.Err.Error() != "needs Python "+requires+"; python3 is 3.11" ||
			!strings.Contains(e.Hint, command) {
			t.Errorf("%s: %v, %q", requires, err, e.Hint)
		}
	}
	other := errors.New("no network")
	if got := withPython(other, &project.Runtime{}); got != other {
		t.Errorf("got %v", got)
	}
}

// TestNewestNeed: versions of a package that are for versions of Python each need the newest of
// these; versions for systems need none.
func TestNewestNeed(t *testing.T) {
	for _, c := range []struct {
		markers []string
		want    string
	}{
		{[]string{"python_full_version >= '3.9' and python_full_version < '3.13'", "python_full_version >= '3.13'"},
			">=3.13"},
		{[]string{"python_full_version >= '3.13'", "python_full_version == '3.9.*'"}, ">=3.13"},
		{[]string{"python_full_version >= '3.12' and sys_platform == 'win32'", "sys_platform != 'win32'"}, ""},
		{[]string{"", "python_full_version >= '3.12'"}, ""},
	} {
		if got := newestNeed(&project.SeveralVersionsError{Name: "a", Markers: c.markers}); got != c.want {
			t.Errorf("%q: %q, want %q", c.markers, got, c.want)
		}
	}
	if got := newestNeed(errors.New("no network")); got != "" {
		t.Errorf("got %q", got)
	}
}
