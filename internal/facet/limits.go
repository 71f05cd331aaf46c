package facet

import (
	"fmt"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/tree"
)

// checkPaths refuses files whose paths in the facet are longer than its archive can hold, by their paths in the
// directory, which people know, and says what they can do about it: part of a path may be the name of the facet.
func (w *wrapping) checkPaths(form Form) error {
	longest, count := "", 0
	for _, to := range sortedKeys(w.contents) {
		if len(to) <= tree.MaxTarPath {
			continue
		}
		if count++; len(to) > len(longest) {
			longest = to
		}
	}
	if count == 0 {
		return nil
	}
	hint := "its publisher has to shorten it, or you in a copy: 'hallmark add --path DIR'"
	if room := len(ownName(w.name)) - (len(longest) - tree.MaxTarPath); form == FormSkill && room > 0 {
		hint = fmt.Sprintf("give it a name of at most %s: 'hallmark add NAME' with the same --git or --path",
			evidence.Count(room, "letter"))
	}
	more := ""
	if count > 1 {
		more = fmt.Sprintf("; with it, %d paths are too long", count)
	}
	return evidence.Errorf(evidence.Validation, "", hint,
		fmt.Errorf("%+q would be %+q in the facet, a path of %d bytes; "+
			"a canonical tar holds %d, which is the limit%s", w.contents[longest], longest, len(longest),
			tree.MaxTarPath, more))
}
