package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"testing"
)

// TestReadingVectors runs spec/archive-reading.json.
func TestReadingVectors(t *testing.T) {
	data, err := os.ReadFile("../../spec/archive-reading.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Archives []struct {
			Name      string
			Zip, Gzip []byte
			Problem   Problem
			Files     map[string]string
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, a := range v.Archives {
		got, err := map[string]string(nil), error(nil)
		if a.Zip != nil {
			got, err = readZip(a.Zip)
		} else {
			got, err = readTar(a.Gzip)
		}
		e, refused := errors.AsType[*Error](err)
		switch {
		case a.Problem != "" && (!refused || e.Problem != a.Problem):
			t.Errorf("%s: %v; want %s", a.Name, err, a.Problem)
		case a.Problem == "" && (err != nil || !maps.Equal(got, a.Files)):
			t.Errorf("%s: %v, %v", a.Name, got, err)
		}
		kind, outcome := "tar", "refused"
		if a.Zip != nil {
			kind = "zip"
		}
		if a.Problem == "" {
			outcome = "read"
		}
		kinds[kind+" "+outcome]++
	}
	if kinds["zip refused"] < 40 || kinds["tar refused"] < 40 || kinds["zip read"] < 8 || kinds["tar read"] < 3 {
		t.Error("vectors are missing:", kinds)
	}
}

// readTar reads every file of a compressed tar.
func readTar(data []byte) (map[string]string, error) {
	got := map[string]string{}
	_, err := Walk(bytes.NewReader(data), TarGzip, Limits{}, func(e Entry, r io.Reader) error {
		content, err := io.ReadAll(r)
		got[e.Path] = string(content)
		return err
	})
	return got, err
}
