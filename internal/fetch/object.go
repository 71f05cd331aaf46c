package fetch

import (
	"encoding/json"
	"strconv"
)

// object is a JSON object of a registry's document. Members are matched by their
// exact names; what is missing or of another type than asked for is the zero value.
type object map[string]json.RawMessage

// parseObject reads an object; nil if data is none.
func parseObject(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o
}

func (o object) text(key string) string   { return text(o[key]) }
func (o object) object(key string) object { return parseObject(o[key]) }
func (o object) truth(key string) bool    { return string(o[key]) == "true" }

// integer is a number without fraction or exponent, as text; it is only ever put
// into a URL.
func (o object) integer(key string) string {
	n, err := strconv.ParseUint(string(o[key]), 10, 63)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// list is the objects of an array; other elements are left out.
func (o object) list(key string) []object {
	var raw []json.RawMessage
	if json.Unmarshal(o[key], &raw) != nil {
		return nil
	}
	var list []object
	for _, r := range raw {
		if e := parseObject(r); e != nil {
			list = append(list, e)
		}
	}
	return list
}

// text is a JSON string, or "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// hashes are the members of an object that are text.
func hashes(o object) map[string]string {
	all := make(map[string]string, len(o))
	for algorithm := range o {
		if hex := o.text(algorithm); hex != "" {
			all[algorithm] = hex
		}
	}
	return all
}
