package hashfile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/engine"
)

// text is much like the file of bench's P11.
func text(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "    value_%d = compute(input[%d], \"name %d\"); // comment %d\n", i, i, i, i)
	}
	return b.Bytes()
}

// BenchmarkAnswer is what an answer is made of. Its escaping is in package stdio.
func BenchmarkAnswer(b *testing.B) {
	data := text(10 << 20)
	e := engine.New(engine.Options{MaxFile: DefaultMaxFile, Anchors: hashline.Options{Width: 2}})
	var buf []byte
	for name, part := range map[string]func(){
		"all":    func() { e.WriteTagged(io.Discard, &engine.Reading{Text: data, First: 1}) },
		"tags":   func() { buf = hashline.AppendLines(buf[:0], data, 1, 2) },
		"sum":    func() { digest.FromBytes(data) },
		"survey": func() { (&hashline.Survey{First: 1}).WriteAll(data) },
		"parse":  func() { hashline.Parse(data) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				part()
			}
		})
	}
}

// benchClient is a client that looks into nothing but the beginning of an answer.
type benchClient struct {
	b       *testing.B
	in      io.Writer
	answers *bufio.Reader
}

// benchServer starts a server of a directory with a file of about size bytes, and returns the file's path.
func benchServer(b *testing.B, size int) (c benchClient, path string) {
	dir := b.TempDir()
	path = filepath.Join(dir, "file")
	if err := os.WriteFile(path, text(size), 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{Roots: []string{dir}, Locks: private(b), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(b.Context(), in, out) }()
	b.Cleanup(func() {
		toServer.Close()
		<-ended
		s.Close()
	})
	c = benchClient{b, toServer, bufio.NewReaderSize(fromServer, 1<<20)}
	c.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`)
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	b.ReportAllocs()
	return c, path
}

// ask returns the beginning of the answer.
func (c benchClient) ask(message string) string {
	fmt.Fprintln(c.in, message)
	var begin string
	for {
		part, err := c.answers.ReadSlice('\n')
		if begin == "" {
			begin = string(part[:min(len(part), 1000)])
		}
		if err == nil {
			return begin
		}
		if err != bufio.ErrBufferFull {
			c.b.Fatal(err)
		}
	}
}

// call calls a tool with arguments as JSON.
func (c benchClient) call(tool, arguments string) string {
	return c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		tool, arguments))
}

// benchCall runs calls to a server of a directory with a file, of each of the sizes.
func benchCall(b *testing.B, sizes []int, call func(c benchClient, path string, size, n int)) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			c, path := benchServer(b, size)
			b.SetBytes(int64(size))
			for n := 0; b.Loop(); n++ {
				call(c, path, size, n)
			}
		})
	}
}

// BenchmarkRead is a whole call that reads a file.
func BenchmarkRead(b *testing.B) {
	benchCall(b, []int{1000, 100_000, 10_000_000, 60_000_000}, func(c benchClient, path string, _, _ int) {
		c.call("read_text_file", fmt.Sprintf(`{"path":%q,"max_bytes":100000000}`, path))
	})
}

// BenchmarkReadLine is a whole call that reads the line in the middle of a file.
func BenchmarkReadLine(b *testing.B) {
	lines := map[int]int{}
	for _, size := range []int{100_000, 10_000_000, 60_000_000} {
		lines[size] = bytes.Count(text(size), []byte{'\n'}) / 2
	}
	benchCall(b, slices.Sorted(maps.Keys(lines)), func(c benchClient, path string, size, _ int) {
		c.call("read_text_file", fmt.Sprintf(`{"path":%q,"start_line":%d,"end_line":%[2]d}`, path, lines[size]))
	})
}

// BenchmarkEdit is two whole calls: one reads the first line of a file, and one replaces it. The file is synced to the
// disk.
func BenchmarkEdit(b *testing.B) {
	benchCall(b, []int{100_000, 10_000_000}, func(c benchClient, path string, _, n int) {
		answer := c.call("read_text_file", fmt.Sprintf(`{"path":%q,"start_line":1,"end_line":1}`, path))
		_, hash, _ := strings.Cut(answer, "file_hash=")
		hash, rest, _ := strings.Cut(hash, " ")
		_, line, _ := strings.Cut(rest, `\n`)
		anchor, _, _ := strings.Cut(line, "|")
		answer = c.call("edit_text_file", fmt.Sprintf(`{"path":%q,"file_hash":%q,"operations":[{"op":"replace",`+
			`"anchor":%q,"content":"edit %d"}]}`, path, hash, anchor, n))
		if strings.Contains(answer, `"isError":true`) {
			c.b.Fatal(answer)
		}
	})
}
