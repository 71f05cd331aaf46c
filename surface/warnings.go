package surface

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// The kinds of warnings.
const (
	WarnHidden      = "hidden-characters" // text that a reviewer would not see
	WarnInstruction = "instruction"       // text that seems to give the model orders
	WarnName        = "unusual-name"      // a name that can pass for another one
	WarnLong        = "long-text"         // text that was not searched for instructions to its end
	WarnMany        = "too-many"          // the search of the surface ended at MaxWarnings
)

// Limits of the search for warnings: a server may make its surface large on purpose.
const (
	// MaxSearch is how many bytes of one text are searched for instructions, and MaxSearchAll
	// of all texts together; beyond these only hidden characters are found.
	MaxSearch    = 1 << 20
	MaxSearchAll = 4 << 20
	// MaxWarnings is the number of warnings after which the search of a surface ends.
	MaxWarnings = 1000

	maxPath = 1024 // bytes of a warning's path, about; the names behind it are left out
)

// Warning is something that a reviewer should look at. Warnings are heuristics:
// they are shown and are never the basis of a decision. A surface without any is
// not thereby harmless.
type Warning struct {
	Item string `json:"item"` // the item's key, as it is
	// Path is a JSON pointer to the text, or to the member of which it is the name; "/…" is
	// the rest of a long one.
	Path    string       `json:"path"`
	Kind    string       `json:"kind"` // one of the Warn constants
	Text    string       `json:"text"` // what was found with some context, escaped
	Summary string       `json:"summary"`
	Hidden  []HiddenRune `json:"hidden,omitempty"` // the first MaxHidden; Summary has the numbers of all
}

// instructionPhrases are phrases that tool descriptions have no need for, matched in lower
// case text without hidden characters and with single spaces.
var instructionPhrases = spelling.Form(strings.Join([]string{
	`\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}` +
		`\b(?:previous|prior|above|earlier|preceding|other|all|any|safety|system)\b.{0,20}` +
		`\b(?:instruction|prompt|message|rule|guideline|direction|context|restriction|polic)`,
	`\b(?:do not|don't|never|without)\b.{0,20}` +
		`\b(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|` +
		`alert|alerting|show|showing|disclose|disclosing|ask|asking)\b.{0,25}\buser`,
	`\b(?:hide|conceal|keep)\b.{0,40}\bfrom (?:the )?user`,
	`</?\s*(?:important|system|instructions?|secret|hidden|admin|assistant|critical)\s*/?>`,
	`\[/?(?:inst|system)\]|<\|[a-z_]{2,30}\|>|<<sys>>`,
	`\byou are now\b|\bnew (?:system )?instructions?:|\bsystem prompt\b|\bas an ai\b`,
	`\b(?:before|after|instead of|prior to) (?:using|calling|invoking|running|executing) ` +
		`(?:this|any|other|another|the other|all)\b`,
	`\b(?:must|always|should)\b.{0,20}\b(?:first )?(?:call|invoke|use|run|execute|read)\b.{0,20}` +
		`\b(?:this tool|first|before|instead of)\b`,
	`\b(?:read|send|include|pass|upload|attach|copy|post|forward|exfiltrate)\b.{0,60}` +
		`(?:\.ssh\b|id_rsa|\.env\b|/etc/passwd|mcp\.json|private key|api[ _-]?keys?\b|` +
		`credentials?\b|passwords?\b|conversation|chat history)`,
	`~/\.(?:ssh|aws|cursor|config|kube|gnupg)\b`,
}, "|"))

// Warnings looks through every text of a surface, member names included. There is at most one
// warning of a kind for each text, and at most [MaxWarnings] and a last one that says so.
func Warnings(s *Surface) []Warning {
	w := warner{left: MaxSearchAll}
	for _, i := range s.items {
		w.item = i.Key()
		v := i.parseJSON()
		w.searchValue("", &v)
		if (i.Kind == KindTool || i.Kind == KindPrompt) && !asciiOnly(i.Name) {
			w.add("/"+i.Kind.naming(), WarnName, i.Name,
				"the name has characters outside ASCII and may imitate another")
		}
		if len(w.found) >= MaxWarnings {
			w.found = w.found[:MaxWarnings]
			w.add("", WarnMany, "", fmt.Sprintf("%d warnings; what follows was not looked at", MaxWarnings))
			break
		}
	}
	return w.found
}

type warner struct {
	item  string
	left  int // bytes to search
	found []Warning
}

func (w *warner) add(path, kind, text, summary string) *Warning {
	w.found = append(w.found, Warning{
		Item: w.item, Path: path, Kind: kind, Text: Escape(clip(text, 400)), Summary: summary,
	})
	return &w.found[len(w.found)-1]
}

func (w *warner) searchValue(path string, v *value) {
	switch v.kind {
	case isString:
		w.searchText(path, v.text)
	case isArray:
		for i := range v.list {
			w.searchValue(childPath(path, strconv.Itoa(i)), &v.list[i])
		}
	case isObject:
		for i := range v.members {
			m := &v.members[i]
			at := childPath(path, m.name)
			w.searchText(at, m.name)
			w.searchValue(at, &m.value)
		}
	}
}

// childPath is the path of a member or element, cut off at about maxPath bytes: every text
// below a long name would repeat the name in its path.
func childPath(path, name string) string {
	switch {
	case len(path) > maxPath:
		return path
	case len(path)+len(name) > maxPath:
		return path + "/" + PointerToken(clip(name, maxPath)) + "/…"
	}
	return path + "/" + PointerToken(name)
}

func (w *warner) searchText(path, s string) {
	if len(w.found) >= MaxWarnings {
		return
	}
	if hidden := tallyHidden(s); len(hidden.first) > 0 {
		note := w.add(path, WarnHidden, textAround(s, hidden.first[0].Offset), hidden.String())
		note.Hidden = hidden.first
	}
	if len(s) < 6 {
		return
	}
	n := min(len(s), MaxSearch, w.left)
	w.left -= n
	if n < len(s) {
		w.add(path, WarnLong, s,
			fmt.Sprintf("%d bytes, of which the first %d were searched for instructions to the model", len(s), n))
		s = s[:n]
	}
	seen := visibleText(s)
	if at := instructionPhrases().FindStringIndex(seen); at != nil {
		from, to := max(at[0]-40, 0), min(at[1]+40, len(seen))
		w.add(path, WarnInstruction, strings.ToValidUTF8(seen[from:to], ""), "reads like an instruction to the model")
	}
}

// hiddenTally is what is hidden in one text, however much it is.
type hiddenTally struct {
	first   []HiddenRune // at most MaxHidden
	classes []string     // in the order of the first of each
	counts  map[string]int
	spelt   string // what tag characters spell, the beginning of it
}

// maxSpelt is how many bytes of what tag characters spell a warning shows.
const maxSpelt = 200

// HidesText reports whether s has anything that [FindHidden] finds and ordinary text does not use: the selectors and
// joiners of emoji, and the joiners between letters of scripts that need them, are no reason to warn.
func HidesText(s string) bool { return len(tallyHidden(s).first) > 0 }

// tallyHidden is [FindHidden] without what ordinary text uses: the selectors and joiners of
// emoji, and the joiners between letters of scripts that need them.
func tallyHidden(s string) hiddenTally {
	var t hiddenTally
	eachHidden(s, func(h HiddenRune, before rune, rest string) bool {
		if belongs(before, h.Rune, rest) {
			return true
		}
		if len(t.first) < MaxHidden {
			t.first = append(t.first, h)
		}
		if t.counts == nil {
			t.counts = map[string]int{}
		}
		if t.counts[h.Class]++; t.counts[h.Class] == 1 {
			t.classes = append(t.classes, h.Class)
		}
		if c, ok := decodeTag(h.Rune); ok && len(t.spelt) <= maxSpelt {
			t.spelt += string(c)
		}
		return true
	})
	return t
}

// String says how many hidden characters of which classes there are.
func (t hiddenTally) String() string {
	parts := make([]string, len(t.classes))
	for i, class := range t.classes {
		parts[i] = fmt.Sprintf("%s (%d)", class, t.counts[class])
	}
	text := "hidden characters: " + strings.Join(parts, ", ")
	if t.spelt != "" {
		text += fmt.Sprintf("; tag characters spell \"%s\"", Escape(clip(t.spelt, maxSpelt)))
	}
	return text
}

// belongs reports whether r belongs where it is, between before and rest.
func belongs(before, r rune, rest string) bool {
	switch {
	case before < 0:
		return false
	case r == 0xfe0e || r == 0xfe0f:
		return unicode.IsSymbol(before) || before == '*' || before == '#' || '0' <= before && before <= '9' ||
			before == 0x203c || before == 0x2049
	case (r == 0x200c || r == 0x200d) && rest != "":
		after, _ := utf8.DecodeRuneInString(rest)
		if before == 0xfe0f || unicode.IsSymbol(before) {
			return unicode.IsSymbol(after) && r == 0x200d
		}
		return joinsLetters(before) && joinsLetters(after)
	}
	return false
}

// joinsLetters reports whether a letter or mark is of a script in which the zero-width
// joiner and non-joiner belong to the spelling.
func joinsLetters(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}

// decodeTag is the ASCII character that a tag character stands for.
func decodeTag(r rune) (rune, bool) { return r - 0xe0000, 0xe0020 <= r && r <= 0xe007e }

// visibleText is s as a model may take it: tag characters decoded, other hidden
// characters taken out, white space and case made uniform.
func visibleText(s string) string {
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

// textAround is the part of s around the code point at offset.
func textAround(s string, offset int) string {
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
