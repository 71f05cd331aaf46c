package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/serverjson"
)

// checkStored is an error unless the record that env shows is made from raw, whose digest is
// want, and what the registry says of the record's digest is true.
//
// The official registry keeps documents as values of its own types: members that are
// false or empty, those that begin with "x-" and those of _meta that are not the
// publisher's are not in its records. Where a registry has no integrity of its own and
// says that it does not know file_hashes, the documents may differ in these, and in
// _meta, file_hashes excepted, as long as package serverjson reads the same in both.
func (c *Client) checkStored(ctx context.Context, raw []byte, want digest.Digest, env registry.Envelope) error {
	got, err := registry.DigestOf(env.Server)
	if err != nil {
		return c.differs("", fmt.Errorf("the document that the registry stored has no canonical form: %w", err))
	}
	sent := c.compare("the document that was sent", evidence.Publisher, want, got)
	if sent.Outcome != evidence.Match && env.Meta.Integrity == nil {
		if about, err := c.About(ctx); err == nil && about.FileHashes == "" {
			if reduced, err := c.compareRead(raw, env.Server); err == nil {
				sent = reduced
			}
		}
	}
	if sent.Outcome != evidence.Match {
		return c.differs(sent.Detail(), errors.New("it stored another document than was sent"))
	}
	if i := env.Meta.Integrity; i != nil && !i.Document.IsZero() {
		if said := c.compare("the registry's record, hallmark/integrity", evidence.Record, i.Document,
			got); said.Outcome != evidence.Match {
			return c.differs(said.Detail(), errors.New("the record's digest is not that of its document"))
		}
	}
	return nil
}

// compare sets a digest beside that of the document that the registry stored.
func (c *Client) compare(where string, who evidence.Authority, want, got digest.Digest) evidence.Evidence {
	return evidence.Compare(
		evidence.Claim{Scheme: evidence.Document, Authority: who, Where: where, Want: []digest.Digest{want}},
		evidence.Observed{Digests: []digest.Digest{got}, From: "the document that the registry stored"})
}

func (c *Client) differs(detail string, err error) error {
	return &evidence.Error{Subject: "registry " + c.Base, Kind: evidence.Integrity, Err: err, Detail: detail,
		Hint: "the version is published; do not announce it, and ask the registry's operator"}
}

// compareRead compares what package serverjson reads in two documents.
func (c *Client) compareRead(sent, stored []byte) (evidence.Evidence, error) {
	var digests [2]digest.Digest
	for i, raw := range [][]byte{sent, stored} {
		d, err := serverjson.Parse(raw)
		if err != nil {
			return evidence.Evidence{}, err
		}
		d.Raw, d.Meta = nil, nil
		d.Icons, d.Remotes = orNil(d.Icons), orNil(d.Remotes)
		for i := range d.Packages {
			p := &d.Packages[i]
			p.RuntimeArguments, p.PackageArguments = orNil(p.RuntimeArguments), orNil(p.PackageArguments)
			p.EnvironmentVariables = orNil(p.EnvironmentVariables)
		}
		text, err := json.Marshal(d)
		if err != nil {
			return evidence.Evidence{}, err
		}
		digests[i] = digest.FromBytes(text)
	}
	return c.compare("the document that was sent, as far as it is read", evidence.Publisher, digests[0], digests[1]),
		nil
}

// orNil makes an empty list the same as none.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
