package engine

import (
	"strings"

	"github.com/hallmark-mcp/hallmark/digest"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/hashline"
	"github.com/hallmark-mcp/hallmark/internal/hashfile/place"
)

// hashDigits is the number of hex digits of a whole hash.
const hashDigits = 64

// parseFileHash returns the digits of a file_hash: "sha256:", which may be left out, and 12 to 64 hex digits.
func parseFileHash(text string) (digits string, problem *place.Refusal) {
	if text == "" {
		return "", place.Refuse(hashline.Invalid,
			"file_hash is missing; nothing was written. Give the one given here, if the lines are as they were read")
	}
	digits = strings.ToLower(strings.TrimSpace(text))
	digits = strings.TrimPrefix(strings.TrimPrefix(digits, "["), "file_hash=") // as the first line of a read has it
	digits, _, _ = strings.Cut(strings.TrimSuffix(digits, "]"), " ")
	digits = strings.TrimPrefix(digits, "sha256:")
	if n := len(digits); n < shownDigits || n > hashDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", place.Refuse(hashline.Invalid, "file_hash %s is not sha256: and %d to %d hex digits; nothing was "+
			"written. Give the one given here, if the lines are as they were read", place.Show(text),
			shownDigits, hashDigits)
	}
	return digits, nil
}

// claimOf returns the claim of a caller that a file has the hash that begins with these digits; ok is false if they
// stand for no hash that is known here, so that no file can meet it.
func (e *Engine) claimOf(asked, digits string, now Contents) (claim evidence.Claim, ok bool, err error) {
	found := []string{digits}
	if len(digits) < hashDigits {
		found = e.reader.Expand(digits, now.Hash)
	}
	switch len(found) {
	case 0:
		return claim, false, nil
	case 1:
		whole, err := digest.ParseHex(digest.SHA256, found[0])
		return evidence.Claim{Subject: "file", Scheme: evidence.File, Want: []digest.Digest{whole}}, err == nil, err
	}
	return claim, false, place.Refuse(hashline.Stale, "%s: several files that were read here have a hash that begins "+
		"with %s; nothing was written. That of this file is now %s, whole: read its lines again, and give all of it",
		place.Show(asked), digits, now.Hash)
}
