package facet

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// Server is how a facet declares an MCP server; one of three forms:
//
//	"1.0.0"                                           source mode: a version floor
//	{"image": "HOST/REPO:TAG" or "…@sha256:…"}        ref mode: a container image
//	{"type": "stdio", "command", "args"?, "env"?}     declared
//	{"type": "http", "url"}                           declared
type Server struct {
	Floor   *artifact.Floor // source mode
	Image   string          // ref mode; a tag is a label, never a version
	Type    string          // declared: "stdio" or "http"
	Command string
	Args    []string
	Env     map[string]string // literal values
	URL     string
}

var variableName = spelling.Form(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readServer reads the value of a server.
func (p *problems) readServer(raw json.RawMessage, at string) (Server, bool) {
	if kindOf(raw) == '"' {
		s, _ := p.readString(raw, at)
		floor, err := artifact.ParseFloor(s)
		if err != nil {
			p.add(at, "%v", err)
			return Server{}, false
		}
		return Server{Floor: &floor}, true
	}
	o, ok := p.readObject(raw, at)
	if !ok {
		return Server{}, false
	}
	defer o.refuseUnknown()
	if _, ok := o.members["image"]; ok {
		s := Server{Image: o.takeText("image", true)}
		if why := badImage(s.Image); s.Image != "" && why != "" {
			o.add(at+"/image", "%s", why)
		}
		return s, true
	}
	s := Server{Type: o.takeText("type", true)}
	switch s.Type {
	case "stdio":
		o.takeCommand(&s, at)
	case "http":
		s.URL = o.takeText("url", true)
		if s.URL != "" && !serverURL().MatchString(s.URL) {
			o.add(at+"/url", "must be an absolute http or https URL without user and fragment")
		}
	case "":
	default:
		o.add(at+"/type", `%+q is neither "stdio" nor "http"`, clip(s.Type))
	}
	return s, true
}

// takeCommand reads how a server is started.
func (o *object) takeCommand(s *Server, at string) {
	s.Command = o.takeText("command", true)
	o.checkNoNUL(s.Command, at+"/command")
	o.takeList("args", func(raw json.RawMessage, at string) {
		arg, ok := o.readString(raw, at)
		if ok {
			o.checkNoNUL(arg, at)
			s.Args = append(s.Args, arg)
		}
	})
	o.takeObject("env", func(name string, raw json.RawMessage, at string) {
		value, ok := o.readString(raw, at)
		if !variableName().MatchString(name) {
			o.add(at, "is no name of an environment variable")
		}
		if ok {
			o.checkNoNUL(value, at)
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[name] = value
		}
	})
}

// serverURL is an absolute http or https URL without user and fragment, of visible ASCII: spec/facet.md.
var serverURL = spelling.Form(`^(?i:https?)://([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?` +
	`([/?]([!$&-;=?-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})*)?$`)

// checkNoNUL refuses a NUL, which no argument and no variable of a program can hold.
func (p *problems) checkNoNUL(s, at string) {
	if strings.ContainsRune(s, 0) {
		p.add(at, "holds a NUL")
	}
}

// badImage says what is wrong with an image reference, or "". Any tag is accepted: it is
// resolved to a digest before anything is locked.
func badImage(image string) string {
	if strings.HasPrefix(image, "oci:") {
		return "is written without oci:, as HOST/REPOSITORY:TAG"
	}
	if !strings.Contains(image, "@") {
		if repo := image[strings.LastIndexByte(image, '/')+1:]; !strings.Contains(repo, ":") {
			return "has neither a tag nor a digest"
		}
		image += "@sha256:" + strings.Repeat("0", 64) // stands for what the tag is resolved to
	}
	_, err := artifact.NewOCI(image)
	var bad *artifact.ParseError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &bad):
		return err.Error()
	case bad.Part == artifact.PartURL:
		return "names no registry host; write HOST/REPOSITORY:TAG, such as docker.io/acme/notes:v2"
	}
	return bad.Reason
}

// Source is the server.json of a server that is packed from source.
type Source struct {
	Name        string // as of a facet
	Version     string // exact
	Runtime     string // "node", "python", "bun", "deno" or "binary"
	Entry       string // the file of the archive that the runtime starts
	Description string
	Author      string
	APISurface  digest.Digest // what its author says its tools are; zero if nothing
	Warnings    []string      // unknown members
	Raw         []byte        // what was parsed
}

var runtimes = []string{"node", "python", "bun", "deno", RuntimeBinary}

// RuntimeBinary is the runtime of an entry that is an executable, and is started directly.
const RuntimeBinary = "binary"

// Runtimes lists the runtimes that may start the entry of a server.
func Runtimes() []string { return slices.Clone(runtimes) }

// ParseSource reads a source-mode server.json strictly. Its error is an [*Invalid] with
// all problems. A document with packages or remotes is of the other kind, that of package
// serverjson.
func ParseSource(data []byte) (*Source, error) {
	var p problems
	o, ok := p.readDocument(data, MaxManifest)
	if !ok {
		return nil, p.asError(SourceFile)
	}
	for _, other := range []string{"packages", "remotes", "package_location"} {
		if _, ok := o.members[other]; !ok {
			continue
		}
		for _, member := range []string{"runtime", "entry"} {
			if _, ok := o.members[member]; ok {
				p.add("/"+other, "both %s (source mode) and %s: a server.json is of one kind", member, other)
				return nil, p.asError(SourceFile)
			}
		}
		p.add("/"+other, "is of a server.json that is published, not packed from source")
		return nil, p.asError(SourceFile)
	}
	s := &Source{Raw: slices.Clone(data)}
	s.Name, s.Version = o.takeIdentity()
	if s.Runtime = o.takeText("runtime", true); s.Runtime != "" && !slices.Contains(runtimes, s.Runtime) {
		o.add("/runtime", "%+q is not one of %s", clip(s.Runtime), strings.Join(runtimes, ", "))
	}
	if s.Entry = o.takeText("entry", true); s.Entry != "" {
		o.checkMember(s.Entry, "/entry")
	}
	s.Description, s.Author = o.takeText("description", false), o.takeText("author", false)
	s.APISurface = p.readDigest(o.takeText("api_surface", false), "/api_surface")
	s.Warnings = o.warnUnknown()
	if err := p.asError(SourceFile); err != nil {
		return nil, err
	}
	return s, nil
}
