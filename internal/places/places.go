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

	home string // by which they were found; "" if HALLMARK_HOME names them
}

// Find returns the directories: below $HALLMARK_HOME if that is set, else the user's cache, state and
// configuration directories by the platform's convention. It makes no directory. Its error is of
// class Refused if a directory is not absolute, since it would depend on the working directory,
// which may be a checkout; else of class Operation.
func Find(getenv func(string) string) (Places, error) {
	if home := getenv("HALLMARK_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return Places{}, refusal("", fmt.Errorf("HALLMARK_HOME is %+q, which is not absolute", home))
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
	for _, dir := range []string{cache, state, config} {
		if !filepath.IsAbs(dir) {
			return Places{}, refusal("", fmt.Errorf("the home directory gives %+q, which is not absolute", dir))
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return Places{Cache: filepath.Join(cache, "hallmark"), State: filepath.Join(state, "hallmark"),
		Config: filepath.Join(config, "hallmark"), home: home}, nil
}

func placeError(err error) error {
	return evidence.Errorf(evidence.Operation, "", "set HALLMARK_HOME to a directory of your own", err)
}
