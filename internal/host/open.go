package host

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/fetch/transfer"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/machine"
	"github.com/hallmark-mcp/hallmark/internal/wire"
	"github.com/hallmark-mcp/hallmark/surface"
)

// Setup says for which user, and with which consent, [Open] makes a Host.
type Setup struct {
	Dir     string   // of the project that the flow is for
	Environ []string // "NAME=value"; nil is the environment of this process
	Limits  fetch.Limits
	Logger  *slog.Logger
	Stderr  io.Writer // what servers print while they are captured; nil is os.Stderr

	Progress func(what string, done, total int64) // is told of downloads; may be nil
	Doing    func(what string)                    // see [Host.ShowStatus]; may be nil

	// State and Cache are directories, absolute, to keep files in, in place of those that the environment names; ""
	// names none.
	State, Cache string

	AllowEnv   []string // "NAME=HOST": variables that a file of the checkout may have sent
	AllowHosts []string // "HOST", "HOST:PORT", "HOST:*": that a file of the checkout may have asked
	// Ask and AskHosts put a question to a person; nil if no person can be asked.
	Ask      func(wire.VariableUse) (Consent, error)
	AskHosts func([]wire.HostUse) (Consent, error)
}

// Open makes the Host of a setup: it finds the user's directories, and combines what the setup allows
// to be asked and sent with HALLMARK_ALLOW_HOSTS and HALLMARK_REGISTRY. It opens no file, and refuses
// directories that somebody else could fill: see [durable.Places.Check].
func Open(s Setup) (*Host, error) {
	environ, getenv := s.Environ, os.Getenv
	if environ == nil {
		environ = os.Environ()
	} else {
		getenv = func(name string) string { return foreign.Variable(environ, name) }
	}
	where, err := durable.FindPlaces(getenv)
	if err == nil {
		where, err = where.Moved(s.State, s.Cache)
	}
	if err == nil {
		err = where.Check()
	}
	if err != nil {
		return nil, err
	}
	config := fetch.UserConfig(getenv, s.Dir, FindHome(s.Environ))
	config.Logger = s.Logger
	config.Limits = s.Limits
	config.Limits.Parallel = cmp.Or(s.Limits.Parallel, filesAtOnce)
	config.Limits.DocumentAtOnce = cmp.Or(s.Limits.DocumentAtOnce, filesAtOnce)
	if s.Progress != nil {
		config.Progress = func(ref artifact.Ref, done, total int64) { s.Progress(ref.String(), done, total) }
	}
	sending, err := s.sending(getenv)
	if err != nil {
		return nil, err
	}
	h := &Host{
		Places: where, Dir: s.Dir, Environ: environ, Getenv: getenv, Sending: sending,
		Logger: s.Logger, ShowStatus: s.Doing, Stderr: s.Stderr, Now: time.Now,
		Kept: new(Kept), Answers: new(Answers),
	}
	config.Agreement.Ask = h.RequireVariableConsent
	config.Agreement.AskHost = func(u wire.HostUse) error { return h.RequireHostConsent(u) }
	h.Patience = &transfer.Patience{}
	if s.Logger != nil {
		h.Patience.Say = func(name string) { s.Logger.Warn("waiting for " + surface.Escape(name) + "…") }
	}
	config.Patience = h.Patience
	h.Fetch = fetch.New(config)
	return h, nil
}

// filesAtOnce is how many files one command fetches at once, unless flags say so: npm asks as many connections of a
// registry. A registry's server keeps its own, lower limit for each document.
const filesAtOnce = 16

// FindHome returns the home directory of an environment's user, "" if there is none. A nil
// environment means that of this process.
func FindHome(environ []string) string {
	if environ == nil {
		home, _ := os.UserHomeDir()
		return home
	}
	if runtime.GOOS == "windows" {
		return foreign.Variable(environ, "USERPROFILE")
	}
	return foreign.Variable(environ, "HOME")
}

// sending returns which hosts may be asked and which variables may be sent: those of the setup and
// of the environment. A person is asked about the others.
func (s *Setup) sending(getenv func(string) string) (*Sending, error) {
	out := &Sending{Ask: s.Ask, AskHosts: s.AskHosts}
	for _, text := range s.AllowEnv {
		v, err := machine.ParseVariable(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "--allow-env", "", err)
		}
		out.Allowed = append(out.Allowed, v)
	}
	for _, text := range s.AllowHosts {
		name, err := parseAllowedHost(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "--allow-host", "", err)
		}
		out.Hosts = append(out.Hosts, name)
	}
	for text := range strings.SplitSeq(getenv("HALLMARK_ALLOW_HOSTS"), ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		name, err := parseAllowedHost(text)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, "HALLMARK_ALLOW_HOSTS", "", err)
		}
		out.Hosts = append(out.Hosts, name)
	}
	out.AllowURL(getenv("HALLMARK_REGISTRY"))
	return out, nil
}

// parseAllowedHost reads "HOST", "HOST:PORT", or "HOST:*" for every port.
func parseAllowedHost(text string) (string, error) {
	name, every := strings.CutSuffix(strings.TrimSpace(text), ":*")
	host, err := machine.ParseHost(name)
	if err == nil && every {
		host += ":*"
	}
	return host, err
}
