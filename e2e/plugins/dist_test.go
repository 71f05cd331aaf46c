package plugins

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/tree"
)

// nodeProgram is the path of Node, which the tests of plugins are about.
func nodeProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	return path
}

// TestDistAsNode compares every profile with Node on random trees of printable ASCII
// names: HALLMARK_TREES of them, 500 if it is not set.
func TestDistAsNode(t *testing.T) {
	node := nodeProgram(t)
	n := 500
	if s := os.Getenv("HALLMARK_TREES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(7, uint64(n)))
	trees := make([]map[string]string, n)
	var input bytes.Buffer
	for i := range trees {
		trees[i] = randomNames(random)
		line, err := json.Marshal(trees[i])
		if err != nil {
			t.Fatal(err)
		}
		input.Write(append(line, '\n'))
	}
	cmd := exec.CommandContext(t.Context(), node, "dist_as_node.js")
	cmd.Stdin = &input
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for i, files := range trees {
		if !lines.Scan() {
			t.Fatalf("node answered %d of %d", i, n)
		}
		want := map[tree.Profile]string{}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		var list []tree.File
		for path, text := range files {
			list = append(list, tree.File{Path: path, Size: int64(len(text))})
		}
		open := func(path string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[path])), nil }
		for _, p := range tree.Profiles() {
			d, err := tree.Dist(t.Context(), p, list, open, 1)
			if want[p] == "" && errors.Is(err, tree.ErrEmpty) {
				continue
			}
			if err != nil || d.String() != want[p] {
				t.Fatalf("%s of %q: %s, %v; node has %s", p, files, d, err, want[p])
			}
		}
	}
}

// randomNames favours names that differ in case, punctuation or length only.
func randomNames(random *rand.Rand) map[string]string {
	alphabet := " _-,;:!?.'\"()[]{}@*/&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
	if random.IntN(2) == 0 {
		alphabet = "aAbB-_. /1"
	}
	files := map[string]string{}
	for range 1 + random.IntN(12) {
		name := make([]byte, 1+random.IntN(8))
		for i := range name {
			name[i] = alphabet[random.IntN(len(alphabet))]
		}
		if tree.CheckPath(string(name)) == nil {
			files[string(name)] = strings.Repeat("x\n", random.IntN(3))
		}
	}
	return files
}
