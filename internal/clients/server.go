package clients

import (
	"maps"
	"slices"
	"strings"
)

// Server is one entry of a client's file.
type Server struct {
	Client    string // id of the client, "" if the file's name does not tell
	File      string
	Line      int    // of the entry, from 1
	Column    int    // in characters, from 1
	Scope     string // the project that the entry belongs to, in a file of several projects
	Name      string
	Command   string
	Args      []string
	Variables []string // names of environment variables that it sets or wants
	EnvFile   string   // a file of more variables, as the client writes its path; "" for none
	URL       string   // in place of Command
	Headers   []string // names of headers for URL
	Disabled  bool
	Verify    string // the type of a verify block, or "checksum" for the older one; "" if there is none
	Algorithm string // of that block

	// Set by [Inspect] alone.
	Problem     string   // why the entry cannot be read as one server
	Starts      Starts   // what the client starts or reaches for it
	Secrets     []string // names of variables and headers whose value is a secret, written out
	Extension   bool     // an extension of the client says what is started
	AutoApprove []string // members with which a client that has such a file calls tools without asking its user

	reference string // the text in place of the entry: see [NamedFile]
	entry     entry
}

// Starts says what a client starts or reaches for an entry.
type Starts string

// The values of Starts.
const (
	StartsServer  Starts = ""        // a program or a URL, or what cannot be told
	StartsNothing Starts = "nothing" // the entry names neither
	StartsClient  Starts = "client"  // a part of the client itself
)

// tokenKey is where Codex names a variable of its own environment, which it sends as "Authorization: Bearer VALUE".
const tokenKey = "bearer_token_env_var"

// Keys under which clients look for a program, a URL, headers, and environment variables.
var (
	launchKeys   = []string{"command", "cmd", "path", "args", "arguments"}
	headerKeys   = []string{"headers", "http_headers", "env_http_headers"}
	urlKeys      = []string{"url", "serverUrl", "httpUrl", "uri", "baseUrl"}
	variableKeys = []string{"env", "environment", "envs", "env_keys", "env_vars", "variables"}
)

// readServer reads e, an entry of f. ok is false if it neither starts nor reaches anything.
func (e entry) readServer(f File) (s Server, ok bool) {
	s = Server{Client: f.Client, File: f.Path, Scope: e.scope, Name: e.name, entry: e}
	if l, found := e.findLaunch(); found {
		words := []*Node{l.command}
		if l.command.Kind == List {
			words = l.command.Items
		}
		if l.args != nil {
			words = slices.Concat(words, l.args.Items)
		}
		s.Command = words[0].Text
		for _, w := range words[1:] {
			s.Args = append(s.Args, w.Text)
		}
		ok = true
	}
	if url, _ := e.holder().FirstFilled(urlKeys...); !ok && url != nil && url.Kind == Text {
		s.URL, ok = url.Text, true
	}
	if !ok {
		return s, false
	}
	if file := e.value.Get("envFile"); file != nil && file.Kind == Text {
		s.EnvFile = file.Text
	}
	for _, h := range e.objects() {
		for _, key := range variableKeys {
			s.Variables = append(s.Variables, variableNames(h.Get(key))...)
		}
		for _, key := range headerKeys {
			s.Headers = append(s.Headers, variableNames(h.Get(key))...)
		}
	}
	if s.TokenVariable() != "" {
		s.Headers = append(s.Headers, "Authorization")
	}
	s.Disabled = e.isDisabled() || f.off
	s.readVerify()
	return s, true
}

// readVerify reads what the entry says of the hash of its program.
func (s *Server) readVerify() {
	for _, key := range []string{"checksum", "verify"} {
		v := s.entry.value.Get(key)
		if v == nil || v.Kind != Object {
			continue
		}
		s.Verify, s.Algorithm = key, "sha256"
		if t := v.Get("type"); t != nil && key == "verify" {
			s.Verify = t.Text
		}
		if a := v.Get("algorithm"); a != nil {
			s.Algorithm = a.Text
		}
	}
}

// Values returns the values of the variables that the entry sets, by name, to start the server as its client would.
// They may be secrets, so nothing stores or prints them. What the client fills in is left out.
func (s Server) Values() map[string]string { return filledIn(s.valuesOf(variableKeys)) }

// HeaderValues returns the values of the headers that the entry sets, by name, as [Server.Values] those of variables.
// A "$" anywhere may be filled in: some clients fill in "Bearer $TOKEN".
func (s Server) HeaderValues() map[string]string {
	values := filledIn(s.valuesOf(headerKeys[:2]))
	maps.DeleteFunc(values, func(_, value string) bool { return strings.Contains(value, "$") })
	return values
}

// EmptyHeader returns a header whose value is empty, or no text, which no variable can stand for; "" for none.
func (s Server) EmptyHeader() string {
	values, taken := s.valuesOf(headerKeys), s.EnvironmentHeaders()
	i := slices.IndexFunc(s.Headers, func(header string) bool { return values[header] == "" && taken[header] == "" })
	if i < 0 {
		return ""
	}
	return s.Headers[i]
}

// EnvironmentHeaders returns the variables of its own environment whose values the client sends as headers, by header.
func (s Server) EnvironmentHeaders() map[string]string {
	out := s.valuesOf(headerKeys[2:])
	if token := s.TokenVariable(); token != "" {
		out["Authorization"] = token
	}
	return out
}

// TokenVariable returns the one of [Server.EnvironmentHeaders] that is sent behind "Bearer "; "" for none.
func (s Server) TokenVariable() string {
	if token := s.entry.holder().Get(tokenKey); token != nil && token.Kind == Text {
		return token.Text
	}
	return ""
}

// SetsHeaders reports whether the client of an entry with a URL reads its headers from the member key. What it does not
// read, it does not send.
func (s Server) SetsHeaders(key string) bool {
	if s.Client == "codex" {
		return key == tokenKey || slices.Contains(headerKeys[1:], key)
	}
	return key == headerKeys[0]
}

// valuesOf returns the texts that the entry has under keys, by name.
func (s Server) valuesOf(keys []string) map[string]string {
	out := map[string]string{}
	for _, h := range s.entry.objects() {
		for _, key := range keys {
			n := h.Get(key)
			if n == nil {
				continue
			}
			for _, m := range n.Members {
				if m.Value.Kind == Text {
					out[m.Key] = m.Value.Text
				}
			}
			for _, item := range n.Items {
				if name, value, ok := strings.Cut(item.Text, "="); ok {
					out[name] = value
				}
			}
		}
	}
	return out
}

// filledIn returns values without those that the client fills in.
func filledIn(values map[string]string) map[string]string {
	marks := []string{"${", "{{", "{env:", "{file:"}
	maps.DeleteFunc(values, func(_, value string) bool {
		return strings.HasPrefix(value, "$") || slices.ContainsFunc(marks, func(mark string) bool {
			return strings.Contains(value, mark)
		})
	})
	return values
}

// Ambiguity returns why clients may start different servers for the entry, which a scan refuses too; "" if they do not.
func (s Server) Ambiguity() string { return s.entry.findAmbiguity() }

// variableNames returns the keys of an object, or the texts of a list up to "=". It never returns values.
func variableNames(n *Node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, m := range n.Members {
		out = append(out, m.Key)
	}
	for _, item := range n.Items {
		if item.Kind == Text {
			name, _, _ := strings.Cut(item.Text, "=") // what follows is a value
			out = append(out, name)
		}
	}
	return out
}

// Load reads the servers of a file, in the order of the file.
func Load(f File) ([]Server, error) {
	data, err := Read(f)
	if err != nil {
		return nil, err
	}
	return Parse(f, data)
}

// Parse reads the servers of data, the bytes of f, in their order. Its error names line and column.
func Parse(f File, data []byte) ([]Server, error) {
	root, err := f.format.Parse(data, false)
	if err != nil {
		return nil, err
	}
	var out []Server
	for _, e := range f.entries(root, false) {
		if f.isReference(e) || !e.isTable() ||
			slices.ContainsFunc(out, func(o Server) bool { return o.entry.value == e.value }) {
			continue
		}
		s, ok := e.readServer(f)
		if !ok {
			continue
		}
		s.Line, s.Column = Position(data, e.at)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Server) int { return a.entry.at - b.entry.at })
	return out, nil
}
