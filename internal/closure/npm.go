package closure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/archive"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/foreign"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/project"
)

// ResolveNPM asks npm for the exact versions of name at spec and of all its dependencies. npm runs
// no code of the packages and only asks registries. It reads the user's configuration as Hallmark
// wrote it down, and the checkout's as far as that is permitted. What was published after before is left out; zero
// leaves out nothing.
func ResolveNPM(ctx context.Context, h *host.Host, name, spec string, before time.Time) (*project.Closure, error) {
	spec = cmp.Or(spec, "*") // as npx has it: latest, unless that is deprecated or needs another Node
	if strings.ContainsAny(spec, `:/\`) {
		return nil, evidence.Errorf(evidence.Refused, "npm:"+name, "",
			fmt.Errorf("%+q is neither version nor range nor tag of the npm registry", spec))
	}
	return resolve(ctx, h, "npm:"+name+"@"+spec, map[string]any{"dependencies": map[string]string{name: spec}}, before,
		project.ParsePackageLock)
}

// ResolveNPMFile is [ResolveNPM] of the package ref in a tarball on this machine, which no registry need have: npm is
// asked what it depends on.
func ResolveNPMFile(ctx context.Context, h *host.Host, ref artifact.Ref, file string) (*project.Closure, error) {
	own := map[string]string{ref.Name(): "file:" + filepath.ToSlash(file)}
	if _, err := fetch.ReadNPMFile(file, "npm-shrinkwrap.json", project.MaxClosure); err == nil {
		h.Logger.Warn("the package has an npm-shrinkwrap.json, which npm follows once it is published, and not here: " +
			"versions may differ")
	}
	// What lies in the tarball itself is a file to npm, too. Of other files no package is taken: see
	// ParsePackageLockOf.
	return resolve(ctx, h, ref.String(), map[string]any{"dependencies": own}, time.Time{},
		func(lock []byte) (*project.Closure, error) {
			return project.ParsePackageLockOf(lock, ref)
		}, "--allow-file=all")
}

// ResolvePackages is [ResolveNPM] of several packages at exact versions, by name. The closure has no
// Root. An optional package that npm cannot have is not in it; the caller finds out why. subject
// names the packages in errors.
func ResolvePackages(ctx context.Context, h *host.Host, subject string,
	required, optional map[string]string) (*project.Closure, error) {
	return resolve(ctx, h, subject, map[string]any{"dependencies": required, "optionalDependencies": optional},
		time.Time{}, project.ParseDependencies)
}

// resolve lets npm write the package lock of a manifest with the given members, and parses it. One command asks npm
// for the same lock once.
func resolve(ctx context.Context, h *host.Host, subject string, members map[string]any,
	before time.Time, parse func([]byte) (*project.Closure, error), options ...string) (*project.Closure, error) {
	members["name"], members["private"] = "hallmark-closure", true
	manifest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	for _, line := range h.Fetch.IgnoredSettings(artifact.NPM) {
		h.Logger.Warn(line)
	}
	user, checkout, err := h.Fetch.NPMFiles()
	if err != nil {
		return nil, err
	}
	cutoff := append(npmCutoff(h, before), options...)
	question := fmt.Sprintf("npm %q", append([]string{h.Dir, string(manifest), user, checkout}, cutoff...))
	data, err := h.Answers.Get(question, func() ([]byte, error) {
		return lockPackages(ctx, h, subject, manifest, user, checkout, cutoff)
	})
	if err != nil {
		return nil, err
	}
	closure, err := parse(data)
	if err != nil {
		return nil, evidence.Errorf(evidence.Refused, subject, "",
			fmt.Errorf("its dependencies cannot be pinned: %w", err))
	}
	return closure, nil
}

// lockPackages returns the package lock that npm writes of a manifest, with the configuration of the user and of the
// checkout.
func lockPackages(ctx context.Context, h *host.Host, subject string, manifest []byte, user, checkout string,
	cutoff []string) ([]byte, error) {
	work, remove, err := WorkDir(h, "npm-")
	if err != nil {
		return nil, err
	}
	defer remove()
	for file, text := range map[string]string{"package.json": string(manifest), ".npmrc": checkout, "user.npmrc": user,
		"global.npmrc": ""} {
		if err := os.WriteFile(filepath.Join(work, file), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	args := slices.Concat([]string{"install", "--package-lock-only", "--ignore-scripts",
		"--omit-lockfile-registry-resolved",
		"--install-strategy=hoisted", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"},
		registryOptions(),
		ownNPMOptions(work, CacheDir(h, "npm", work)), retryOptions(h.Fetch.NPMSetting), cutoff)
	call := foreign.Call{Tool: foreign.NPM, Dir: work, Set: HomeVariables(work), Args: args}
	err = runNPM(ctx, h, subject, call)
	if from, ok := errors.AsType[foreignSourceError](err); ok && from == fromURL {
		// To see what a package brings along in its tarball, npm reads that by its URL, and then refuses it as it does
		// a URL among the dependencies; but not where it unpacks the packages, too.
		call.Args = append([]string{"install", "--no-bin-links"}, args[2:]...)
		err = runNPM(ctx, h, subject, call)
	}
	if err != nil {
		return nil, err
	}
	return host.ReadFile(filepath.Join(work, "package-lock.json"), project.MaxClosure)
}

// ownNPMOptions returns the options that make npm read only the configuration files in dir, and
// keep what it fetches in cache.
func ownNPMOptions(dir, cache string) []string {
	return []string{"--userconfig=" + filepath.Join(dir, "user.npmrc"), "--globalconfig=" +
		filepath.Join(dir, "global.npmrc"), "--cache=" + cache,
		"--logs-max=0", "--no-workspaces", "--git=" + filepath.Join(dir, "no-git"), "--script-shell=" +
			filepath.Join(dir, "no-shell"), "--node-options="}
}

// registryOptions returns the options by which npm takes dependencies only from registries: not
// from repositories, for which it would start git and scripts, not from URLs, and not from local
// files. An older npm that does not know them runs without git, see ownNPM.
func registryOptions() []string {
	return []string{"--allow-git=none", "--allow-remote=none", "--allow-file=none", "--allow-directory=none",
		"--package-lock", "--no-dry-run", "--no-global"}
}

// retryOptions returns the options that let npm wait 1 and 5 seconds, in milliseconds here, before
// it asks an unreachable registry again, instead of its own 10 and 60: a person waits for the
// answer. It returns none if the user configured any of these settings, because they could
// contradict each other.
func retryOptions(setting func(key string) string) []string {
	for _, key := range []string{"fetch-retries", "fetch-retry-factor", "fetch-retry-mintimeout",
		"fetch-retry-maxtimeout"} {
		if setting(key) != "" {
			return nil
		}
	}
	return []string{"--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"}
}

// runNPM runs the user's npm as c says, after finding its Path.
func runNPM(ctx context.Context, h *host.Host, subject string, c foreign.Call) error {
	bin, err := Find(ctx, h, "npm", c.Dir)
	if err != nil {
		return NotFoundError(err, subject, "install Node.js, which brings npm")
	}
	c.Path = bin
	return runTool(ctx, h, "npm", subject, c)
}

// EntryScript chooses the file that starts a package: the named executable, the only one, or the
// one with the package's name.
func EntryScript(v *fetch.NPMVersion, bin string) (string, error) {
	file := v.Bin[cmp.Or(bin, v.Name[strings.LastIndexByte(v.Name, '/')+1:])]
	all := slices.Compact(slices.Sorted(maps.Values(v.Bin)))
	if bin == "" && len(all) == 1 { // under one name or several, as npx has it
		file = all[0]
	}
	if file == "" {
		return "", evidence.Errorf(evidence.Validation, "npm:"+v.Name+"@"+v.Version,
			"name the executable with 'npx -p PACKAGE EXECUTABLE'",
			errors.New("has no executable to start, or several"))
	}
	clean := filepath.ToSlash(filepath.Clean(filepath.FromSlash(file)))
	if err := archive.CheckInstalledPath(clean); err != nil {
		return "", evidence.Errorf(evidence.Validation, "npm:"+v.Name+"@"+v.Version, "",
			fmt.Errorf("its executable %+q is no file of the package: %w", file, err))
	}
	return "node_modules/" + v.Name + "/" + clean, nil
}
