package durable

import (
	"cmp"
	"errors"
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

// FindPlaces returns the directories: below $HALLMARK_HOME if that is set, else the user's cache, state and
// configuration directories by the platform's convention. It makes no directory. Its error is of
// class Refused if a directory is not absolute, since it would depend on the working directory,
// which may be a checkout; else of class Operation.
func FindPlaces(getenv func(string) string) (Places, error) {
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
	case filepath.IsAbs(state):
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

// Moved returns the places with another state or cache directory, unless that is "". The error is of
// class Refused if one is not absolute: see [FindPlaces].
func (p Places) Moved(state, cache string) (Places, error) {
	p.State, p.Cache = cmp.Or(state, p.State), cmp.Or(cache, p.Cache)
	for _, dir := range []string{p.State, p.Cache} {
		if !filepath.IsAbs(dir) {
			return p, evidence.Errorf(evidence.Refused, dir, "give its absolute path", errors.New("is not absolute"))
		}
	}
	return p, nil
}

// Arguments returns the options of "hallmark run" that make it find the cache and the state in these
// directories where the environment has neither HALLMARK_HOME nor XDG's variables, as that of a
// server has which a client starts from the desktop, or with chosen variables only. There are none if
// it finds them there anyway.
func (p Places) Arguments() []string {
	var out []string
	usual, err := usualPlaces()
	if err != nil || p.State != usual.State {
		out = append(out, "--state", p.State)
	}
	if err != nil || p.Cache != usual.Cache {
		out = append(out, "--cache", p.Cache)
	}
	return out
}

// usualPlaces are the cache and the state of this user where no variable moves them.
func usualPlaces() (Places, error) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return FindPlaces(func(string) string { return "" })
	}
	home, err := os.UserHomeDir()
	return Places{Cache: filepath.Join(home, ".cache", "hallmark"),
		State: filepath.Join(home, ".local", "state", "hallmark")}, err
}
