package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and group under which containers run.
const nobody = 65532

// writeImages writes an image of each set as an OCI layout in a tar archive, for the architectures of Linux. An image
// holds the programs, certificate authorities, and two directories that are its user's.
func (r *release) writeImages() error {
	for _, s := range sets {
		var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		for _, p := range s.platforms {
			if p.os != "linux" {
				continue
			}
			image, err := r.image(s, p)
			if err != nil {
				return err
			}
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add:        image,
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
			})
		}
		if err := r.writeImage(s, index); err != nil {
			return err
		}
	}
	return nil
}

// image is the image of s for p.
func (r *release) image(s set, p platform) (v1.Image, error) {
	content, err := r.imageLayer(s, p)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: s.name + " " + r.version},
	})
	if err != nil {
		return nil, err
	}
	config := v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: v1.Time{Time: r.time},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%d", nobody, nobody), Entrypoint: []string{"/usr/bin/" + s.name},
			Env: []string{"PATH=/usr/bin", "HOME=/data"}, WorkingDir: "/data",
			Volumes: map[string]struct{}{"/data": {}}, StopSignal: "SIGTERM",
			Labels: map[string]string{
				"org.opencontainers.image.title": s.name, "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": license,
				"org.opencontainers.image.description": s.summary,
			},
		},
	}
	if s.name == registry.name {
		config.Config.Cmd = []string{"serve", "--addr", "0.0.0.0:8080", "--data", "/data"}
		config.Config.ExposedPorts = map[string]struct{}{"8080/tcp": {}}
	}
	return r.configure(image, config)
}

// configure gives image config, with the layers that it has.
func (r *release) configure(image v1.Image, config v1.ConfigFile) (v1.Image, error) {
	now, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.RootFS, config.History = now.RootFS, now.History
	return mutate.ConfigFile(image, &config)
}

// imageLayer is a tar archive of all that the image of s for p holds.
func (r *release) imageLayer(s set, p platform) ([]byte, error) {
	files := []packed{
		{"data/", 0o700, nil},
		{"tmp/", 0o700, nil}, // downloads are hashed from temporary files
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
	}
	for _, name := range s.programs {
		data, err := os.ReadFile(r.built(p, name))
		if err != nil {
			return nil, err
		}
		files = append(files, packed{"usr/bin/" + name, 0o755, data})
	}
	return plainTar(files, r.time)
}

// authorities are the certificate authorities that Mozilla's programs trust without a condition, as PEM. Those with a
// condition, which a file of certificates cannot say, are left out.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // into memory
		}
	}
	return out.Bytes()
}

// writeImage writes an index with its images as an OCI layout, and says its digest.
func (r *release) writeImage(s set, index v1.ImageIndex) error {
	dir, err := os.MkdirTemp(r.out, "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
	})); err != nil {
		return err
	}
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	data, err := plainTar(files, r.time)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("image %s %s\n", s.name, digest)
	return r.write(s.name+"_"+r.version+"_image.tar", data)
}

// filesBelow are the files below dir, in the order of their names.
func filesBelow(dir string) (files []packed, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		files = append(files, packed{name, 0o644, data})
		return err
	})
	return files, err
}
