package foreign

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Tool is a kind of program; it decides which variables of the environment the program gets.
type Tool string

// The tools.
const (
	NPM      Tool = "npm"
	UV       Tool = "uv"
	Pip      Tool = "pip"
	Go       Tool = "go"
	Git      Tool = "git"
	Question Tool = "question" // an interpreter or a version manager that is asked what it is
	Sealed   Tool = "sealed"   // an installer that needs no network and nothing of the user's

	Credential Tool = "credential" // a helper of docker's that keeps the user's credentials
)

// commonVariables are given to every program: to find others, and to print.
var commonVariables = []string{"PATH", "LANG", "LC_ALL", "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT"}

// networkVariables are given to programs that use the network.
var networkVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
}

// managerVariables tell version managers where they keep what their shims start, and which version
// the user chose.
var managerVariables = []string{
	"PYENV_ROOT", "PYENV_VERSION", "RBENV_ROOT", "RBENV_VERSION", "NODENV_ROOT", "NODENV_VERSION", "ASDF_DIR",
	"ASDF_DATA_DIR", "ASDF_CONFIG_FILE", "MISE_DATA_DIR", "MISE_CONFIG_DIR", "MISE_CACHE_DIR", "MISE_STATE_DIR",
	"VOLTA_HOME", "NVM_DIR", "NVM_BIN", "FNM_DIR", "FNM_MULTISHELL_PATH",
}

// homeVariables are given to tools that keep the user's credentials in the home directory.
var homeVariables = []string{"HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "HOMEDRIVE", "HOMEPATH", "USER",
	"LOGNAME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}

// remoteVariables let git, and tools that start it, reach a repository as the user configured it:
// keys, agents, certificates and what the usual credential helpers read. Other variables of git are
// left out, because they say where a repository lies or make git run something.
var remoteVariables = []string{
	"GIT_SSH_COMMAND", "GIT_SSH", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_PROXY_SSL_CAINFO",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "SSH_AUTH_SOCK", "CURL_CA_BUNDLE", "GNUPGHOME",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "GH_CONFIG_DIR",
	"AWS_PROFILE", "AWS_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "NETRC",
}

// credentialVariables say where the usual credential helpers of docker keep credentials, and how they
// reach the services that hold them.
var credentialVariables = []string{
	"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
	"XAUTHORITY", "GNUPGHOME", "PASSWORD_STORE_DIR", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
	"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"AWS_ECR_CACHE_DIR", "AWS_ECR_DISABLE_CACHE", "AWS_SDK_LOAD_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS",
	"CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME", "CLOUDSDK_PYTHON", "AZURE_CONFIG_DIR", "AZURE_CLIENT_ID",
	"AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST",
	"GH_CONFIG_DIR",
}

// allowedVariables are the names for each tool.
var allowedVariables = map[Tool][]string{
	NPM: slices.Concat(commonVariables, networkVariables, managerVariables,
		[]string{"NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"}),
	UV: slices.Concat(commonVariables, networkVariables, managerVariables, []string{
		"UV_HTTP_TIMEOUT", "UV_HTTP_CONNECT_TIMEOUT", "UV_HTTP_RETRIES", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS",
		"UV_INDEX_STRATEGY", "UV_EXCLUDE_NEWER", "UV_PRERELEASE", "UV_RESOLUTION", "UV_CONCURRENT_DOWNLOADS",
		"SSL_CLIENT_CERT",
	}),
	Pip: slices.Concat(commonVariables, networkVariables, managerVariables, []string{
		"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "PIP_CLIENT_CERT", "PIP_PROXY", "PIP_TIMEOUT",
		"PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "PIP_PRE", "PIP_PREFER_BINARY", "PIP_FIND_LINKS", "PIP_NO_INDEX",
	}),
	Go: slices.Concat(commonVariables, networkVariables, managerVariables, homeVariables, remoteVariables, []string{
		"GOENV", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS",
	}),
	Git:      slices.Concat(commonVariables, networkVariables, homeVariables, remoteVariables),
	Question: slices.Concat(commonVariables, managerVariables, homeVariables),
	Sealed:   slices.Concat(commonVariables, managerVariables),

	Credential: slices.Concat(commonVariables, networkVariables, managerVariables, homeVariables, credentialVariables),
}

// programVariables are variables that say where a tool finds programs to start, beside PATH, or the
// configuration that does.
var programVariables = slices.Concat(managerVariables, []string{"GIT_EXEC_PATH", "GIT_SSH", "GIT_CONFIG_GLOBAL"})

// Environment returns the environment of a tool as "NAME=VALUE": the user's variables that the tool
// may have, then set, which replaces variables of the same name. PATH is filtered, and a variable
// that leads to a program or configuration in the checkout is left out.
func Environment(tool Tool, environ, set []string, checkout Checkout) []string {
	var env []string
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		switch {
		case !ok || !mayHave(tool, name):
		case isSameVariable(name, "PATH"):
			env = append(env, name+"="+checkout.FilterPath(value))
		case filepath.IsAbs(value) &&
			slices.ContainsFunc(programVariables, func(n string) bool { return isSameVariable(n, name) }) &&
			checkout.Holds(value):
		default:
			env = append(env, kv)
		}
	}
	for _, kv := range set {
		name, value, _ := strings.Cut(kv, "=")
		if isSameVariable(name, "PATH") {
			kv = name + "=" + checkout.FilterPath(value)
		}
		env = slices.DeleteFunc(env, func(old string) bool {
			was, _, _ := strings.Cut(old, "=")
			return isSameVariable(was, name)
		})
		env = append(env, kv)
	}
	return env
}

// mayHave reports whether a tool may have the variable called name.
func mayHave(tool Tool, name string) bool {
	if slices.ContainsFunc(allowedVariables[tool], func(n string) bool { return isSameVariable(n, name) }) {
		return true
	}
	if key, ok := npmVariableKey(name); ok && tool == NPM {
		return UserNPMKey(key)
	}
	return false
}

// isSameVariable compares names of variables as this system does.
func isSameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// npmVariableKey returns the key of npm's configuration that a variable npm_config_… sets.
func npmVariableKey(name string) (key string, ok bool) {
	const prefix = "npm_config_"
	if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return "", false
	}
	key = name[len(prefix):]
	if !strings.HasPrefix(key, "//") {
		key = strings.ToLower(key)
		key = key[:1] + strings.ReplaceAll(key[1:], "_", "-")
	}
	return key, true
}
