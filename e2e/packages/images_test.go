package packages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	nothing "github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hallmark-mcp/hallmark/e2e/hang"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// imageProject is a project whose server "notes" is an image, which a stand-in for docker
// runs: the puppet, for which the word "run" is the file that it shows.
type imageProject struct {
	world    *world.World
	bin, dir string
	home     string
	client   string
}

func newImageProject(t *testing.T, w *world.World, tools, image string) *imageProject {
	t.Helper()
	p := &imageProject{world: w, bin: filepath.Join(tools, "hallmark"), client: filepath.Join(tools, "client"),
		dir: t.TempDir(), home: t.TempDir()}
	p.write(t, "run",
		`{"tools/list": {"tools": [{"name": "args", "description": "Say the arguments.", "inputSchema": {"type": `+
			`"object"}}]}}`)
	p.declare(t, image)
	return p
}

func (p *imageProject) declare(t *testing.T, image string) {
	t.Helper()
	p.write(t, "hallmark.toml",
		"manifest_version = 1\n[providers.mcp.notes]\ncommand = \"docker\"\narguments = [\"run\", \"-i\", \"--rm\", \""+
			image+"\", \"serve\"]\n")
}

func (p *imageProject) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run starts a program in the project; output is all that it printed.
func (p *imageProject) run(t *testing.T, program string, args ...string) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Long)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = p.dir
	c.Env = p.environ()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

// environ is the environment of what is started in the project.
func (p *imageProject) environ() []string {
	return []string{"PATH=" + filepath.Dir(p.client) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + p.home,
		"HALLMARK_ALLOW_HOSTS=" + os.Getenv("HALLMARK_ALLOW_HOSTS"),
		"HALLMARK_HOME=" + filepath.Join(p.home, "hallmark"), "SSL_CERT_FILE=" + p.world.CA}
}

// lock is the entry of the server.
func (p *imageProject) lock(t *testing.T) (image, digest string, platforms map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "hallmark.lock"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Servers map[string]struct {
			Image     string            `json:"image"`
			Digest    string            `json:"digest"`
			Platforms map[string]string `json:"platforms"`
		} `json:"servers"`
	}
	world.Decode(t, data, &lock)
	e := lock.Servers["notes"]
	return e.Image, e.Digest, e.Platforms
}

// pushPlatforms pushes an index of images for several platforms.
func pushPlatforms(t *testing.T, r *imageRegistry, repository, tag string, platforms ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = nothing.Index
	for _, platform := range platforms {
		image, err := random.Image(3000, 3)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := v1.ParsePlatform(platform)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index,
			mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: parsed}})
	}
	if err := remote.WriteIndex(r.reference(t, repository, tag), index, r.options()...); err != nil {
		t.Fatal(err)
	}
	return index
}

// wholeBlobs reports blobs of a layout that do not have the digest they are named by.
func wholeBlobs(t *testing.T, dir string, count int) {
	t.Helper()
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil || len(blobs) != count {
		t.Errorf("%d blobs, want %d: %v", len(blobs), count, err)
	}
	for _, name := range blobs {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != filepath.Base(name) {
			t.Errorf("%s has the digest %x", name, sum)
		}
	}
}

// TestImages pins, runs and pulls images of a real registry. It reaches nothing else.
func TestImages(t *testing.T) {
	t.Parallel()
	w, tools := world.New(t), world.Tools(t)
	r := startImages(t, w, false)
	first := pushPlatforms(t, r, "acme/notes", "v2", "linux/amd64", "linux/arm64/v8", "linux/s390x")
	digest, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}
	name := r.Host + "/acme/notes"
	p := newImageProject(t, w, tools, name+":v2")
	if code, out := p.run(t, p.bin, "run", "--unlocked", "notes"); code != 4 || !strings.Contains(out, "unverified") {
		t.Errorf("run before pin: exit code %d\n%s", code, out)
	}
	code, out := p.run(t, p.bin, "pin", "--yes")
	if code != 0 || !strings.Contains(out, "  tag         "+name+":v2 led there\n") ||
		!strings.Contains(out, "the tag leads to what its publisher lets it lead to") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	image, locked, platforms := p.lock(t)
	if image != name+":v2" || locked != digest.String() || len(platforms) != 3 || platforms["linux/arm64/v8"] == "" {
		t.Errorf("the lock has %s %s %v", image, locked, platforms)
	}
	// The engine is told the digest, and no tag.
	code, out = p.run(t, p.client, "-call", "args", p.bin, "run", "notes")
	if code != 0 || !strings.Contains(out, "call args: -i --rm "+name+"@"+locked+" serve") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out = p.run(t, p.bin, "check", "--json")
	if code != 0 || !strings.Contains(out, "the container engine compares the image with this digest") {
		t.Errorf("check: exit code %d\n%s", code, out)
	}

	t.Run("entry point", func(t *testing.T) {
		image, err := mutate.Config(nothing.Image, v1.Config{Entrypoint: []string{"npx", "-y", "mail"}})
		if err != nil {
			t.Fatal(err)
		}
		index := mutate.AppendManifests(nothing.Index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
		if err := remote.WriteIndex(r.reference(t, "acme/inner", "v1"), index, r.options()...); err != nil {
			t.Fatal(err)
		}
		p := newImageProject(t, w, tools, r.Host+"/acme/inner:v1")
		code, out := p.run(t, p.bin, "pin", "--yes")
		if code != 4 || !strings.Contains(out, "another program, which nothing verifies: npx -y mail serve") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("pull", func(t *testing.T) {
		code, out := p.run(t, p.bin, "pull", "notes", "--output", "one.oci", "--platform", "linux/s390x")
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		index, err := ocilayout.ImageIndexFromPath(filepath.Join(p.dir, "one.oci"))
		if err != nil {
			t.Fatal(err)
		}
		// the index that led there, a manifest, a configuration and three layers
		wholeBlobs(t, filepath.Join(p.dir, "one.oci"), 6)
		manifest, err := index.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 ||
			manifest.Manifests[0].Digest.String() != platforms["linux/s390x"] {
			t.Errorf("the layout holds %+v, %v", manifest, err)
		}
		if code, out := p.run(t, p.bin, "pull", "notes", "--output", "all.oci", "--platform", "all"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		wholeBlobs(t, filepath.Join(p.dir, "all.oci"), 16)
		if code, out := p.run(t, p.bin, "pull", "notes", "--output", "all.oci"); code != 2 ||
			!strings.Contains(out, "is there already") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		if code, out := p.run(t, p.bin, "pull", "notes", "--output", "no.oci", "--platform", "plan9/arm"); code != 2 ||
			!strings.Contains(out, "linux/amd64, linux/arm64/v8, linux/s390x") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("tag moved", func(t *testing.T) {
		moved, err := pushPlatforms(t, r, "acme/notes", "v2", "linux/amd64").Digest()
		if err != nil {
			t.Fatal(err)
		}
		code, out := p.run(t, p.bin, "check")
		if code != 6 || !strings.Contains(out, "oci:"+name+":v2") || !strings.Contains(out, moved.String()) {
			t.Errorf("check: exit code %d\n%s", code, out)
		}
		if code, out := p.run(t, p.bin, "check", "--offline"); code != 0 {
			t.Errorf("check --offline: exit code %d\n%s", code, out)
		}
		// What runs is what was approved.
		code, out = p.run(t, p.client, "-call", "args", p.bin, "run", "notes")
		if code != 0 || !strings.Contains(out, "@"+locked) {
			t.Errorf("run: exit code %d\n%s", code, out)
		}
		code, out = p.run(t, p.bin, "outdated")
		if code != 6 || !strings.Contains(out, "notes  "+locked+" -> "+moved.String()) {
			t.Errorf("outdated: exit code %d\n%s", code, out)
		}
		code, out = p.run(t, p.bin, "upgrade", "--dry-run", "--start")
		if _, now, _ := p.lock(t); code != 0 || now != locked ||
			!strings.Contains(out, "  linux/amd64 "+platforms["linux/amd64"]+" -> ") {
			t.Errorf("upgrade --dry-run: exit code %d\n%s", code, out)
		}
		code, out = p.run(t, p.bin, "upgrade", "--yes")
		if code != 0 || !strings.Contains(out, "  new         oci:"+name+"@"+moved.String()) {
			t.Errorf("upgrade: exit code %d\n%s", code, out)
		}
		if code, out := p.run(t, p.bin, "outdated"); code != 0 || out != "" {
			t.Errorf("outdated after the upgrade: exit code %d\n%s", code, out)
		}
		if _, now, _ := p.lock(t); now != moved.String() {
			t.Errorf("the lock has %s", now)
		}
	})

	t.Run("digest pinned", func(t *testing.T) {
		p := newImageProject(t, w, tools, name+"@"+digest.String())
		if code, out := p.run(t, p.bin, "pin", "--yes"); code != 0 || strings.Contains(out, "pin absent") {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if image, locked, _ := p.lock(t); image != "" || locked != digest.String() {
			t.Errorf("the lock has %q %s", image, locked)
		}
		if code, out := p.run(t, p.bin, "check"); code != 0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("no tag", func(t *testing.T) {
		file := pushImage(t, r, "acme/single", "latest", "com.example/single")
		p := newImageProject(t, w, tools, r.Host+"/acme/single")
		if code, out := p.run(t, p.bin, "pin", "--yes"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		image, locked, platforms := p.lock(t)
		if image != r.Host+"/acme/single:latest" || locked != file.digest || platforms["linux/amd64"] != file.digest {
			t.Errorf("the lock has %s %s %v", image, locked, platforms)
		}
	})

	t.Run("wrong bytes", func(t *testing.T) {
		// A proxy in front of the registry gives other bytes of the same length for one blob
		// or one manifest.
		var lie atomic.Value // a path's end
		lie.Store("")
		target, err := url.Parse("https://" + r.Host)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{Transport: r.Transport(),
			Rewrite: func(req *httputil.ProxyRequest) { req.SetURL(target) }}
		proxy.ModifyResponse = func(res *http.Response) error {
			if end := lie.Load().(string); end != "" && strings.HasSuffix(res.Request.URL.Path, end) {
				data, err := io.ReadAll(res.Body)
				if err != nil || len(data) == 0 {
					return err
				}
				if data[0] == '{' {
					data = bytes.Replace(data, []byte(`:`), []byte(` `), 1)
				} else {
					data[len(data)/2] ^= 1
				}
				res.Body = io.NopCloser(bytes.NewReader(data))
			}
			return nil
		}
		w.Host("localhost", proxy.ServeHTTP)
		liar := "localhost:" + w.Port + "/acme/liar"
		index := pushPlatforms(t, r, "acme/liar", "v1", "linux/amd64", "linux/arm64/v8")
		p := newImageProject(t, w, tools, liar+":v1")
		if code, out := p.run(t, p.bin, "pin", "--yes"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		top, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		child, err := index.Image(manifest.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := child.Layers()
		if err != nil {
			t.Fatal(err)
		}
		layer, err := layers[1].Digest()
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{top.String(), manifest.Manifests[0].Digest.String(), layer.String()} {
			lie.Store(end)
			code, out := p.run(t, p.bin, "pull", "notes", "--output", "liar.oci", "--platform", "linux/amd64")
			if code != 3 || !strings.Contains(out, "sha256 mismatch") {
				t.Errorf("%s: exit code %d\n%s", lie, code, out)
			}
			left, err := filepath.Glob(filepath.Join(p.dir, "*liar*"))
			if hidden, _ := filepath.Glob(filepath.Join(p.dir, ".hallmark-pull-*")); err != nil ||
				len(left)+len(hidden) > 0 {
				t.Errorf("%s: left behind: %q %q %v", end, left, hidden, err)
			}
		}
		lie.Store("")
		if code, out := p.run(t, p.bin, "pull", "notes", "--output", "liar.oci", "--platform", "linux/amd64"); code !=
			0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("auth", func(t *testing.T) {
		private := startImages(t, w, true)
		pushPlatforms(t, private, "acme/secret", "v1", "linux/amd64")
		p := newImageProject(t, w, tools, private.Host+"/acme/secret:v1")
		if code, out := p.run(t, p.bin, "pin", "--yes"); code != 1 || !strings.Contains(out, "401") {
			t.Errorf("without credentials: exit code %d\n%s", code, out)
		}
		auth := base64.StdEncoding.EncodeToString([]byte("hallmark:hallmark-images"))
		config, err := json.Marshal(
			map[string]any{"auths": map[string]any{private.Host: map[string]string{"auth": auth}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(p.home, ".docker"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.home, ".docker", "config.json"), config, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out := p.run(t, p.bin, "pin", "--yes"); code != 0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
		if code, out := p.run(t, p.bin, "pull", "notes", "--platform", "linux/amd64"); code != 0 {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}
