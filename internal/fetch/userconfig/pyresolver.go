package userconfig

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// chosenPip are the same keys of pip's configuration, and those of how it reaches its indexes.
var chosenPip = []string{"cert", "client-cert", "proxy", "timeout", "default-timeout", "retries", "pre",
	"prefer-binary", "find-links", "no-index"}

// indexURLs returns the indexes with their credentials, the default one last; none if nothing
// is configured.
func (p PyPI) indexURLs(hosts wire.Hosts) ([]string, error) {
	var all []string
	for _, text := range p.Indexes {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("package index configuration: %s is not a URL", wire.Quoted(text))
		}
		if err := hosts.Check(u, wire.ByConfig); err != nil {
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

// UVFile returns the text of the uv.toml that uv is to read in place of all others. It is an
// error if an index needs a variable that nobody agreed to send there.
func (p PyPI) UVFile(hosts wire.Hosts) (string, error) {
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

// UVSetting returns the value of one of chosenUV as uv.toml has it, "" if it is unset.
func (p PyPI) UVSetting(key string) string {
	if p.uv[key] == nil {
		return ""
	}
	return fmt.Sprint(p.uv[key])
}

// PipVariables returns the variables that hold all of pip's configuration. It is an error if an
// index needs a variable that nobody agreed to send there.
func (p PyPI) PipVariables(hosts wire.Hosts) ([]string, error) {
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
