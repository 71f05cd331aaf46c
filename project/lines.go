package project

import (
	"bytes"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tableLines maps the dotted key of each table and each inline table or dotted key
// below providers to the line where it first stands, counted from 1.
func tableLines(data []byte) (map[string]int, error) {
	lines := map[string]int{}
	var parser unstable.Parser
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		e := parser.Expression()
		var keys []string
		var line int
		it := e.Key()
		for it.Next() {
			node := it.Node()
			if line == 0 {
				line = 1 + bytes.Count(data[:node.Raw.Offset], []byte("\n"))
			}
			keys = append(keys, string(node.Data))
		}
		prefix := table
		if e.Kind == unstable.Table || e.Kind == unstable.ArrayTable {
			table, prefix = keys, nil
		}
		full := append(append([]string(nil), prefix...), keys...)
		for n := range full {
			key := strings.Join(full[:n+1], ".")
			if _, ok := lines[key]; !ok {
				lines[key] = line
			}
		}
	}
	return lines, parser.Error()
}
