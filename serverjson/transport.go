package serverjson

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

var (
	placeholder = spelling.Form(`\{([^{}]*)\}`)

	// headerName is a token of RFC 9110; variableName what no shell or kernel refuses.
	headerName   = spelling.Form("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	variableName = spelling.Form(`^[^=\x00-\x20\x7f]+$`)
)

// checkPackage checks one package.
func (v *validation) checkPackage(d *Document, p Package) {
	v.checkOrigin(d, p)
	v.checkArguments(p.Pointer+"/runtimeArguments", p.RuntimeArguments)
	v.checkArguments(p.Pointer+"/packageArguments", p.PackageArguments)
	if len(p.RuntimeArguments) > 0 && p.RuntimeHint == "" {
		v.add(SeverityInfo, p.Pointer+"/runtimeHint", "runtime-hint-missing",
			"runtimeArguments without runtimeHint: clients have to guess the runtime")
	}
	known := variablesBeside(p)
	for i, e := range p.EnvironmentVariables {
		at := fmt.Sprintf("%s/environmentVariables/%d/name", p.Pointer, i)
		v.warnOfExample(at, e.Name)
		if !variableName().MatchString(e.Name) {
			v.fail(at, "invalid-environment-variable", "%+q cannot name an environment variable", clip(e.Name))
		}
	}
	for name := range p.Transport.Variables {
		known[name] = true
	}
	at := p.Pointer + "/transport"
	switch t := p.Transport; t.Type {
	case "": // reported as missing
	case model.TransportTypeStdio:
		if t.URL != "" {
			v.fail(at+"/url", "stdio-transport-url-not-empty", "stdio has no URL")
		}
	default:
		v.checkTransportURL(at, t, known, false)
	}
	v.checkHeaders(at, p.Transport)
}

// variablesBeside are the names that the URL of a package may hold, but for those that its transport declares itself.
func variablesBeside(p Package) map[string]bool {
	known := map[string]bool{}
	for _, e := range p.EnvironmentVariables {
		known[e.Name] = true
	}
	for _, args := range [][]model.Argument{p.RuntimeArguments, p.PackageArguments} {
		for _, a := range args {
			known[a.Name], known[a.ValueHint] = true, true
		}
	}
	return known
}

// checkRemotes checks the endpoints that run elsewhere.
func (v *validation) checkRemotes(remotes []model.Transport) {
	seen := map[string]int{}
	for i, t := range remotes {
		at := fmt.Sprintf("/remotes/%d", i)
		v.checkHeaders(at, t)
		switch t.Type {
		case "":
			continue
		case model.TransportTypeStdio:
			v.fail(at+"/type", "unsupported-remote-transport-type", "a remote is streamable-http or sse")
			continue
		}
		known := map[string]bool{}
		for name := range t.Variables {
			known[name] = true
		}
		v.checkTransportURL(at, t, known, true)
		if t.URL == "" {
			continue
		}
		if j, ok := seen[t.URL]; ok {
			v.fail(at+"/url", "duplicate-remote-url", "the same URL as /remotes/%d", j)
		} else {
			seen[t.URL] = i
		}
	}
}

// checkTransportURL checks a URL with {variables}, of which each must be known. The URL of a
// remote is https and not this machine.
func (v *validation) checkTransportURL(at string, t model.Transport, known map[string]bool, remote bool) {
	at += "/url"
	if t.URL == "" {
		v.fail(at, "transport-url-required", "%s needs a URL", t.Type)
		return
	}
	for _, m := range placeholder().FindAllStringSubmatch(t.URL, -1) {
		if m[1] == "" || !known[m[1]] {
			v.fail(at, "invalid-templated-url", "%+q is no variable of this transport", clip(m[0]))
		}
	}
	// "1" can stand for a label of a host, a port and a segment of a path.
	u, err := url.Parse(placeholder().ReplaceAllString(t.URL, "1"))
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		v.fail(at, "invalid-url", "%+q is not an http or https URL with a host and without userinfo", clip(t.URL))
		return
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case !remote:
	case u.Scheme != "https":
		v.fail(at, "invalid-remote-url", "%+q is not an https URL", clip(t.URL))
	case host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") ||
		host == "::1":
		v.fail(at, "invalid-remote-url", "%+q is this machine, not a remote", clip(t.URL))
	}
}

func (v *validation) checkHeaders(at string, t model.Transport) {
	for i, h := range t.Headers {
		if !headerName().MatchString(h.Name) {
			v.fail(fmt.Sprintf("%s/headers/%d/name", at, i), "invalid-header-name", "%+q cannot name a header",
				clip(h.Name))
		}
		if strings.ContainsAny(h.Value+h.Default, "\r\n\x00") {
			v.fail(fmt.Sprintf("%s/headers/%d", at, i), "invalid-header-value", "a header's value has no line breaks")
		}
	}
}

func (v *validation) checkArguments(at string, args []model.Argument) {
	for i, a := range args {
		at := fmt.Sprintf("%s/%d", at, i)
		switch a.Type {
		case model.ArgumentTypePositional:
			if !a.HasValueOrHint() {
				v.fail(at, "positional-argument-value-or-hint-required",
					"a positional argument needs value or valueHint")
			}
		case model.ArgumentTypeNamed:
			switch {
			case a.Name == "":
				v.fail(at+"/name", "named-argument-name-required", "a named argument needs a name")
				continue
			case strings.ContainsAny(a.Name, "<> $"):
				v.fail(at+"/name", "invalid-named-argument-name", "%+q holds more than a name", clip(a.Name))
			}
			if strings.HasPrefix(a.Value, a.Name) {
				v.fail(at+"/value", "argument-value-starts-with-name", "the value repeats the argument's name")
			}
			if strings.HasPrefix(a.Default, a.Name) {
				v.fail(at+"/default", "argument-default-starts-with-name", "the default repeats the argument's name")
			}
		}
	}
}
