package userconfig

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/consent"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// chosenUV are the keys that say which versions uv chooses, and how it trusts: they are
// taken of the user's and the system's uv.toml.
var chosenUV = []string{"index-strategy", "exclude-newer", "prerelease", "resolution", "fork-strategy", "native-tls",
	"system-certs"}

// chosenPip are the same of pip's configuration, and how it reaches its indexes.
var chosenPip = []string{"cert", "client-cert", "proxy", "timeout", "default-timeout", "retries", "pre",
	"prefer-binary", "find-links", "no-index"}

// uvSettings reads chosenUV from the user's files, the user's own first.
func uvSettings(env func(string) string, home string) map[string]any {
	chosen := map[string]any{}
	for _, path := range uvFiles(env, "", home) {
		text, err := ReadFile(path, maxConfigFile)
		if err != nil || filepath.Base(path) == "pyproject.toml" {
			continue // reading the indexes says what is wrong
		}
		var all map[string]any
		if toml.Unmarshal([]byte(text), &all) != nil {
			continue
		}
		for _, key := range chosenUV {
			value := all[key]
			if pip, ok := all["pip"].(map[string]any); ok && value == nil {
				value = pip[key]
			}
			if _, have := chosen[key]; !have && value != nil {
				chosen[key] = value
			}
		}
	}
	return chosen
}

// indexURLs are the indexes with the credentials for them, the default one last; none if
// nothing is configured.
func (p PyPI) indexURLs(hosts consent.Hosts) ([]string, error) {
	var all []string
	for _, text := range p.Indexes {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("package index configuration: %s is not a URL", wire.Quoted(text))
		}
		if err := hosts.Check(u, consent.ByConfig); err != nil {
			return nil, err
		}
		if p.Authorization != nil {
			header, err := p.Authorization(u)
			if err != nil {
				return nil, err
			}
			if encoded, ok := strings.CutPrefix(header, "Basic "); ok {
				both, err := base64.StdEncoding.DecodeString(encoded)
				if err != nil {
					return nil, fmt.Errorf("package index configuration: credentials for %s: %w", wire.ShowURL(u), err)
				}
				user, password, _ := strings.Cut(string(both), ":")
				u.User = url.UserPassword(user, password)
			}
		}
		all = append(all, u.String())
	}
	return all, nil
}

// UVFile is the text of the uv.toml that uv is to read in place of all others. It is an
// error if an index needs a variable that nobody agreed to send there.
func (p PyPI) UVFile(hosts consent.Hosts) (string, error) {
	indexes, err := p.indexURLs(hosts)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if p.uv != nil {
		text, err := toml.Marshal(p.uv)
		if err != nil {
			return "", fmt.Errorf("uv configuration: %w", err)
		}
		b.Write(text)
	}
	for i, u := range indexes {
		fmt.Fprintf(&b, "[[index]]\nurl = %s\ndefault = %v\n", strconv.Quote(u), i == len(indexes)-1)
	}
	return b.String(), nil
}

// PipVariables are the variables by which pip is told all that it is to know.
func (p PyPI) PipVariables(hosts consent.Hosts) ([]string, error) {
	indexes, err := p.indexURLs(hosts)
	if err != nil {
		return nil, err
	}
	var set []string
	if p.pip != nil {
		for _, key := range chosenPip {
			if v := p.pip(key); v != "" {
				set = append(set, "PIP_"+strings.ToUpper(strings.ReplaceAll(key, "-", "_"))+"="+v)
			}
		}
	}
	if n := len(indexes); n > 0 {
		set = append(set, "PIP_INDEX_URL="+indexes[n-1], "PIP_EXTRA_INDEX_URL="+strings.Join(indexes[:n-1], " "))
	}
	return set, nil
}
