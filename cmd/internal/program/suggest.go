package program

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

const (
	maxTypos     = 2  // letters that may be wrong
	maxTyped     = 64 // bytes of what is compared
	maxSuggested = 3
)

// unknownCommand is the error of a command line that names a command that c does not have. Its hint begins with those
// that may be meant, and with topics of help.
func unknownCommand(c *cobra.Command, typed string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	meant := near(typed, names)
	for _, topic := range near(typed, topicNames(c)) {
		meant = append(meant, "help "+topic)
	}
	path := c.CommandPath()
	return suggest(Usage(c, fmt.Errorf("unknown command %q for %q", typed, path)), path+" ", meant)
}

// explainUnknown makes cobra's error about a command that the program does not have one of unknownCommand.
func explainUnknown(c *cobra.Command, err error) error {
	quoted, found := strings.CutPrefix(err.Error(), "unknown command ")
	if !found || evidence.ClassOf(err) == evidence.Validation {
		return err
	}
	quoted, _ = strconv.QuotedPrefix(quoted)
	typed, failed := strconv.Unquote(quoted)
	if failed != nil {
		return err
	}
	return unknownCommand(c, typed)
}

// unknownFlag gives err, of the flags of c, a hint that begins with those that may be meant.
func unknownFlag(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		why := "is no number as this flag takes it"
		switch {
		case number.Func == "ParseBool":
			why = "is neither true nor false"
		case errors.Is(number, strconv.ErrRange):
			why = "is too large or too small"
		}
		return Usage(c, fmt.Errorf("invalid argument %q for \"--%s\" flag: it %s", invalid.GetValue(),
			invalid.GetFlag().Name, why))
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usage(c, err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return suggest(Usage(c, err), "--", near(unknown.GetSpecifiedName(), names))
}

// near returns up to three of names that somebody who typed a word may have meant, the nearest first: those that begin
// with it, and those that differ in a letter or two, but in no more than half of it.
func near(typed string, names []string) []string {
	if len(typed) < 2 || len(typed) > maxTyped {
		return nil
	}
	distance := func(name string) int { return spelling.Distance(typed, name) }
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return len(name) > maxTyped || !strings.HasPrefix(name, typed) && distance(name) > min(maxTypos, len(typed)/2)
	})
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	return found[:min(len(found), maxSuggested)]
}

// suggest puts what may be meant before the hint of a usage error.
func suggest(err error, before string, meant []string) error {
	var usage *evidence.Error
	if len(meant) > 0 && errors.As(err, &usage) {
		for i := range meant {
			meant[i] = "'" + before + meant[i] + "'"
		}
		usage.Hint = "did you mean " + strings.Join(meant, " or ") + "? " + usage.Hint
	}
	return err
}
