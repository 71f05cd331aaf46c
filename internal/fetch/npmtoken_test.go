package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestNPMToken: a token goes to its host and path prefix and nowhere else.
func TestNPMToken(t *testing.T) {
	config := testConfig(t)
	type seen struct{ where, authorization string }
	var log []seen
	note := func(where string, r *http.Request) {
		log = append(log, seen{where + r.URL.EscapedPath(), r.Header.Get("Authorization")})
	}
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		note("other", r)
		if r.URL.Path == "/back" { // to a path that has a token
			http.Redirect(w, r, "https://"+r.URL.Query().Get("host")+"/npm/final", http.StatusFound)
			return
		}
		io.WriteString(w, "x")
	})
	var base string
	base = serve(t, func(w http.ResponseWriter, r *http.Request) {
		note("base", r)
		tarball := ""
		switch r.URL.Path {
		case "/npm/same/1.0.0":
			tarball = base + "/npm/same.tgz"
		case "/npm/prefix/1.0.0":
			tarball = base + "/npm-other/prefix.tgz"
		case "/npm/up/1.0.0":
			tarball = base + "/npm/../up.tgz"
		case "/npm/escaped/1.0.0":
			tarball = base + "/npm/%2e%2e/up.tgz"
		case "/npm/host/1.0.0":
			tarball = other + "/npm/host.tgz"
		case "/npm/redirect/1.0.0":
			tarball = base + "/npm/redirect.tgz"
		case "/npm/redirect.tgz":
			http.Redirect(w, r, other+"/npm/x.tgz", http.StatusFound)
			return
		case "/npm/aside/1.0.0":
			tarball = base + "/npm/aside.tgz"
		case "/npm/aside.tgz":
			http.Redirect(w, r, "/elsewhere/x.tgz", http.StatusFound)
			return
		case "/npm/return/1.0.0":
			tarball = base + "/npm/return.tgz"
		case "/npm/return.tgz":
			http.Redirect(w, r, other+"/back?host="+r.Host, http.StatusFound)
			return
		case "/npm/mapped/1.0.0":
			tarball = other + "/mapped/x.tgz"
		default:
			io.WriteString(w, "x")
			return
		}
		name := strings.Split(r.URL.Path, "/")[2]
		fmt.Fprintf(w, `{"name":"%s","version":"1.0.0","dist":{"tarball":"%s"}}`, name, tarball)
	})
	host := func(base string) string { u, _ := url.Parse(base); return u.Host }
	config.NPM = settings(map[string]string{
		"registry":                                 base + "/npm/",
		"//" + host(base) + "/npm/:_authToken":     "T",
		"//" + host(other) + "/mapped/:_auth":      "dTpw",
		"//" + host(base) + "/npm/x/y/:_authToken": "never",
	})
	c := newClient(t, config)
	for name, want := range map[string][]seen{
		"same":    {{"base/npm/same/1.0.0", "Bearer T"}, {"base/npm/same.tgz", "Bearer T"}},
		"prefix":  {{"base/npm/prefix/1.0.0", "Bearer T"}, {"base/npm-other/prefix.tgz", ""}},
		"up":      {{"base/npm/up/1.0.0", "Bearer T"}, {"base/npm/../up.tgz", ""}},
		"escaped": {{"base/npm/escaped/1.0.0", "Bearer T"}, {"base/npm/%2e%2e/up.tgz", ""}},
		"host":    {{"base/npm/host/1.0.0", "Bearer T"}, {"other/npm/host.tgz", ""}},
		"redirect": {{"base/npm/redirect/1.0.0", "Bearer T"}, {"base/npm/redirect.tgz", "Bearer T"},
			{"other/npm/x.tgz", ""}},
		"aside": {{"base/npm/aside/1.0.0", "Bearer T"}, {"base/npm/aside.tgz", "Bearer T"},
			{"base/elsewhere/x.tgz", ""}},
		"return": {{"base/npm/return/1.0.0", "Bearer T"}, {"base/npm/return.tgz", "Bearer T"}, {"other/back", ""},
			{"base/npm/final", ""}},
		"mapped": {{"base/npm/mapped/1.0.0", "Bearer T"}, {"other/mapped/x.tgz", "Basic dTpw"}},
	} {
		log = nil
		d, err := get(t, c, "npm:"+name+"@1.0.0")
		wantBody(t, d, err, "x")
		if fmt.Sprint(log) != fmt.Sprint(want) {
			t.Errorf("%s: %v, not %v", name, log, want)
		}
	}
	// An https: Ref never gets npm's credentials.
	log = nil
	d, err := get(t, c, base+"/npm/file")
	wantBody(t, d, err, "x")
	if len(log) != 1 || log[0].authorization != "" {
		t.Errorf("%v", log)
	}
}
