package fetch

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// pypiUser reads the configuration of uv and pip into config.
func pypiUser(config *Config, env func(string) string, projectDir, home string) error {
	pip, err := pipSettings(env, home)
	if err != nil {
		return err
	}
	list, err := uvIndexes(env, projectDir, home, config.ignored)
	if err != nil {
		return err
	}
	if len(list.extra) == 0 && list.standard.url == "" {
		list = indexList{standard: pypiIndex{url: pip("index-url")}}
		for _, u := range strings.Fields(pip("extra-index-url")) {
			list.extra = append(list.extra, pypiIndex{url: u})
		}
	}
	if pip("trusted-host") != "" {
		config.Warnings = append(config.Warnings, "pip's trusted-host is not honoured; TLS certificates are verified all the same (name your authority in PIP_CERT)")
	}
	config.PyPI.Authorities = authorities("pip", resolve(pip("cert"), projectDir, home), resolve(env("REQUESTS_CA_BUNDLE"), projectDir, home))
	logins, err := netrcLogins(env, home)
	if err != nil {
		return err
	}
	for host := range logins {
		config.addHost("https://"+host, artifact.PyPI, "")
	}
	config.PyPI.pip, config.PyPI.uv = pip, uvSettings(env, home)
	credentials := make(map[string]login)     // by the host, with its port
	waiting := make(map[string][]VariableUse) // that somebody has to agree to first, likewise
	agreement := config.Agreement
	hosts := make(map[string]bool) // of the indexes
	indexes := list.extra
	if len(indexes) > 0 || list.standard.url != "" {
		// A default is always asked, last.
		last := list.standard
		last.url = cmp.Or(last.url, defaultIndex)
		indexes = append(indexes, last)
	}
	for _, ix := range indexes {
		u, err := url.Parse(ix.url)
		if err != nil || u.Host == "" {
			return fmt.Errorf("package index configuration: %s is not a URL", quoted(withoutUser(ix.url)))
		}
		l := login{ix.user, ix.password}
		if u.User != nil {
			l.user = cmp.Or(l.user, u.User.Username())
			if p, ok := u.User.Password(); ok {
				l.password = cmp.Or(l.password, p)
			}
			u.User = nil
		}
		hosts[hostPort(u)] = true
		file := ""
		if ix.checkout != "" {
			file = ix.checkout + ", index"
		}
		config.addHost(u.String(), artifact.PyPI, file)
		if _, seen := credentials[hostPort(u)]; l != (login{}) && !seen {
			credentials[hostPort(u)], waiting[hostPort(u)] = l, ix.uses
		}
		u.RawQuery, u.Fragment, u.RawFragment = "", "", ""
		config.PyPI.Indexes = append(config.PyPI.Indexes, u.String())
	}
	config.PyPI.Authorization = func(u *url.URL) (string, error) {
		l, ok := credentials[hostPort(u)]
		for _, use := range waiting[hostPort(u)] {
			if err := agreement.Agreed(use); err != nil {
				return "", err
			}
		}
		// A netrc has no ports: its machine is the host at its usual port, and that
		// of an index.
		if !ok && (u.Port() == "" || u.Port() == "443" || hosts[hostPort(u)]) {
			l, ok = logins[strings.ToLower(u.Hostname())]
		}
		if !ok {
			return "", nil
		}
		return basic(l.user, l.password), nil
	}
	return nil
}

// withoutUser is a URL that may not parse, without what may be a password.
func withoutUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return "..." + s[i:]
	}
	return s
}

// netrcLogins reads the file that NETRC names, else ~/.netrc or ~/_netrc.
func netrcLogins(env func(string) string, home string) (map[string]login, error) {
	paths := []string{env("NETRC")}
	if paths[0] == "" && home != "" {
		paths = []string{filepath.Join(home, ".netrc"), filepath.Join(home, "_netrc")}
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		text, err := readFile(resolve(path, "", home), maxConfigFile)
		if err != nil {
			return nil, fmt.Errorf("netrc: %w", err)
		}
		if text != "" {
			return parseNetrc(text), nil
		}
	}
	return nil, nil
}

// pipSettings gives pip's settings by their long names: variables first, then its
// files in pip's order, the section for installing before the global one.
func pipSettings(env func(string) string, home string) (func(string) string, error) {
	global, install := make(map[string]string), make(map[string]string)
	for _, path := range pipFiles(env, home) {
		text, err := readFile(path, maxConfigFile)
		if err != nil {
			return nil, fmt.Errorf("pip configuration: %w", err)
		}
		sections := parsePipConf(text)
		maps.Copy(global, sections["global"])
		maps.Copy(install, sections["install"])
	}
	return func(key string) string {
		name := "PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
		return cmp.Or(env(name), install[key], global[key])
	}, nil
}

// pipFiles are the places of pip's files; later ones count more. PIP_CONFIG_FILE takes
// the place of the user's own, and as the null device that of all.
func pipFiles(env func(string) string, home string) []string {
	named := env("PIP_CONFIG_FILE")
	if named == os.DevNull {
		return nil
	}
	file := "pip.conf"
	if runtime.GOOS == "windows" {
		file = "pip.ini"
	}
	var files []string
	add := func(elements ...string) {
		if elements[0] != "" {
			files = append(files, filepath.Join(append(elements, file)...))
		}
	}
	switch runtime.GOOS {
	case "windows":
		add(env("PROGRAMDATA"), "pip")
	case "darwin":
		add("/Library/Application Support/pip")
	default:
		for _, dir := range filepath.SplitList(cmp.Or(env("XDG_CONFIG_DIRS"), "/etc/xdg")) {
			add(dir, "pip")
		}
		add("/etc")
	}
	_, err := os.Stat(named)
	if named == "" || err != nil {
		if runtime.GOOS == "windows" {
			add(home, "pip")
			add(env("APPDATA"), "pip")
		} else if home != "" {
			add(home, ".pip")
			add(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "pip")
			if runtime.GOOS == "darwin" {
				add(home, "Library/Application Support/pip")
			}
		}
	}
	add(env("VIRTUAL_ENV"))
	if named != "" && err == nil {
		files = append(files, named)
	}
	return files
}
