package facets_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hallmark-mcp/hallmark/e2e/listener"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/facets"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/hosttest"
	"github.com/hallmark-mcp/hallmark/internal/wire"
)

// TestHostsOfAProject: without a word of its caller's a flow asks no host that the project
// names; one that is said is asked, and what a person agreed to is asked about once.
func TestHostsOfAProject(t *testing.T) {
	address, connections := listener.Start(t)
	p := hosttest.NewFacetProject(t,
		"[registry]\nurl = \"http://"+address+"\"\n[facets]\n\"@acme/review\" = \"1.*\"\n\"kit\" = { git = \"https://"+
			address+"/kit.git\", tag = \"v1\" }\n")
	p.Host.Fetch = fetch.New(fetch.Config{Dir: t.TempDir()})
	flows := map[string]func() error{
		"outdated": func() error { _, err := facets.Outdated(t.Context(), p.Host, p.Dir); return err },
		"install":  func() error { _, err := facets.Install(t.Context(), p.Host, p.Dir, facets.Options{}); return err },
		"upgrade": func() error {
			_, err := facets.Upgrade(t.Context(), p.Host, p.Dir, nil, facets.UpgradeOptions{})
			return err
		},
	}
	refused := func(s *host.Sending) {
		t.Helper()
		p.Host.Sending = s
		for name, flow := range flows {
			if err := flow(); evidence.ClassOf(err) != evidence.Refused || wire.NotAgreed(err) == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections", n)
		}
	}
	refused(nil)
	refused(&host.Sending{})
	refused(&host.Sending{Hosts: []string{"127.0.0.1", "127.0.0.1:1", "example.com:*"}})
	asked := 0
	ask := func(answer host.Consent) func([]wire.HostUse) (host.Consent, error) {
		return func(uses []wire.HostUse) (host.Consent, error) {
			if asked++; len(uses) != 1 || uses[0].Host != address {
				t.Errorf("asked about %v", uses)
			}
			return answer, nil
		}
	}
	refused(&host.Sending{AskHosts: ask(host.NoConsent)})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	p.Host.Sending = &host.Sending{AskHosts: ask(host.InformedConsent)}
	for range 2 {
		if err := flows["outdated"](); err == nil || wire.NotAgreed(err) != nil {
			t.Errorf("agreed to: %v", err)
		}
		p.Host.Sending = nil // another command, at no terminal
	}
	if asked != 2 || connections.Load() == 0 {
		t.Errorf("asked %d times, %d connections", asked, connections.Load())
	}
	if err := host.ForgetHost(p.Host, address); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(p.Host.Places.State, "variables.json")); err != nil ||
		wire.NotAgreed(flows["outdated"]()) == nil {
		t.Errorf("%s, %v", data, err)
	}
}
