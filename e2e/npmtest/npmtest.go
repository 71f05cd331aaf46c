// Package npmtest is a small npm registry on loopback, for tests: packages made in
// memory, served over TLS under an authority of its own, and faults on demand.
//
// It serves what npm and Hallmark ask for, and nothing else:
//
//	GET /NAME              the packument: all versions, latest, which was published last, and when each was
//	GET /NAME/VERSION      one version's document
//	GET /NAME/-/FILE.tgz   a tarball, with a strong ETag and byte ranges
//	GET /PATH              any other file, see [Server.File]
//	PUT /NAME              what 'npm publish' sends
//
// The registry is honest: integrity and shasum fit the tarball that it serves.
// What a dishonest or broken one does is a [Fault] of one path.
package npmtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Package is one version of a package.
type Package struct {
	Name     string
	Version  string
	Manifest map[string]any    // further members of package.json: mcpName, bin, dependencies
	Files    map[string]string // contents by path, without package.json
	At       time.Time         // when it was published; zero: now
}

// Server is a running registry.
type Server struct {
	URL string // "https://127.0.0.1:PORT"

	http      *httptest.Server
	authority []byte // PEM

	mu       sync.Mutex
	packages map[string]*packument
	files    map[string][]byte // by path
	faults   map[string]fault
	requests map[string]int
	ranged   map[string]int // of these, with a Range
}

type packument struct {
	Name     string                    `json:"name"`
	Tags     map[string]string         `json:"dist-tags"`
	Versions map[string]map[string]any `json:"versions"`
	Time     map[string]string         `json:"time"` // of versions that were unpublished, too
}

// New starts a registry without packages.
func New() (*Server, error) {
	certificate, authority, err := issue()
	if err != nil {
		return nil, err
	}
	s := &Server{
		authority: authority,
		packages:  map[string]*packument{},
		files:     map[string][]byte{},
		faults:    map[string]fault{},
		requests:  map[string]int{},
		ranged:    map[string]int{},
	}
	s.http = httptest.NewUnstartedServer(s)
	s.http.TLS = certificate
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.http.StartTLS()
	s.URL = s.http.URL
	return s, nil
}

// Close ends the server and all its connections.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Authority is the certificate of the server's authority, in PEM.
func (s *Server) Authority() []byte { return s.authority }

// Environ is the environment with which Hallmark, node and npm use this registry and
// trust it. caFile is a file that holds [Server.Authority].
func (s *Server) Environ(caFile string) []string {
	return []string{
		"SSL_CERT_FILE=" + caFile,
		"NODE_EXTRA_CA_CERTS=" + caFile,
		"npm_config_cafile=" + caFile,
		"npm_config_registry=" + s.URL + "/",
		"npm_config_fetch_retries=0",
	}
}

// Publish adds a version, or puts other bytes in its place, as an honest registry
// never does. It becomes the latest one.
func (s *Server) Publish(p Package) error {
	manifest := map[string]any{}
	maps.Copy(manifest, p.Manifest)
	manifest["name"], manifest["version"] = p.Name, p.Version
	tgz, err := pack(manifest, p.Files)
	if err != nil {
		return fmt.Errorf("%s@%s: %w", p.Name, p.Version, err)
	}
	s.add(p, manifest, tgz)
	return nil
}

// add adds a version whose tarball is tgz.
func (s *Server) add(p Package, manifest map[string]any, tgz []byte) {
	path := TarballPath(p.Name, p.Version)
	wide, short := sha512.Sum512(tgz), sha1.Sum(tgz)
	document := maps.Clone(manifest)
	document["dist"] = map[string]any{
		"tarball":   s.URL + path,
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(wide[:]),
		"shasum":    hex.EncodeToString(short[:]),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.packages[p.Name]
	if all == nil {
		all = &packument{Name: p.Name, Tags: map[string]string{}, Versions: map[string]map[string]any{},
			Time: map[string]string{}}
		s.packages[p.Name] = all
	}
	all.Versions[p.Version] = document
	if p.At.IsZero() {
		p.At = time.Now()
	}
	all.Time[p.Version] = p.At.UTC().Format("2006-01-02T15:04:05.000Z")
	all.Tags["latest"] = p.Version
	s.files[path] = tgz
}

// put takes what 'npm publish' sends: the version that it names, with its tarball.
func (s *Server) put(w http.ResponseWriter, r *http.Request) {
	var sent struct {
		Name        string
		Versions    map[string]map[string]any
		Attachments map[string]struct{ Data []byte } `json:"_attachments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || len(sent.Versions) != 1 ||
		len(sent.Attachments) != 1 {
		http.Error(w, fmt.Sprintf("not one version with its tarball: %v", err), http.StatusBadRequest)
		return
	}
	for version, manifest := range sent.Versions {
		for _, tarball := range sent.Attachments {
			s.add(Package{Name: sent.Name, Version: version}, manifest, tarball.Data)
		}
	}
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, "{}")
}

// Deprecate says something against a version, in the words of its publisher.
func (s *Server) Deprecate(name, version, words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packages[name].Versions[version]["deprecated"] = words
}

// Unpublish takes a version away, with its tarball. Of those that are left the one that was published last is the
// latest.
func (s *Server) Unpublish(name, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.packages[name]
	delete(all.Versions, version)
	delete(s.files, TarballPath(name, version))
	delete(all.Tags, "latest")
	for left := range all.Versions {
		if last, ok := all.Tags["latest"]; !ok || all.Time[left] > all.Time[last] {
			all.Tags["latest"] = left
		}
	}
}

// File serves data at path, which begins with a slash.
func (s *Server) File(path string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = data
}

// Tarball is the tarball of a version as it is served, or nil.
func (s *Server) Tarball(name, version string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[TarballPath(name, version)]
}

// Requests is how often path was asked for.
func (s *Server) Requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// Ranged is how often a part of path was asked for.
func (s *Server) Ranged(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ranged[path]
}

// TarballPath is the path of a version's tarball.
func TarballPath(name, version string) string {
	return "/" + name + "/-/" + name[strings.LastIndexByte(name, '/')+1:] + "-" + version + ".tgz"
}

// VersionPath is the path of a version's document.
func VersionPath(name, version string) string { return "/" + name + "/" + version }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		s.put(w, r)
		return
	}
	s.mu.Lock()
	s.requests[r.URL.Path]++
	if r.Header.Get("Range") != "" {
		s.ranged[r.URL.Path]++
	}
	f, faulty := s.faults[r.URL.Path]
	if faulty && f.times > 0 {
		f.times--
		s.faults[r.URL.Path] = f
	}
	data, found := s.find(r.URL.Path)
	s.mu.Unlock()
	if faulty && f.times != 0 {
		f.answer(w, r, data)
		return
	}
	if !found {
		http.Error(w, `{"error":"Not found"}`, http.StatusNotFound)
		return
	}
	whole(w, r, data)
}

// whole sends data, or the range that is asked for.
func whole(w http.ResponseWriter, r *http.Request, data []byte) {
	sum := sha1.Sum(data)
	w.Header().Set("Content-Type", "application/octet-stream")
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		w.Header().Set("Content-Type", "application/json")
	case bytes.HasPrefix(data, []byte("<!DOCTYPE html>")):
		w.Header().Set("Content-Type", "text/html")
	}
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// find is what stands at a path. The caller holds mu.
func (s *Server) find(path string) ([]byte, bool) {
	if data, ok := s.files[path]; ok {
		return data, true
	}
	name, version, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if strings.HasPrefix(name, "@") {
		rest, v, _ := strings.Cut(version, "/")
		name, version = name+"/"+rest, v
	}
	all, ok := s.packages[name]
	if !ok {
		return nil, false
	}
	var document any = all
	if version != "" {
		one, ok := all.Versions[version]
		if !ok {
			return nil, false
		}
		document = one
	}
	data, err := json.Marshal(document)
	return data, err == nil
}

// pack makes a tarball as npm does: gzip, all files below "package/".
func pack(manifest map[string]any, files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	add := func(name string, data []byte) error {
		err := archive.WriteHeader(&tar.Header{
			Name: "package/" + name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(499162500, 0),
			Typeflag: tar.TypeReg,
		})
		if err == nil {
			_, err = archive.Write(data)
		}
		return err
	}
	data, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := add("package.json", data); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := add(name, []byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err = zip.Close()
	return out.Bytes(), err
}
