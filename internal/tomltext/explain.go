package tomltext

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/surface"
)

// wrongType is what go-toml says of a value of another type than a key has.
var wrongType = spelling.Form(`cannot (?:decode TOML|store an?) ([a-z ]+?) in(?:to)? `)

// Explain puts line and column before what go-toml says is wrong, and names each unknown key.
func Explain(err error) error {
	key := func(key toml.Key) string { return surface.Escape(strings.Join(key, ".")) }
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		var all []error
		for _, e := range strict.Errors {
			line, column := e.Position()
			all = append(all, fmt.Errorf("line %d, column %d: unknown key %s", line, column, key(e.Key())))
		}
		return errors.Join(all...)
	}
	var decode *toml.DecodeError
	if !errors.As(err, &decode) {
		return err
	}
	line, column := decode.Position()
	if m := wrongType().FindStringSubmatch(decode.Error()); m != nil { // the rest is about types of Go
		return fmt.Errorf("line %d, column %d: %s cannot be a value of type %s", line, column, key(decode.Key()), m[1])
	}
	message := strings.TrimPrefix(decode.Error(), "toml: ")
	return fmt.Errorf("line %d, column %d: %s", line, column, surface.Escape(message))
}
