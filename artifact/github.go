package artifact

import "strings"

// NewGitHub names an asset of a GitHub release. The tag may hold "/".
func NewGitHub(owner, repo, tag, asset string) (Ref, error) {
	return Parse("github:" + owner + "/" + repo + "/" + tag + "/" + asset)
}

func parseGitHub(s string) (Ref, error) {
	parts := strings.Split(s, "/")
	if len(parts) < 4 {
		return Ref{}, refuse(PartName, "write github:owner/repo/tag/asset")
	}
	owner, repo := parts[0], parts[1]
	tag, asset := strings.Join(parts[2:len(parts)-1], "/"), parts[len(parts)-1]
	switch {
	case len(owner) > 39 || !onlyAlnumOr(owner, "_-") || !isAlnum(owner[0]):
		return Ref{}, refuse(PartName, "malformed GitHub owner")
	case len(repo) > 100 || !onlyAlnumOr(repo, "._-") || repo == "." || repo == "..":
		return Ref{}, refuse(PartName, "malformed GitHub repository")
	case len(asset) > 255 || asset == "" || asset == "." || asset == ".." || strings.ContainsAny(asset, `\:*?"<>|`):
		return Ref{}, refuse(PartFilename, "malformed asset name")
	}
	if err := checkTag(tag); err != nil {
		return Ref{}, err
	}
	return Ref{kind: GitHub, name: owner + "/" + repo, version: tag, filename: asset}, nil
}

// checkTag refuses what git-check-ref-format refuses in the name of a tag, and "latest".
func checkTag(s string) error {
	if strings.EqualFold(s, "latest") {
		return refuse(PartVersion, `"latest" is not an exact version`)
	}
	if s == "" || len(s) > maxVersion || s == "@" || s[0] == '-' || s[len(s)-1] == '.' ||
		strings.ContainsAny(s, `~^:?*[\`) || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return refuse(PartVersion, "malformed tag")
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return refuse(PartVersion, "malformed tag")
		}
	}
	return nil
}

// ReleaseAsset returns the asset of a GitHub release that r, a URL, leads to, spelled as the URL spells it. It
// reports false for any other Ref.
func (r Ref) ReleaseAsset() (Ref, bool) {
	if r.kind != HTTPS {
		return Ref{}, false
	}
	return releaseAsset(normalURL(r.url))
}

// releaseAsset reads a normal URL https://github.com/owner/repo/releases/download/tag/asset,
// where the tag's slashes may be escaped or not. It reports false for what a github: Ref
// cannot spell and for a URL with a query: these stay URLs.
func releaseAsset(url string) (Ref, bool) {
	parts := gitHubSegments(url)
	if len(parts) < 6 || parts[2] != "releases" || parts[3] != "download" || strings.Contains(url, "?") {
		return Ref{}, false
	}
	for i := range parts {
		parts[i] = unescape(parts[i])
	}
	owner, repo, asset := parts[0], parts[1], parts[len(parts)-1]
	if strings.Contains(owner+repo+asset, "/") {
		return Ref{}, false
	}
	r, err := NewGitHub(owner, repo, strings.Join(parts[4:len(parts)-1], "/"), asset)
	return r, err == nil
}

// isLatestRelease reports whether a normal URL names whichever GitHub release is the latest.
func isLatestRelease(url string) bool {
	url, _, _ = strings.Cut(url, "?")
	parts := gitHubSegments(url)
	return len(parts) > 4 && parts[2] == "releases" &&
		(parts[3] == "latest" || len(parts) == 6 && parts[3] == "download" && strings.EqualFold(parts[4], "latest"))
}

// gitHubSegments are the segments of the path of a normal URL at GitHub; nil for another URL.
func gitHubSegments(url string) []string {
	path, ok := strings.CutPrefix(url, "https://github.com/")
	if !ok {
		return nil
	}
	return strings.Split(path, "/")
}
