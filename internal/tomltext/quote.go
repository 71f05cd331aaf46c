package tomltext

import (
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Quote is s as a string of TOML, in single quotes where that needs no escapes.
func Quote(s string) string {
	data, err := toml.Marshal(map[string]string{"x": s})
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "x ="))
}

// QuotePlain is s as a string of TOML, in double quotes where that needs no escapes.
func QuotePlain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return Quote(s)
	}
	return `"` + s + `"`
}

// Requote is s as a string of TOML in the place of another one, in double quotes where that one is and s
// needs no escapes.
func Requote(old []byte, s string) string {
	if plain := `"` + s + `"`; old[0] == '"' && strconv.Quote(s) == plain {
		return plain
	}
	return Quote(s)
}
