package hallmark

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/fetch"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/trail"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// VerifyOptions say how a server.json is verified.
type VerifyOptions struct {
	Machine       Machine
	RequireHashes bool  // refuse packages that nobody claims a hash for
	MaxFileBytes  int64 // of one file of a package; 0 is the default
}

// Verify fetches every file that the server.json in a file names, and compares it with file_hashes,
// with fileSha256, and with the claims of the package's own registry. A match shows integrity, not
// authenticity.
func Verify(ctx context.Context, file string, o VerifyOptions) (policy.Verdict, error) {
	doc, h, err := openDocument(file, o.Machine, fetch.Limits{FileSize: o.MaxFileBytes})
	if err != nil {
		return policy.Verdict{}, err
	}
	verdict, err := document.Verify(ctx, h, doc, filepath.ToSlash(file),
		policy.Settings{RequireHashes: o.RequireHashes})
	if err != nil {
		return verdict, err
	}
	return verdict, verdict.Err()
}

// HashOptions say how the files of a server.json are hashed.
type HashOptions struct {
	Machine      Machine
	MaxFileBytes int64 // of one file of a package; 0 is the default
}

// Hashes are the hashes of all files of a server.json's packages.
type Hashes struct {
	Files   map[string]digest.Digest // by the key that file_hashes has for the file
	Verdict policy.Verdict           // of what the package registries say
}

// HashGen fetches every file of the packages of a server.json, and hashes it. It ignores the hashes
// that the document has already, and writes nothing.
func HashGen(ctx context.Context, file string, o HashOptions) (*Hashes, error) {
	doc, h, err := openDocument(file, o.Machine, fetch.Limits{FileSize: o.MaxFileBytes})
	if err != nil {
		return nil, err
	}
	found, err := document.HashFiles(ctx, h, doc, filepath.ToSlash(file))
	if err != nil {
		return nil, err
	}
	out := &Hashes{Files: map[string]digest.Digest{}, Verdict: found.Verdict}
	for _, f := range found.Files {
		if out.Files[f.Key], err = digest.Parse(f.Value); err != nil {
			return nil, err
		}
	}
	return out, out.Verdict.Err()
}

// PublishOptions say where and how something is published.
type PublishOptions struct {
	Machine   Machine
	Registry  string   // base URL; "" is the registry of the last login
	Token     string   // "" is HALLMARK_TOKEN, else the token of the last login
	LogKey    string   // verifier key of the registry's log; "" is the one that this machine knows
	NoHash    bool     // of a server.json: fetch nothing, and send it as it is
	NoSurface bool     // of an archive with a server: do not start it to publish which tools it shows
	Variables []string // names of variables that such a server gets
}

// Published is what was sent, and the registry's answer.
type Published struct {
	Subject  string         // NAME@VERSION
	Document []byte         // as sent; nil for an archive
	Verdict  policy.Verdict // of what was sent, the registry's record, and its log
	Entry    *int64         // of the registry's log, proven; nil without a log

	ContentIntegrity digest.Digest // of an archive
	APISurface       digest.Digest // of the tools of a packed server; zero if none was published
}

// Publish hashes all files of a server.json's packages, adds file_hashes to the document that it
// sends, and publishes it. Or it publishes an archive, FILE.facet, after recomputing all its
// claims.
func Publish(ctx context.Context, file string, o PublishOptions) (*Published, error) {
	h, err := o.Machine.open(filepath.Dir(file), fetch.Limits{})
	if err != nil {
		return nil, err
	}
	registry, token, err := publish.FindRegistry(h, o.Registry)
	if err == nil && registry == nil {
		err = evidence.Errorf(evidence.Validation, "registry", "", errors.New("none is named, and there is no login"))
	}
	if o.Token != "" && registry != nil {
		token, err = o.Token, nil
	}
	if err != nil {
		return nil, err
	}
	options := publish.Options{
		Registry: registry, Token: token, NoHash: o.NoHash, Log: trail.Options{Key: o.LogKey},
		NoSurface: o.NoSurface, Variables: o.Variables,
	}
	if publish.IsArchive(file) {
		p, err := publish.Archive(ctx, h, file, options)
		if p == nil {
			return nil, err
		}
		out := &Published{Verdict: p.Verdict, Entry: p.Entry, APISurface: p.APISurface}
		if p.Record != nil {
			out.Subject, out.ContentIntegrity = p.Record.Subject(), p.Record.ContentIntegrity
		}
		return out, err
	}
	doc, err := readDocument(file)
	if err != nil {
		return nil, err
	}
	p, err := publish.Server(ctx, h, doc, filepath.ToSlash(file), options)
	if p == nil {
		return nil, err
	}
	return &Published{Subject: doc.Name + "@" + doc.Version, Document: p.Document, Verdict: p.Verdict, Entry: p.Entry},
		err
}

// openDocument reads a server.json, and makes the host of a flow about it.
func openDocument(file string, m Machine, limits fetch.Limits) (*serverjson.Document, *host.Host, error) {
	doc, err := readDocument(file)
	if err != nil {
		return nil, nil, err
	}
	h, err := m.open(filepath.Dir(file), limits)
	return doc, h, err
}

func readDocument(file string) (*serverjson.Document, error) {
	name, data, err := document.ReadFile(file, os.Open)
	if err != nil {
		return nil, err
	}
	return document.Parse(name, data)
}
