package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// VariableUse is a variable of the environment that a file of a checkout wants to have sent
// to a host. It is not read before a person agreed to exactly that.
type VariableUse struct {
	Variable string
	Host     string // in lower case, with the port unless that is 443
	File     string // that names the variable, for messages
}

// String is the use as --allow-env spells it.
func (u VariableUse) String() string { return u.Variable + "=" + u.Host }

// Agreement is what asks for consent to send variables, and to ask hosts. Its zero value,
// and nil, refuse all. Its functions may be called by several goroutines at once.
type Agreement struct {
	Ask     func(VariableUse) error // nil if a person agreed to the use
	AskHost func(HostUse) error     // likewise
}

// Agreed returns nil if a person agreed to the use, else an *evidence.Error of class Refused.
func (a *Agreement) Agreed(u VariableUse) error {
	if a != nil && a.Ask != nil {
		return a.Ask(u)
	}
	return u.Refusal()
}

// Refusal is the error of a use that nobody agreed to. Nothing was sent.
func (u VariableUse) Refusal() error {
	return evidence.Errorf(evidence.Refused, plain(u.File, 300), "if it may be sent there: --allow-env "+plain(u.String(), 300),
		fmt.Errorf("wants the value of %s sent to %s, and %w", plain(u.Variable, 200), plain(u.Host, 255), errNotAgreed))
}

var errNotAgreed = errors.New("nobody agreed to that; nothing was sent")

// template is a value of a checkout's file that names variables.
type template struct {
	text string
	uses []VariableUse
}

// fill gives the value, if a person agreed to every use that would read something.
func (t template) fill(env func(string) string, a *Agreement) (string, error) {
	for _, u := range t.uses {
		if env(u.Variable) == "" {
			continue // there is nothing to send
		}
		if err := a.Agreed(u); err != nil {
			return "", err
		}
	}
	return expand(t.text, env), nil
}

// variablesIn are the names of all variables that expand may look up in s.
func variablesIn(s string) []string {
	var names []string
	expand(s, func(name string) string {
		names = append(names, name)
		return ""
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// refusedUse reports whether an error is that of a variable that nobody agreed to send, or
// of a host that nobody agreed to ask.
func refusedUse(err error) bool { return NotAgreed(err) != nil }

// NotAgreed is what of err says that nobody agreed to something; nil if nothing does.
func NotAgreed(err error) error {
	var e *evidence.Error
	if errors.Is(err, errNotAgreed) && errors.As(err, &e) {
		return e
	}
	return nil
}

// ignored collects what a checkout's files say and is not taken, to be said once.
type ignored struct {
	mu    sync.Mutex
	lines []string
	said  bool
}

// note says that a setting is not taken, by its key if that looks like one, and never in more
// of the file's words.
func (i *ignored) note(file, key, why string) {
	what := "a line that is no setting"
	if keyed.MatchString(key) {
		what = `"` + key + `"`
		if len(key) > maxKey {
			what = `"` + strings.ToValidUTF8(key[:maxKey], "") + `…"`
		}
	}
	line := fmt.Sprintf("%s: %s is not taken from a checkout's file: %s", file, what, cmp.Or(why, "only where packages come from and how to get there is"))
	if !slices.Contains(i.lines, line) {
		i.lines = append(i.lines, line)
	}
}

// keyed is what a key may be: one word, which whoever prints it escapes.
var keyed = regexp.MustCompile(`^[^\s=]+$`)

// maxKey bounds how much of a key is shown, in bytes.
const maxKey = 40

// Ignored returns, the first time, what the files of the checkout say to resolvers and is
// not taken from them.
func (c *Client) Ignored() []string {
	i := c.config.ignored
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.said {
		return nil
	}
	i.said = true
	return i.lines
}
