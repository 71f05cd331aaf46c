package stdio

import (
	"encoding/json"
	"strings"
)

// members calls each with the name and value of the members of a JSON object, which has to be valid, until it returns
// false.
func members(object []byte, each func(name string, value []byte) bool) {
	i := skipSpace(object, 0) + 1
	for {
		i = skipSpace(object, i)
		if object[i] == '}' {
			return
		}
		end := skipValue(object, i)
		var name string
		if json.Unmarshal(object[i:end], &name) != nil {
			return
		}
		i = skipSpace(object, skipSpace(object, end)+1) // after the colon
		end = skipValue(object, i)
		if !each(name, object[i:end]) {
			return
		}
		if i = skipSpace(object, end); object[i] == ',' {
			i++
		}
	}
}

// elements returns the elements of a JSON array, which has to be valid, but not many more than most.
func elements(array []byte, most int) (found [][]byte) {
	i := skipSpace(array, 0) + 1
	for {
		i = skipSpace(array, i)
		if array[i] == ']' || len(found) > most {
			return found
		}
		end := skipValue(array, i)
		found = append(found, array[i:end:end])
		if i = skipSpace(array, end); array[i] == ',' {
			i++
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns where the value that begins at b[i] ends.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			for depth == 0 && i < len(b) && strings.IndexByte(",:]} \t\r\n", b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			break
		}
	}
	return i
}

// skipString returns where the string that begins at b[i] ends.
func skipString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}
