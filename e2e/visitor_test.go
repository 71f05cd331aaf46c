//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/registry/pkg/model"

	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
	"github.com/hallmark-mcp/hallmark/internal/host"
)

// block is a block of code of a document: its language and what follows it on the fence, the text, the heading that
// it is under, and what stands between it and the block or the heading before it.
type block struct {
	language, file, text, heading, before string
	line                                  int
}

var (
	pageBlock   = regexp.MustCompile("(?ms)^```(\\w+)(?: ([^\n]*))?\n(.*?)^```$")
	pageHeading = regexp.MustCompile(`(?m)^## (.*)$`)
)

// readBlocks are the blocks of a document, in its order.
func readBlocks(text string) (blocks []block) {
	sections, under := pageHeading.FindAllStringSubmatchIndex(text, -1), block{}
	at := 0
	for _, m := range pageBlock.FindAllStringSubmatchIndex(text, -1) {
		for len(sections) > 0 && sections[0][0] < m[0] {
			under.heading, at = text[sections[0][2]:sections[0][3]], max(at, sections[0][1])
			sections = sections[1:]
		}
		b := block{language: text[m[2]:m[3]], text: text[m[6]:m[7]], heading: under.heading,
			before: strings.TrimSpace(text[at:m[0]]), line: 1 + strings.Count(text[:m[0]], "\n")}
		if m[4] >= 0 {
			b.file = text[m[4]:m[5]]
		}
		blocks, at = append(blocks, b), m[1]
	}
	return blocks
}

// visitor is somebody who follows a document: a home and a directory that are empty, and a world in which the hosts
// that the document names are ours.
type visitor struct {
	*testing.T
	world     *world.World
	npm       *npmtest.Server
	registry  *world.Registry
	proxy     *url.URL // through which every host is the world's
	authority []byte   // of the world, in PEM
	account   string   // who the document's examples belong to
	home, dir string
	env       []string
}

// newVisitor makes a visitor whose registry answers under the names of hosts too.
func newVisitor(t *testing.T, account string, hosts ...string) *visitor {
	t.Helper()
	npm, err := npmtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(npm.Close)
	v := &visitor{T: t, world: world.New(t), npm: npm, account: account, home: t.TempDir(), dir: t.TempDir()}
	if v.authority, err = os.ReadFile(v.world.CA); err != nil {
		t.Fatal(err)
	}
	authorities := filepath.Join(t.TempDir(), "authorities.pem")
	world.Write(t, authorities, string(v.authority)+string(npm.Authority()))
	v.serveGitHub("api.example.com")
	v.registry = world.StartRegistry(t, "--data", t.TempDir(), "--login", "github-at", "--github-client-id", "id",
		"--github-api", "https://api.example.com:"+v.world.Port, "--dns-server", v.world.DNS.Addr,
		"--ca-file", authorities, "--allow-host", "api.example.com", "--allow-host", "127.0.0.1", "--npm-registry", npm.URL)
	at, err := url.Parse(v.registry.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(hosts, host.HostOfURL(host.OfficialRegistry)) {
		v.world.Host(name, httputil.NewSingleHostReverseProxy(at).ServeHTTP)
	}
	proxy := httptest.NewServer(http.HandlerFunc(v.tunnel))
	t.Cleanup(proxy.Close)
	if v.proxy, err = url.Parse(proxy.URL); err != nil {
		t.Fatal(err)
	}
	v.env = append(npm.Environ(authorities), "PATH="+os.Getenv("PATH"), "HOME="+v.home, "TMPDIR="+t.TempDir(),
		"HTTPS_PROXY="+proxy.URL, "LANG=C.UTF-8")
	return v
}

// tunnel is a proxy through which every host is the world's: the clients have the hosts' names built in.
func (v *visitor) tunnel(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(out, "only https", http.StatusMethodNotAllowed)
		return
	}
	there, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", v.world.Port))
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, read, err := http.NewResponseController(out).Hijack()
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	defer here.Close()
	fmt.Fprint(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		defer there.Close()
		io.Copy(there, read) // which may hold what was read already
	}()
	io.Copy(here, there)
}

// serveGitHub is GitHub, where the account's owner enters the code at once, and its API, which knows no repository.
func (v *visitor) serveGitHub(api string) {
	site := host.HostOfURL(model.RegistryURLGitHub)
	v.world.Host(site, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/login/device/code":
			fmt.Fprint(out, `{"device_code":"d","user_code":"ABCD-1234",`+
				`"verification_uri":"https://login.example.com","interval":1}`)
		case "/login/oauth/access_token":
			fmt.Fprint(out, `{"access_token":"of the account","token_type":"bearer"}`)
		default:
			http.NotFound(out, r)
		}
	})
	for _, name := range []string{api, "api." + site} {
		v.world.Host(name, func(out http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != "Bearer of the account":
				http.Error(out, "{}", http.StatusUnauthorized)
			case r.URL.Path == "/user":
				fmt.Fprintf(out, `{"login":%q}`, v.account)
			case r.URL.Path == "/user/memberships/orgs":
				fmt.Fprint(out, "[]")
			default:
				http.NotFound(out, r)
			}
		})
	}
}
