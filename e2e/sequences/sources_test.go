package sequences

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/e2e/forge"
	"github.com/hallmark-mcp/hallmark/e2e/npmtest"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// source is where the server notes comes from. Each sequence has one of them, by its seed.
type source struct {
	name    string
	prepare func(p *aProject, t *testing.T)
	publish func(p *aProject, t *testing.T, version, number string)
	declare func(p *aProject, number string) (command, arguments string)
	tool    string // that says which version answers
	form    string // of the version that 'upgrade' takes; "" if a person declares another one first
}

var sources = []source{
	{"Python", (*aProject).useIndex, (*aProject).publishPython, declarePython, "say", "%s"},
	{"npm", func(*aProject, *testing.T) {}, (*aProject).publishNPM, declareNPM, "say", "%s"},
	{"Go", (*aProject).useModules, (*aProject).publishModules, declareGo, "say", "v%s"},
	// No container engine can be had in every test. The stand-in for it says with which arguments it was called, and
	// the digest of an image is among them.
	{"image", func(*aProject, *testing.T) {}, (*aProject).publishImage, declareImage, "args", ""},
}

func declareNPM(_ *aProject, number string) (command, arguments string) {
	return "npx", fmt.Sprintf("%q", "notes@"+number)
}

func declarePython(_ *aProject, number string) (command, arguments string) {
	return "uvx", fmt.Sprintf("%q", "notes@"+number)
}

func declareGo(_ *aProject, number string) (command, arguments string) {
	return "go", fmt.Sprintf(`"run", %q`, "example.com/notes@v"+number)
}

func declareImage(p *aProject, number string) (command, arguments string) {
	host := strings.TrimPrefix(p.stage.NPM.URL, "https://")
	return "docker", fmt.Sprintf(`"run", "-i", "--rm", %q`, host+"/notes:"+number)
}

func (p *aProject) publishNPM(t *testing.T, version, number string) {
	t.Helper()
	if err := p.stage.NPM.Publish(npmtest.Package{Name: "notes", Version: number,
		Manifest: map[string]any{"bin": "index.js"}, Files: map[string]string{"index.js": nodeServer,
			"text.js": "module.exports = '" + version + "';\n"}}); err != nil {
		t.Fatal(err)
	}
}

// useIndex lets uv, or pip, ask the index, and nothing be between them and the PATH.
func (p *aProject) useIndex(t *testing.T) {
	t.Helper()
	world.NeedsPython(t)
	python, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	index := p.stage.NPM.URL + "/simple/"
	p.stage.Env = append(p.stage.Env, "UV_DEFAULT_INDEX="+index, "PIP_INDEX_URL="+index,
		"PIP_CERT="+filepath.Join(p.stage.Dir, "authority.pem"),
		"PATH="+p.stage.Bin+":"+filepath.Dir(strings.TrimSpace(string(python)))+":"+os.Getenv("PATH"))
}

func (p *aProject) publishPython(t *testing.T, version, number string) {
	t.Helper()
	p.wheel(t, "words", number, "", "words/__init__.py", "word = '"+version+"'\n")
	p.wheel(t, "notes", number, "Requires-Dist: words=="+number+"\n", "notes/__init__.py", pythonServer,
		"notes-"+number+".dist-info/entry_points.txt", "[console_scripts]\nnotes = notes:main\n")
}

// wheel puts a version of a Python package into the index, beside those before it.
func (p *aProject) wheel(t *testing.T, name, number, metadata string, files ...string) {
	t.Helper()
	index, release := p.stage.NPM, name+"-"+number
	data := forge.Wheel(release, append(files, release+".dist-info/METADATA",
		"Metadata-Version: 2.1\nName: "+name+"\nVersion: "+number+"\n"+metadata)...)
	file, sum := release+"-py3-none-any.whl", digest.FromBytes(data).Hex()
	index.File("/files/"+file, data)
	document := fmt.Appendf(nil, `{"info":{"name":%q,"version":%q},"urls":[{"filename":%q,"url":"%s/files/%s",`+
		`"digests":{"sha256":%q}}]}`, name, number, file, index.URL, file, sum)
	index.File("/pypi/"+name+"/"+number+"/json", document)
	index.File("/pypi/"+name+"/json", document)
	p.links = append(p.links, fmt.Sprintf(`<a href="/files/%s#sha256=%s">%s</a>`, file, sum, file))
	page := "<!DOCTYPE html><html><body>"
	for _, link := range p.links {
		if strings.Contains(link, ">"+name+"-") {
			page += link
		}
	}
	p.serve("/simple/"+name+"/", "text/html", page+"</body></html>")
}

// serve serves a document of another type than the server would say by itself.
func (p *aProject) serve(path, mediaType, text string) {
	p.stage.NPM.Break(path, npmtest.Always, func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", mediaType)
		fmt.Fprint(w, text)
	})
}

// useModules lets go ask the module proxy alone, and gives each machine what the compiler made before: otherwise each
// would compile the standard library.
func (p *aProject) useModules(t *testing.T) {
	t.Helper()
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	p.compiled = strings.TrimSpace(string(compiled))
	p.stage.Env = append(p.stage.Env, "GOPROXY="+p.stage.NPM.URL+"/modules", "GOSUMDB=off")
	p.useHome(t, p.stage.Home)
}

func (p *aProject) publishModules(t *testing.T, version, number string) {
	t.Helper()
	p.module("words", number, "", "words.go", "package words\n\nconst Word = \""+version+"\"\n")
	p.module("notes", number, "\nrequire example.com/words v"+number+"\n", "main.go", goServer)
}

// module puts a version of a module into the proxy.
func (p *aProject) module(name, number, require string, files ...string) {
	path, version := "example.com/"+name, "v"+number
	mod := "module " + path + "\n\ngo 1.21\n" + require
	files = append(files, "go.mod", mod)
	for i := 0; i < len(files); i += 2 {
		files[i] = path + "@" + version + "/" + files[i]
	}
	at := "/modules/" + path + "/@v/" + version
	p.stage.NPM.File(at+".info", []byte(`{"Version": "`+version+`"}`))
	p.stage.NPM.File(at+".mod", []byte(mod))
	p.stage.NPM.File(at+".zip", forge.Pack(files...))
	p.stage.NPM.File("/modules/"+path+"/@latest", []byte(`{"Version": "`+version+`"}`))
	p.versions[name] += version + "\n"
	p.stage.NPM.File("/modules/"+path+"/@v/list", []byte(p.versions[name]))
}

// publishImage puts an image into the registry, under its tag and its digest.
func (p *aProject) publishImage(t *testing.T, version, number string) {
	t.Helper()
	image, err := random.Image(100, 1)
	if err == nil {
		image, err = mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})
	}
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	p.answers[version] = digest.FromBytes(manifest).String()
	p.serve("/v2/", "application/json", "{}")
	for _, name := range []string{number, p.answers[version]} {
		p.serve("/v2/notes/manifests/"+name, "application/vnd.docker.distribution.manifest.v2+json", string(manifest))
	}
	p.stage.NPM.File("/v2/notes/blobs/"+digest.FromBytes(config).String(), config)
}

// nodeServer says its text when it is called, and shows the same tool in every version.
const nodeServer = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const results = {
    initialize: () => ({ protocolVersion: m.params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'js', version: '1' } }),
    'tools/list': () => ({ tools: [{ name: 'say', description: 'Say it.', inputSchema: { type: 'object' } }] }),
    'tools/call': () => ({ content: [{ type: 'text', text: require('./text.js') }] }),
  };
  const r = { jsonrpc: '2.0', id: m.id };
  if (results[m.method]) r.result = results[m.method]();
  else r.error = { code: -32601, message: 'no such method' };
  console.log(JSON.stringify(r));
});
`

// pythonServer is the same in Python.
const pythonServer = `import json, sys, words
def main():
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m: continue
        r = {"jsonrpc": "2.0", "id": m["id"]}
        if m["method"] == "initialize":
            r["result"] = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
                           "serverInfo": {"name": "python", "version": "1"}}
        elif m["method"] == "tools/list":
            r["result"] = {"tools": [{"name": "say", "description": "Say it.", "inputSchema": {"type": "object"}}]}
        elif m["method"] == "tools/call":
            r["result"] = {"content": [{"type": "text", "text": words.word}]}
        else:
            r["error"] = {"code": -32601, "message": "no such method"}
        print(json.dumps(r), flush=True)
`

// goServer is the same in Go.
const goServer = `package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"example.com/words"
)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion json.RawMessage }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := "\"error\":{\"code\":-32601,\"message\":\"no such method\"}"
		switch m.Method {
		case "initialize":
			answer = "\"result\":{\"protocolVersion\":" + string(m.Params.ProtocolVersion) +
				",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"go\",\"version\":\"1\"}}"
		case "tools/list":
			answer = "\"result\":{\"tools\":[{\"name\":\"say\",\"description\":\"Say it.\"," +
				"\"inputSchema\":{\"type\":\"object\"}}]}"
		case "tools/call":
			answer = "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" + words.Word + "\"}]}"
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, answer)
	}
}
`
