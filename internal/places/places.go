// Package places finds the directories that Hallmark keeps files in.
package places

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hallmark-mcp/hallmark/evidence"
)

// Places are the directories that Hallmark keeps files in.
type Places struct {
	Cache string // what can be fetched again: the store
	State string // what must survive a cleaned cache: approvals, drift, journals
	// Config is the project of the user's own clients, whose hallmark.toml and hallmark.lock lie there.
	Config string
}

// Find returns the directories: below $HALLMARK_HOME if that is set, which must be absolute, else
// the user's cache, state and configuration directories by the platform's convention. It makes no directory. Its
// error is of class Operation.
func Find(getenv func(string) string) (Places, error) {
	if home := getenv("HALLMARK_HOME"); home != "" {
		// a relative path would make the state depend on the working directory, which may be a checkout
		if !filepath.IsAbs(home) {
			return Places{}, placeError(fmt.Errorf("HALLMARK_HOME is %+q, which is not absolute", home))
		}
		return Places{Cache: filepath.Join(home, "cache"), State: filepath.Join(home, "state"),
			Config: filepath.Join(home, "config")}, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Places{}, placeError(err)
	}
	state := getenv("XDG_STATE_HOME")
	switch {
	case state != "" && filepath.IsAbs(state):
	case runtime.GOOS == "windows" || runtime.GOOS == "darwin":
		if state, err = os.UserConfigDir(); err != nil {
			return Places{}, placeError(err)
		}
	default:
		home, err := os.UserHomeDir()
		if err != nil {
			return Places{}, placeError(err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return Places{}, placeError(err)
	}
	return Places{Cache: filepath.Join(cache, "hallmark"), State: filepath.Join(state, "hallmark"),
		Config: filepath.Join(config, "hallmark")}, nil
}

func placeError(err error) error {
	return evidence.Errorf(evidence.Operation, "", "set HALLMARK_HOME to a directory of your own", err)
}
