package packages

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	ociname "github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	nothing "github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hallmark-mcp/hallmark/e2e/images"
	"github.com/hallmark-mcp/hallmark/e2e/world"
)

// imageRegistry is a real image registry, private or not.
type imageRegistry struct {
	*images.Server
	auth authn.Authenticator
}

// imageAuth are the credentials of a private registry as docker's configuration has them.
var imageAuth = base64.StdEncoding.EncodeToString([]byte(images.User + ":" + images.Password))

func startImages(t *testing.T, w *world.World, private bool) *imageRegistry {
	t.Helper()
	cert, key := w.Certificate(t, "localhost")
	r := &imageRegistry{
		images.ForTest(t, images.Options{Certificate: cert, Key: key, Authority: w.CA, Private: private}),
		authn.Anonymous}
	if private {
		r.auth = &authn.Basic{Username: images.User, Password: images.Password}
	}
	return r
}

// labelled is an image that names the server that it is for.
func labelled(t *testing.T, server string) v1.Image {
	t.Helper()
	image, err := random.Image(2000, 2)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config.Labels = map[string]string{"io.modelcontextprotocol.server.name": server}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		t.Fatal(err)
	}
	return image
}

// pushImage pushes an image and returns its manifest as the registry serves it.
func pushImage(t *testing.T, r *imageRegistry, repository, tag, server string) file {
	t.Helper()
	image := labelled(t, server)
	if err := remote.Write(r.reference(t, repository, tag), image, r.options()...); err != nil {
		t.Fatal(err)
	}
	want, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return r.manifest(t, repository, tag, want)
}

// pushIndex does the same with an index of one image.
func pushIndex(t *testing.T, r *imageRegistry, repository, tag, server string) file {
	t.Helper()
	index := mutate.AppendManifests(nothing.Index, mutate.IndexAddendum{
		Add:        labelled(t, server),
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	if err := remote.WriteIndex(r.reference(t, repository, tag), index, r.options()...); err != nil {
		t.Fatal(err)
	}
	want, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return r.manifest(t, repository, tag, want)
}

func (r *imageRegistry) reference(t *testing.T, repository, tag string) ociname.Reference {
	t.Helper()
	ref, err := ociname.NewTag(r.Host + "/" + repository + ":" + tag)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (r *imageRegistry) options() []remote.Option {
	return []remote.Option{remote.WithTransport(r.Transport()), remote.WithAuth(r.auth)}
}

// manifest is what the registry serves under a tag. It must be what was pushed.
func (r *imageRegistry) manifest(t *testing.T, repository, tag string, want v1.Hash) file {
	t.Helper()
	req := request(t, "https://"+r.Host+"/v2/"+repository+"/manifests/"+tag)
	req.Header.Set("Accept",
		"application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json")
	if r.auth != authn.Anonymous {
		req.SetBasicAuth(images.User, images.Password)
	}
	f := fetched(t, &http.Client{Transport: r.Transport()}, req, "oci:"+r.Host+"/"+repository+":"+tag)
	if f.digest != want.String() {
		t.Fatalf("%s was pushed as %s and is served as %s", f.ref, want, f.digest)
	}
	return f
}
