package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/fetch/userconfig"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// maxCredentials bounds a file of credentials, in bytes.
const maxCredentials = 1 << 20

// credentialFile is the form of a file of credentials.
type credentialFile struct {
	Credential []struct {
		Host        string   `toml:"host"`
		Namespaces  []string `toml:"namespaces"`
		Username    string   `toml:"username"`
		Password    string   `toml:"password"`
		PasswordEnv string   `toml:"password_env"`
		Token       string   `toml:"token"`
		TokenEnv    string   `toml:"token_env"`
	} `toml:"credential"`
}

// ReadCredentials reads an operator's credentials from a TOML file:
//
//	[[credential]]
//	host = "npm.example.com"              # or host:port; the port is 443 if none is named
//	namespaces = ["com.example"]          # whose publishes may use it, each exactly
//	token = "…"                           # or token_env = "NAME" of a variable
//
//	[[credential]]
//	host = "images.example.com"
//	namespaces = ["com.example", "com.example.tools"]
//	username = "reader"
//	password_env = "IMAGES_PASSWORD"      # or password = "…"
//
// A file that holds a secret itself must be readable by its owner and its group at
// most. Errors never show a secret.
func ReadCredentials(path string, env func(string) string) ([]HostCredential, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	file, err := parseCredentials(path)
	if err != nil {
		return nil, err
	}
	var all []HostCredential
	for i, c := range file.Credential {
		fail := func(format string, v ...any) error {
			return fmt.Errorf("credential %d, host %s: %w", i+1, wire.Quoted(c.Host), fmt.Errorf(format, v...))
		}
		if runtime.GOOS != "windows" && (c.Token != "" || c.Password != "") && info.Mode().Perm()&0o037 != 0 {
			return nil, fmt.Errorf("the file holds a secret and has mode %04o; make it 0600,"+
				" or name variables with token_env and password_env", info.Mode().Perm())
		}
		if u, err := url.Parse("https://" + c.Host); err != nil || u.Hostname() == "" || u.Host != c.Host {
			return nil, fail("is neither host nor host:port")
		}
		if len(c.Namespaces) == 0 {
			return nil, fail("has no namespaces, so that nobody could use it")
		}
		if err := checkNamespaces(c.Host, c.Namespaces, all); err != nil {
			return nil, fail("%w", err)
		}
		k := HostCredential{Host: c.Host, Namespaces: c.Namespaces, Username: c.Username}
		if k.Token, err = secret(c.Token, c.TokenEnv, env); err != nil {
			return nil, fail("token: %w", err)
		}
		if k.Password, err = secret(c.Password, c.PasswordEnv, env); err != nil {
			return nil, fail("password: %w", err)
		}
		if (k.Token == "") == (k.Username == "" || k.Password == "") || k.Token != "" && k.Username+k.Password != "" {
			return nil, fail("needs either a token, or a username and a password")
		}
		if _, err := k.header(); err != nil {
			return nil, fail("%w", err)
		}
		all = append(all, k)
	}
	if len(all) == 0 {
		return nil, errors.New("no [[credential]]")
	}
	return all, nil
}

func parseCredentials(path string) (file credentialFile, err error) {
	text, err := userconfig.ReadFile(path, maxCredentials)
	if err != nil {
		return file, err
	}
	return file, toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields().Decode(&file)
}

// checkNamespaces is an error if one of the namespaces is none, or has a credential for the host already.
func checkNamespaces(host string, namespaces []string, all []HostCredential) error {
	for _, n := range namespaces {
		if n == "" || strings.ContainsAny(n, "/* ") {
			return fmt.Errorf("%s is no namespace, such as com.example", wire.Quoted(n))
		}
		if slices.ContainsFunc(all, func(k HostCredential) bool {
			return k.hostPort() == wire.HostPort(&url.URL{Host: host}) && slices.Contains(k.Namespaces, n)
		}) {
			return fmt.Errorf("namespace %s has one already", wire.Quoted(n))
		}
	}
	return nil
}

// secret returns text, or the value of variable if that is named, which must not be empty.
func secret(text, variable string, env func(string) string) (string, error) {
	switch {
	case variable == "":
		return text, nil
	case text != "":
		return "", errors.New("is given twice")
	}
	if text = env(variable); text == "" {
		return "", fmt.Errorf("the variable %s is not set", wire.Quoted(variable))
	}
	return text, nil
}
