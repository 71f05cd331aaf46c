package plugin

import "strings"

// Claimed returns the digests that the manifest claims of the package, each in the form of subresource
// integrity, as they stand there: they may be malformed.
func (e External) Claimed() (texts []string) {
	if e.Integrity != "" {
		texts = append(texts, e.Integrity)
	}
	for _, h := range e.Integrities {
		text := h.Value
		if !strings.HasPrefix(text, h.Alg+"-") {
			text = h.Alg + "-" + text
		}
		texts = append(texts, text)
	}
	return texts
}

// MayHaveExternals reports whether external packages of the plugin may be installed beside dist/.
func (m *Manifest) MayHaveExternals() bool { return len(m.Externals) > 0 && m.Policy != BundledOnly }
