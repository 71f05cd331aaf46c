package fetch

import (
	"context"
	"strings"

	"github.com/hallmark-mcp/hallmark/artifact"
)

// Description fetches the text in which a package may say which MCP server it is
// for: the description of a PyPI release, the readme of a NuGet or cargo package as
// its registry shows it (HTML for cargo, without comments). It is the publisher's and
// at most Limits.DocumentSize bytes. A package without such a text gives "" or an
// error whose cause is not_found.
func (c *Client) Description(ctx context.Context, ref artifact.Ref) (string, error) {
	e, err := ecosystemOf(ref)
	if err != nil {
		return "", err
	}
	return asking(ctx, c, ref, func(ctx context.Context, c *Client) (string, error) {
		return e.description(ctx, c, ref)
	})
}

// OwnerToken reports whether text holds "mcp-name: NAME" as the official MCP registry
// wants it: with one space, in lower case, and not as the beginning of a longer name.
// A name ends at the end of the text, at a character that no name has, or at the end
// of an HTML comment, although a name could have its first characters.
func OwnerToken(text, name string) bool {
	if name == "" {
		return false
	}
	token := "mcp-name: " + name
	for {
		i := strings.Index(text, token)
		if i < 0 {
			return false
		}
		if after := text[i+len(token):]; after == "" || !isNameByte(after[0]) ||
			strings.HasPrefix(after, "-->") || strings.HasPrefix(after, "--!>") {
			return true
		}
		text = text[i+1:]
	}
}

// isNameByte reports whether c can be in a server's name.
func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-/", c) >= 0
}
