package engine

import (
	"bytes"
	"unicode/utf8"
)

// EstimateTokens returns about how many tokens a model takes lines of text for, with their numbers and tags. It was
// fitted to o200k, and is too high rather than too low: words cost a token for each five letters, numbers one for each
// three digits, each other character one.
func EstimateTokens(text []byte) int {
	total := 0
	for len(text) > 0 {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line = text[:i]
			text = text[i+1:]
		} else {
			text = nil
		}
		total += estimateLine(line)
	}
	return total
}

// tagTokens is what number, tag and line feed of a line cost, about.
const tagTokens = 5

// estimateLine returns about how many tokens one line costs.
func estimateLine(line []byte) int {
	tokens := tagTokens
	for i := 0; i < len(line); {
		from, class := i, classes[line[i]]
		for i++; i < len(line) && classes[line[i]] == class; i++ {
		}
		n := i - from
		switch class {
		case letter:
			tokens += (n + 4) / 5
		case digit:
			tokens += (n + 2) / 3
		case blank: // those before a word belong to it
			tokens += (n + 14) / 16
		case wide:
			tokens += utf8.RuneCount(line[from:i])
		default:
			tokens += (n + 1) / 2
		}
	}
	return tokens
}

// The classes of bytes, of which runs make tokens.
const (
	mark = iota
	letter
	digit
	blank
	wide
)

// classes has the class of each byte.
var classes = func() (all [256]byte) {
	for c := range all {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			all[c] = letter
		case '0' <= c && c <= '9':
			all[c] = digit
		case c == ' ' || c == '\t':
			all[c] = blank
		case c >= utf8.RuneSelf:
			all[c] = wide
		}
	}
	return all
}()

// linesWithin returns how many of the first lines of a text cost at most limit tokens, and the size of these.
func linesWithin(text []byte, limit int) (lines, size int) {
	total := 0
	for size < len(text) {
		end := len(text)
		if i := bytes.IndexByte(text[size:], '\n'); i >= 0 {
			end = size + i + 1
		}
		if total += estimateLine(text[size:end]); total > limit {
			break
		}
		lines, size = lines+1, end
	}
	return lines, size
}
