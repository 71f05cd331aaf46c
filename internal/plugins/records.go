package plugins

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/hallmark-mcp/hallmark/plugin"
)

// result is what scanning a script gave. The body of a file is a map of them, by key, as package gob writes it.
type result struct {
	Imports []plugin.Import
	Failure string // the text of the scanner's error; "" if there is none
}

// layout names the members of an import, and is part of what the MAC covers: gob leaves out what it does not know.
var layout = func() string {
	var b strings.Builder
	for _, m := range reflect.VisibleFields(reflect.TypeFor[plugin.Import]()) {
		fmt.Fprintln(&b, m.Name, m.Type.Kind())
	}
	return b.String()
}()

// encode is the body of a file of at most limit bytes: of what was used and what was known besides, or if that is too
// long of what was used; nil if that is, too.
func encode(limit int, used, known map[ScriptKey]result) []byte {
	all := maps.Clone(used)
	for k, r := range known {
		if _, ok := used[k]; !ok {
			all[k] = r
		}
	}
	for _, records := range []map[ScriptKey]result{all, used} {
		var body bytes.Buffer
		if err := gob.NewEncoder(&body).Encode(records); err == nil && body.Len() <= limit {
			return body.Bytes()
		}
	}
	return nil
}

// decode reads the body of a file whose MAC holds; nil if it is malformed all the same.
func decode(body []byte) (records map[ScriptKey]result) {
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&records); err != nil {
		return nil
	}
	return records
}
