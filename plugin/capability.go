package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// MaxRegistered is the largest list of registered capabilities, in bytes.
const MaxRegistered = 16 << 20

// Registered is what a plugin registered with its host.
type Registered struct {
	Tools              []RegisteredTool
	Resources, Prompts []string
}

// RegisteredTool is one tool as it was registered.
type RegisteredTool struct {
	Name   string
	Schema json.RawMessage // nil if only names were listed
	named  bool            // only the name was listed
}

// toolNamePattern is what MCP clients take for the name of a tool.
var toolNamePattern = spelling.Form(`^[A-Za-z0-9_.-]{1,128}$`)

// decodeText reads a member of JSON that is a string, null or not there.
func decodeText(raw json.RawMessage, to *string) bool {
	return raw == nil || json.Unmarshal(raw, to) == nil
}

// ParseRegistered reads what a host writes of a plugin: an object with tools, resources
// and prompts, each a list of names or of objects with a name (a resource may have a uri
// instead), as MCP lists them. Tools are objects with an inputSchema, or names.
func ParseRegistered(data []byte) (*Registered, error) {
	if err := surface.CheckJSON(data, surface.Limits{Size: MaxRegistered, Depth: 100}); err != nil {
		return nil, fmt.Errorf("registered capabilities: %w", err)
	}
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(data, &lists); err != nil || lists == nil {
		return nil, errors.New("registered capabilities: not an object with tools, resources and prompts")
	}
	r := new(Registered)
	for kind, raw := range lists {
		var list []json.RawMessage
		if !slices.Contains([]string{"tools", "resources", "prompts"}, kind) {
			return nil, fmt.Errorf("registered capabilities: unknown member %+q", clip(kind))
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("registered capabilities: %s is not a list", kind)
		}
		for _, raw := range list {
			var (
				name, uri string
				members   map[string]json.RawMessage // as MCP spells them, and in no other case
			)
			named := json.Unmarshal(raw, &name) == nil
			if !named && (json.Unmarshal(raw, &members) != nil || !decodeText(members["name"], &name) ||
				!decodeText(members["uri"], &uri)) {
				return nil, fmt.Errorf("registered capabilities: an element of %s is neither a name nor an object",
					kind)
			}
			if name == "" && kind == "resources" {
				name = uri
			}
			switch kind {
			case "tools":
				r.Tools = append(r.Tools, RegisteredTool{name, members["inputSchema"], named})
			case "resources":
				r.Resources = append(r.Resources, name)
			default:
				r.Prompts = append(r.Prompts, name)
			}
		}
	}
	return r, nil
}

// registeredHint is the hint for a host that did not say what a plugin registered.
const registeredHint = "say what the plugin registered with --registered; before it is loaded nobody knows: set %s " +
	"to false for that check, and check again when it is loaded"

// registeredEvidence gathers the evidence about what the plugin registered. A strictness that was
// asked for and for which nobody said what was registered is missing.
func (c *check) registeredEvidence() error {
	if c.host.Registered == nil && c.host.RegisteredBy != nil {
		var err error
		if c.host.Registered, err = c.host.RegisteredBy(c.m); err != nil {
			return err
		}
	}
	if c.host.Registered != nil {
		c.capabilityEvidence(c.host.Registered)
		return nil
	}
	for _, strict := range []struct {
		on     bool
		scheme evidence.Scheme
		flag   string
	}{
		{c.host.Flags.StrictCapabilities, evidence.Capability, "STRICT_CAPABILITIES"},
		{c.host.Flags.StrictTools, evidence.Tool, "STRICT_TOOLS"},
	} {
		if strict.on {
			claim := c.claim(strict.scheme, strict.flag)
			claim.Authority = evidence.Caller
			c.add(evidence.Miss(claim, evidence.Caller,
				"it is to be checked, and nobody said what the plugin registered",
				fmt.Sprintf(registeredHint, strict.flag)))
		}
	}
	return nil
}

// capabilityEvidence compares what was declared with what was registered.
func (c *check) capabilityEvidence(r *Registered) {
	var tools []string
	for _, t := range r.Tools {
		tools = append(tools, t.Name)
	}
	for _, k := range []struct {
		kind                 string
		declared, registered []string
	}{
		{"tool", c.m.Capabilities.Tools, tools},
		{"resource", c.m.Capabilities.Resources, r.Resources},
		{"prompt", c.m.Capabilities.Prompts, r.Prompts},
	} {
		claim := func(name string) evidence.Claim {
			return evidence.Claim{Subject: k.kind + ":" + clip(name), Scheme: evidence.Capability,
				Authority: evidence.Caller, Where: ManifestFile + ", capabilities"}
		}
		for _, name := range k.declared {
			e := evidence.Evidence{Claim: claim(name), Outcome: evidence.Match}
			e.Text, e.Observed.Text = name, name
			if !slices.Contains(k.registered, name) {
				e.Outcome, e.Observed.Text, e.Reason = evidence.Mismatch, "", "it is declared, and was not registered"
			}
			c.add(e)
		}
		for i, name := range k.registered {
			switch {
			case slices.Contains(k.registered[:i], name):
				c.add(evidence.Evidence{Claim: claim(name), Outcome: evidence.Mismatch,
					Reason: "it was registered twice"})
			case !slices.Contains(k.declared, name):
				c.add(evidence.Evidence{Claim: claim(name), Outcome: evidence.Absent,
					Observed: evidence.Observed{Text: clip(name)}, Reason: "it was registered, and is not declared"})
			}
		}
	}
	for _, t := range r.Tools {
		claim := evidence.Claim{Subject: "tool:" + clip(t.Name), Scheme: evidence.Tool, Authority: evidence.Caller}
		e := evidence.Evidence{Claim: claim, Outcome: evidence.Match}
		switch err := t.checkTool(); {
		case err != nil:
			e.Outcome, e.Reason = evidence.Mismatch, err.Error()
		case t.named && c.host.Flags.StrictTools:
			claim.Where = "STRICT_TOOLS"
			e = evidence.Miss(claim, evidence.Caller, "its inputSchema is to be checked, and only its name is known",
				"list the tool as an object with name and inputSchema")
		}
		c.add(e)
	}
}

// checkTool reports why a host could not offer the tool to a client.
func (t RegisteredTool) checkTool() error {
	if !toolNamePattern().MatchString(t.Name) {
		return errors.New("a name of a tool is 1 to 128 of [A-Za-z0-9_.-]")
	}
	if t.named {
		return nil
	}
	return checkToolSchema(t.Schema)
}
