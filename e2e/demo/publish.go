package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"
)

func (d *demo) write(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, name), append(data, '\n'), 0o600)
}

func (d *demo) hash(ctx context.Context, _ string) error {
	d.title("The author hashes the package %s@%s", packageName, packageVersion)
	err := d.write("server.json", map[string]any{
		"$schema": model.CurrentSchemaURL, "name": serverName, "version": packageVersion,
		"description": "Read and write access to Airtable databases",
		"packages": []any{map[string]any{
			"registryType": model.RegistryTypeNPM, "identifier": packageName, "version": packageVersion,
			"transport":            map[string]any{"type": model.TransportTypeStdio},
			"environmentVariables": []any{map[string]any{"name": keyVariable, "isRequired": true, "isSecret": true}},
		}},
	})
	if err != nil {
		return err
	}
	out, _, err := d.hallmark(ctx, 0, "hash-gen", "server.json")
	if err != nil {
		return err
	}
	if err := expect(out, "npm:"+packageName+"@"+packageVersion, "sha256:"); err != nil {
		return err
	}
	_, _, err = d.hallmark(ctx, 0, "hash-gen", "--write", "server.json")
	return err
}

func (d *demo) publish(ctx context.Context, url string) error {
	d.title("It is published; the registry fetches the package and recomputes the hash itself")
	out, _, err := d.hallmark(ctx, 0, "publish", "server.json", "--registry", url)
	if err != nil {
		return err
	}
	return expect(out, "match", "sha256", "ownership", "npm:"+packageName+"@"+packageVersion)
}

// changeDigit changes the last hex digit of the one hash of a document.
func changeDigit(doc map[string]any) error {
	hashes, ok := doc["file_hashes"].(map[string]any)
	if !ok || len(hashes) != 1 {
		return errors.New("server.json has no file_hashes")
	}
	for key, v := range hashes {
		s := v.(string)
		last := "0"
		if strings.HasSuffix(s, "0") {
			last = "1"
		}
		hashes[key] = s[:len(s)-1] + last
	}
	return nil
}

func (d *demo) forged(ctx context.Context, url string) error {
	d.title("The same with one hex digit changed: the registry answers 422 with details")
	data, err := os.ReadFile(filepath.Join(d.dir, "server.json"))
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	doc["version"] = packageVersion + "-again"
	if err := changeDigit(doc); err != nil {
		return err
	}
	if err := d.write("forged.json", doc); err != nil {
		return err
	}
	_, errs, err := d.hallmark(ctx, 3, "publish", "forged.json", "--no-hash", "--registry", url)
	if err != nil {
		return err
	}
	if err := expect(errs, "1 of 1 file hash did not match", "mismatch", "expected sha256:", "actual   sha256:"); err !=
		nil {
		return err
	}
	fmt.Println("\nThe author's own side would not even have sent it:")
	_, errs, err = d.hallmark(ctx, 3, "publish", "forged.json", "--registry", url)
	if err != nil {
		return err
	}
	return expect(errs, "sha256 mismatch", "claimed by")
}
