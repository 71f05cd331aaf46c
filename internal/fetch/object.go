package fetch

import (
	"encoding/json"
	"strconv"
)

// object is a JSON object of a registry's document. Members are matched by their exact names;
// a member that is missing or of another type than asked for gives the zero value.
type object map[string]json.RawMessage

// parseObject reads an object; nil if data holds none.
func parseObject(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o
}

func (o object) text(key string) string   { return decodeText(o[key]) }
func (o object) object(key string) object { return parseObject(o[key]) }
func (o object) isTrue(key string) bool   { return string(o[key]) == "true" }

// texts returns the members that are text.
func (o object) texts() map[string]string {
	all := make(map[string]string, len(o))
	for key := range o {
		if text := o.text(key); text != "" {
			all[key] = text
		}
	}
	return all
}

// integer returns a number without fraction or exponent as text, because it is only put into
// URLs.
func (o object) integer(key string) string {
	n, err := strconv.ParseUint(string(o[key]), 10, 63)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// list returns the objects of an array; other elements are left out.
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

// decodeText reads a JSON string; "" if raw is none.
func decodeText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
