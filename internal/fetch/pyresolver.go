package fetch

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// chosenUV are the keys that say which versions uv chooses, and how it trusts: they are
// taken of the user's and the system's uv.toml.
var chosenUV = []string{"index-strategy", "exclude-newer", "prerelease", "resolution", "fork-strategy", "native-tls", "system-certs"}

// chosenPip are the same of pip's configuration, and how it reaches its indexes.
var chosenPip = []string{"cert", "client-cert", "proxy", "timeout", "default-timeout", "retries", "pre", "prefer-binary", "find-links", "no-index"}

// uvSettings reads chosenUV from the user's files, the user's own first.
func uvSettings(env func(string) string, home string) map[string]any {
	chosen := map[string]any{}
	for _, path := range uvFiles(env, "", home) {
		text, err := readFile(path, maxConfigFile)
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
func (c *Client) indexURLs() ([]string, error) {
	var all []string
	for _, text := range c.config.PyPI.Indexes {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("package index configuration: %s is not a URL", quoted(text))
		}
		if err := c.hosts.ask(u, byConfig); err != nil {
			return nil, err
		}
		if c.config.PyPI.Authorization != nil {
			header, err := c.config.PyPI.Authorization(u)
			if err != nil {
				return nil, err
			}
			if encoded, ok := strings.CutPrefix(header, "Basic "); ok {
				both, err := base64.StdEncoding.DecodeString(encoded)
				if err != nil {
					return nil, fmt.Errorf("package index configuration: credentials for %s: %w", show(u), err)
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
func (c *Client) UVFile() (string, error) {
	indexes, err := c.indexURLs()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if c.config.PyPI.uv != nil {
		text, err := toml.Marshal(c.config.PyPI.uv)
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
func (c *Client) PipVariables() ([]string, error) {
	indexes, err := c.indexURLs()
	if err != nil {
		return nil, err
	}
	var set []string
	if c.config.PyPI.pip != nil {
		for _, key := range chosenPip {
			if v := c.config.PyPI.pip(key); v != "" {
				set = append(set, "PIP_"+strings.ToUpper(strings.ReplaceAll(key, "-", "_"))+"="+v)
			}
		}
	}
	if n := len(indexes); n > 0 {
		set = append(set, "PIP_INDEX_URL="+indexes[n-1], "PIP_EXTRA_INDEX_URL="+strings.Join(indexes[:n-1], " "))
	}
	return set, nil
}
