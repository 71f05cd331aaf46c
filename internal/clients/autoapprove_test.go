package clients

import (
	"slices"
	"testing"
)

// TestAutoApproving: the members with which each client calls tools without asking, where they say so.
func TestAutoApproving(t *testing.T) {
	for _, c := range []struct {
		path, data string
		want       []string
	}{
		{".cline/data/settings/cline_mcp_settings.json",
			`{"mcpServers": {"a": {"command": "a", "autoApprove": ["x"], "alwaysAllow": ["*"]}}}`,
			[]string{"autoApprove", "alwaysAllow"}},
		{".roo/mcp.json", `{"mcpServers": {"a": {"command": "a", "alwaysAllow": ["x"]}}}`, []string{"alwaysAllow"}},
		{".kilocode/mcp.json", `{"mcpServers": {"a": {"command": "a", "alwaysAllow": ["x"], "trust": true}}}`,
			[]string{"alwaysAllow"}},
		{".kiro/settings/mcp.json", `{"mcpServers": {"a": {"command": "a", "autoApprove": "*"}}}`,
			[]string{"autoApprove"}},
		{".kiro/settings/mcp.json", `{"mcpServers": {"a": {"command": "a", "autoApprove": null}}}`, nil},
		{".qwen/settings.json", `{"mcpServers": {"a": {"command": "a", "trust": true}}}`, []string{"trust"}},
		{".gemini/settings.json", `{"mcpServers": {"a": {"command": "a", "trust": false}}}`, nil},
		{".codex/config.toml", "[mcp_servers.a]\ncommand = \"a\"\ndefault_tools_approval_mode = \"approve\"\n" +
			"[mcp_servers.a.tools.x]\napproval_mode = \"approve\"\n[mcp_servers.a.tools.y]\napproval_mode = \"prompt\"\n",
			[]string{"default_tools_approval_mode", "tools.x.approval_mode"}},
		{".codex/config.toml", "[mcp_servers.a]\ncommand = \"a\"\ndefault_tools_approval_mode = \"auto\"\n", nil},
		{"elsewhere.json", `{"mcpServers": {"a": {"command": "a", "trust": true}}}`, []string{"trust"}},
	} {
		f := FileAt(c.path)
		servers, err := Inspect(f, []byte(c.data))
		if err != nil || len(servers) != 1 {
			t.Fatalf("%s: %v, %v", c.data, servers, err)
		}
		if got := servers[0].AutoApprove; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.data, got, c.want)
		}
	}
}
