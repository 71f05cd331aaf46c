package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/registry/client"
	"github.com/hallmark-mcp/hallmark/surface"
)

// maxDocument is how large a server.json may be, in bytes. One byte more is read, so that the
// parser notices a larger one.
const maxDocument = 1 << 20

// toolDocument is where the template of .NET has a package's server.json, below the directory of its project.
var toolDocument = filepath.Join(".mcp", "server.json")

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// ReadURL reads the server.json that is at a URL.
func ReadURL(ctx context.Context, address string) ([]byte, error) {
	data, err := client.Document(ctx, address, maxDocument)
	if err != nil {
		return nil, client.ExplainAnswer(address, evidence.Validation, err)
	}
	return data, nil
}

// ServerOf returns the server.json in a registry's answer, or data itself if that is none.
func ServerOf(data []byte) []byte {
	var answer struct {
		Server json.RawMessage `json:"server"`
		Meta   json.RawMessage `json:"_meta"`
	}
	if surface.Decode(data, &answer) != nil || answer.Server == nil {
		return data
	}
	return answer.Server
}

// ReadAll reads a server.json from r.
func ReadAll(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxDocument+1)) }

// ReadFile reads a server.json with open: [os.Open], or a function that opens regular files only if
// the user did not choose the name. It returns the name with slashes.
func ReadFile(name string, open func(string) (*os.File, error)) (shown string, data []byte, err error) {
	f, err := open(name)
	if err != nil {
		kind, hint := evidence.Operation, ""
		if errors.Is(err, os.ErrNotExist) {
			kind, hint = evidence.Validation, "name the file, or begin one with 'hallmark init'"
			other := filepath.Join(filepath.Dir(name), toolDocument)
			if filepath.Base(name) == "server.json" && isRegular(other) {
				other = filepath.ToSlash(other)
				hint = other + " is there: name it, as 'hallmark validate " + host.QuoteArguments([]string{other}) +
					"' does"
			}
		}
		return name, nil, evidence.Errorf(kind, name, hint, errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		inside := host.QuoteArguments([]string{filepath.ToSlash(filepath.Join(name, "server.json"))})
		return name, nil, evidence.Errorf(evidence.Validation, name,
			"name the file in it, as 'hallmark validate "+inside+"' does", errors.New("is a directory"))
	}
	if data, err = ReadAll(f); len(data) <= maxDocument && bytes.IndexByte(data, 0) >= 0 {
		return name, nil, evidence.Errorf(evidence.Validation, name,
			"name the server.json that has the package; of a file that is not published yet, 'hallmark hash-gen "+
				"--local "+host.QuoteArguments([]string{name})+"' makes the hash",
			errors.New("is no text, and so no server.json"))
	}
	return filepath.ToSlash(name), data, err
}
