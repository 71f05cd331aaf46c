package surface

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// The kinds of warnings.
const (
	WarnHidden      = "hidden-characters" // text that a reviewer would not see
	WarnInstruction = "instruction"       // text that seems to give the model orders
	WarnName        = "unusual-name"      // a name that can pass for another one
)

// Warning is something that a reviewer should look at. Warnings are heuristics:
// they are shown and are never the basis of a decision. A surface without any is
// not thereby harmless.
type Warning struct {
	Item    string       `json:"item"` // the item's key, as it is
	Path    string       `json:"path"` // JSON pointer to the text, or to the member of which it is the name
	Kind    string       `json:"kind"` // one of the Warn constants
	Text    string       `json:"text"` // what was found with some context, escaped
	Summary string       `json:"summary"`
	Hidden  []HiddenRune `json:"hidden,omitempty"`
}

// orders are phrases that tool descriptions have no need for, matched in lower
// case text without hidden characters and with single spaces.
var orders = regexp.MustCompile(strings.Join([]string{
	`\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|other|all|any|safety|system)\b.{0,20}\b(?:instruction|prompt|message|rule|guideline|direction|context|restriction|polic)`,
	`\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|alert|alerting|show|showing|disclose|disclosing|ask|asking)\b.{0,25}\buser`,
	`\b(?:hide|conceal|keep)\b.{0,40}\bfrom (?:the )?user`,
	`</?\s*(?:important|system|instructions?|secret|hidden|admin|assistant|critical)\s*/?>`,
	`\[/?(?:inst|system)\]|<\|[a-z_]{2,30}\|>|<<sys>>`,
	`\byou are now\b|\bnew (?:system )?instructions?:|\bsystem prompt\b|\bas an ai\b`,
	`\b(?:before|after|instead of|prior to) (?:using|calling|invoking|running|executing) (?:this|any|other|another|the other|all)\b`,
	`\b(?:must|always|should)\b.{0,20}\b(?:first )?(?:call|invoke|use|run|execute|read)\b.{0,20}\b(?:this tool|first|before|instead of)\b`,
	`\b(?:read|send|include|pass|upload|attach|copy|post|forward|exfiltrate)\b.{0,60}(?:\.ssh\b|id_rsa|\.env\b|/etc/passwd|mcp\.json|private key|api[ _-]?keys?\b|credentials?\b|passwords?\b|conversation|chat history)`,
	`~/\.(?:ssh|aws|cursor|config|kube|gnupg)\b`,
}, "|"))

// Warnings looks through every text of a surface, member names included. There
// is at most one warning of a kind for each text.
func Warnings(s *Surface) []Warning {
	var found []Warning
	for _, i := range s.items {
		w := warner{item: i.Key()}
		v := i.tree()
		w.walk("", &v)
		if (i.Kind == KindTool || i.Kind == KindPrompt) && !asciiOnly(i.Name) {
			w.add("/"+i.Kind.naming(), WarnName, i.Name, "the name has characters outside ASCII and may imitate another")
		}
		found = append(found, w.found...)
	}
	return found
}

type warner struct {
	item  string
	found []Warning
}

func (w *warner) add(path, kind, text, summary string) *Warning {
	w.found = append(w.found, Warning{Item: w.item, Path: path, Kind: kind, Text: Escape(clip(text, 400)), Summary: summary})
	return &w.found[len(w.found)-1]
}

func (w *warner) walk(path string, v *value) {
	switch v.kind {
	case isString:
		w.look(path, v.text)
	case isArray:
		for i := range v.list {
			w.walk(path+"/"+strconv.Itoa(i), &v.list[i])
		}
	case isObject:
		for i := range v.members {
			m := &v.members[i]
			below := path + "/" + pointer(m.name)
			w.look(below, m.name)
			w.walk(below, &m.value)
		}
	}
}

func (w *warner) look(path, s string) {
	if hidden := suspicious(s); len(hidden) > 0 {
		excerpt := context(s, hidden[0].Offset)
		note := w.add(path, WarnHidden, excerpt, countClasses(hidden))
		note.Hidden = hidden
		if spelt := tagText(s); spelt != "" {
			note.Summary += fmt.Sprintf("; tag characters spell \"%s\"", Escape(clip(spelt, 200)))
		}
	}
	if len(s) < 6 {
		return
	}
	seen := visible(s)
	if at := orders.FindStringIndex(seen); at != nil {
		from, to := max(at[0]-40, 0), min(at[1]+40, len(seen))
		w.add(path, WarnInstruction, strings.ToValidUTF8(seen[from:to], ""), "reads like an instruction to the model")
	}
}

// suspicious is Hidden without what ordinary text uses: the selectors and
// joiners of emoji, and the joiners between letters of scripts that need them.
func suspicious(s string) []HiddenRune {
	hidden := Hidden(s)
	if len(hidden) == 0 {
		return nil
	}
	runes := []rune(s)
	kept := hidden[:0]
	for _, h := range hidden {
		if !ordinary(runes, h.Offset) {
			kept = append(kept, h)
		}
	}
	return kept
}

func ordinary(runes []rune, i int) bool {
	if i == 0 {
		return false
	}
	before := runes[i-1]
	switch r := runes[i]; {
	case r == 0xfe0e || r == 0xfe0f:
		return unicode.IsSymbol(before) || before == '*' || before == '#' || '0' <= before && before <= '9' || before == 0x203c || before == 0x2049
	case (r == 0x200c || r == 0x200d) && i+1 < len(runes):
		after := runes[i+1]
		if before == 0xfe0f || unicode.IsSymbol(before) {
			return unicode.IsSymbol(after) && r == 0x200d
		}
		return joins(before) && joins(after)
	}
	return false
}

// joins reports whether a letter or mark is of a script in which the zero-width
// joiner and non-joiner belong to the spelling.
func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// countClasses says how many hidden characters of which classes there are.
func countClasses(hidden []HiddenRune) string {
	var parts []string
	counts := make(map[string]int)
	for _, h := range hidden {
		if counts[h.Class]++; counts[h.Class] == 1 {
			parts = append(parts, h.Class)
		}
	}
	for i, class := range parts {
		parts[i] = fmt.Sprintf("%s (%d)", class, counts[class])
	}
	return "hidden characters: " + strings.Join(parts, ", ")
}

// tagText is the ASCII text that tag characters in s stand for.
func tagText(s string) string {
	return strings.Map(func(r rune) rune {
		if 0xe0020 <= r && r <= 0xe007e {
			return r - 0xe0000
		}
		return -1
	}, s)
}

// visible is s as a model may take it: tag characters decoded, other hidden
// characters taken out, white space and case made uniform.
func visible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case 0xe0020 <= r && r <= 0xe007e:
			return unicode.ToLower(r - 0xe0000)
		case unicode.IsSpace(r):
			return ' '
		case r == 0x2019:
			return '\''
		case classify(r) != "":
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// context is the part of s around the code point at offset.
func context(s string, offset int) string {
	n, start, end := 0, 0, len(s)
	for i := range s {
		if n == offset-30 {
			start = i
		}
		if n == offset+60 {
			end = i
			break
		}
		n++
	}
	return s[start:end]
}

// String is one escaped line.
func (w Warning) String() string { return Escape(w.Item) + Escape(w.Path) + ": " + w.Summary }
