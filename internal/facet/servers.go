package facet

import (
	"io/fs"
	"slices"
	"strings"
)

// takeServers takes the MCP servers of a plugin that a facet can declare: those of the files that its client reads
// anyway, and then those that its manifest has or names a file of.
func (w *wrapping) takeServers(doc map[string]any) {
	servers := map[string]any{}
	for _, file := range w.format.servers {
		if _, ok := w.files[file]; ok {
			w.takeServerFile(servers, file)
		}
	}
	declared := doc["mcpServers"]
	list, ok := declared.([]any)
	if !ok {
		list = []any{declared}
	}
	for _, one := range list {
		switch v := one.(type) {
		case nil:
		case map[string]any:
			w.addServers(servers, w.format.file, v)
		case string:
			p := strings.TrimPrefix(v, "./")
			if _, ok := w.files[p]; !ok || !fs.ValidPath(p) {
				w.note("mcpServers in "+w.format.file, "names what is no file of the plugin; its servers are not "+
					"installed")
			} else if !slices.Contains(w.format.servers, p) {
				w.takeServerFile(servers, p)
			}
		default:
			w.note("mcpServers in "+w.format.file, "is in no known form; its servers are not installed")
		}
	}
	if len(servers) > 0 {
		w.manifest["servers"] = servers
	}
}

// takeServerFile takes the servers of a file: those of its member mcpServers, or else its members.
func (w *wrapping) takeServerFile(servers map[string]any, at string) {
	doc, err := w.readDocument(at)
	if err != nil {
		w.note(at, "cannot be read; its servers are not installed")
		return
	}
	if inner, ok := doc["mcpServers"]; ok {
		if doc, ok = inner.(map[string]any); !ok {
			w.note(at, "cannot be read; its servers are not installed")
			return
		}
	}
	w.addServers(servers, at, doc)
}

// addServers adds the servers of an object that a facet can declare, and notes the others.
func (w *wrapping) addServers(servers map[string]any, at string, all map[string]any) {
	for _, written := range sortedKeys(all) {
		name := assetName(written)
		value, why := serverValue(all[written], w.rule)
		switch {
		case why != "":
		case name == "":
			why = "of its name none can be made that a facet can have"
		case servers[name] != nil:
			why = "another server has its name"
		}
		if why != "" {
			w.note("the server "+written+" in "+at, "is not installed: %s", why)
			continue
		}
		servers[name] = value
	}
}

// serverValue is a server in the form of facet.json, or why there is none. By rule 2 one with a URL needs no type.
func serverValue(v any, rule int) (value map[string]any, why string) {
	server, ok := v.(map[string]any)
	if !ok {
		return nil, "it is no object"
	}
	if server["headers"] != nil {
		return nil, "a facet cannot say its headers; hallmark.toml can: [servers.NAME] with type = \"http\", url and " +
			"headers"
	}
	if holdsVariable(v) {
		return nil, "it needs a variable of its client, ${…}"
	}
	kind, hasKind := server["type"]
	known := []string{"command", "args", "env"}
	switch {
	case !hasKind && server["command"] != nil, kind == "stdio":
		kind = "stdio"
	case kind == "http", rule > 1 && !hasKind && server["url"] != nil:
		kind, known = "http", []string{"url"}
	default:
		return nil, "a facet declares servers of stdio and http only"
	}
	value = map[string]any{"type": kind}
	for name, member := range server {
		if name == "type" {
			continue
		}
		value[name] = member
	}
	for _, name := range sortedKeys(value) {
		if name != "type" && !slices.Contains(known, name) {
			return nil, "a facet cannot say its " + name
		}
	}
	text, err := encode(map[string]any{"name": "ab", "version": noVersion, "servers": map[string]any{"a": value}})
	if err == nil {
		_, err = ParseManifest(text)
	}
	if err != nil {
		return nil, "a facet cannot declare it"
	}
	return value, ""
}

// holdsVariable reports whether a text in v has a variable that a client replaces.
func holdsVariable(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "${")
	case []any:
		for _, one := range v {
			if holdsVariable(one) {
				return true
			}
		}
	case map[string]any:
		for name, one := range v {
			if strings.Contains(name, "${") || holdsVariable(one) {
				return true
			}
		}
	}
	return false
}
