package artifact

import (
	"strings"

	"golang.org/x/mod/semver"

	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// maxVersion is the largest length of a version in bytes, as in server.json.
const maxVersion = 255

var (
	// nuget is the grammar of NuGet's versions: one to four numbers, leading zeros allowed,
	// then the suffixes of Semantic Versioning.
	nuget = spelling.Form(`^([0-9]+(?:\.[0-9]+){0,3})(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?` +
		`(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)

	// pep440 is the grammar that PEP 440 gives for reading versions. Groups: epoch,
	// release, pre letter, pre number, post (short form), post word, post number,
	// dev word, dev number, local.
	pep440 = spelling.Form(`^(?i:v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
		`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]+)?)?` +
		`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]+)?)?` +
		`(?:[-_.]?(dev)[-_.]?([0-9]+)?)?` +
		`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?)$`)
)

// checkVersion refuses what is not one exact version at any registry: nothing, "latest", a
// range, or more than maxVersion bytes.
func checkVersion(s string) error {
	switch {
	case s == "":
		return refuse(PartVersion, "the version is empty")
	case len(s) > maxVersion:
		return refuse(PartVersion, "the version is longer than %d bytes", maxVersion)
	case strings.EqualFold(s, "latest"):
		return refuse(PartVersion, `"latest" is not an exact version`)
	case strings.ContainsAny(s, "^~<>=*|, "):
		return refuse(PartVersion, "a range is not an exact version")
	}
	return nil
}

func checkSemver(s string) error {
	if err := checkVersion(s); err != nil {
		return err
	}
	if v := "v" + s; semver.Canonical(v)+semver.Build(v) != v { // which completes short forms
		return refuse(PartVersion, "the version is not an exact semantic version such as 1.2.3")
	}
	return nil
}

func checkNuGetVersion(s string) error {
	if err := checkVersion(s); err != nil {
		return err
	}
	if !nuget().MatchString(s) {
		return refuse(PartVersion, "the version is not an exact NuGet version such as 1.2.3")
	}
	return nil
}

func checkPEP440(s string) error {
	if err := checkVersion(s); err != nil {
		return err
	}
	if !pep440().MatchString(s) {
		return refuse(PartVersion, "the version is not an exact PEP 440 version such as 1.2.3")
	}
	return nil
}

// normalNuGetVersion has three numbers, or four if the fourth is not zero, no
// leading zeros, a lower-case suffix and no build metadata.
func normalNuGetVersion(s string) string {
	m := nuget().FindStringSubmatch(s)
	numbers := strings.Split(m[1], ".")
	for i, n := range numbers {
		numbers[i] = trimZeros(n)
	}
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	if len(numbers) == 4 && numbers[3] == "0" {
		numbers = numbers[:3]
	}
	return strings.Join(numbers, ".") + strings.ToLower(m[2])
}

// pep440Version is a version as the grammar of PEP 440 splits it, in lower case. A number
// that is not written is "".
type pep440Version struct {
	epoch      string
	release    []string
	pre        string // "a", "b" or "rc"; "" if it is no pre-release
	preNumber  string
	post       bool
	postNumber string
	dev        bool
	devNumber  string
	local      string
}

// parsePEP440 splits a version; ok is false if PEP 440 does not read it.
func parsePEP440(s string) (v pep440Version, ok bool) {
	m := pep440().FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return pep440Version{}, false
	}
	v = pep440Version{
		epoch: m[1], release: strings.Split(m[2], "."), pre: m[3], preNumber: m[4],
		post: m[5] != "" || m[6] != "", postNumber: m[5] + m[7], dev: m[8] != "", devNumber: m[9], local: m[10],
	}
	switch v.pre {
	case "alpha":
		v.pre = "a"
	case "beta":
		v.pre = "b"
	case "c", "pre", "preview":
		v.pre = "rc"
	}
	return v, true
}

// normalPEP440 is the normal form of a version that checkPEP440 accepts, without trailing
// zeros of the release: two versions are spelled alike if and only if PEP 440 calls them equal.
func normalPEP440(s string) string {
	v, ok := parsePEP440(s)
	if !ok {
		return s
	}
	var b strings.Builder
	if e := trimZeros(v.epoch); e != "0" {
		b.WriteString(e + "!")
	}
	numbers := v.release
	for i, n := range numbers {
		numbers[i] = trimZeros(n)
	}
	for len(numbers) > 1 && numbers[len(numbers)-1] == "0" {
		numbers = numbers[:len(numbers)-1]
	}
	b.WriteString(strings.Join(numbers, "."))
	if v.pre != "" {
		b.WriteString(v.pre + trimZeros(v.preNumber))
	}
	if v.post {
		b.WriteString(".post" + trimZeros(v.postNumber))
	}
	if v.dev {
		b.WriteString(".dev" + trimZeros(v.devNumber))
	}
	if v.local != "" {
		parts := strings.FieldsFunc(v.local, func(c rune) bool { return c == '.' || c == '-' || c == '_' })
		for i, p := range parts {
			if strings.Trim(p, "0123456789") == "" {
				parts[i] = trimZeros(p)
			}
		}
		b.WriteString("+" + strings.Join(parts, "."))
	}
	return b.String()
}

// trimZeros drops leading zeros; "" is 0.
func trimZeros(n string) string {
	if n = strings.TrimLeft(n, "0"); n == "" {
		return "0"
	}
	return n
}
