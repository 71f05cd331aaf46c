package artifact

import (
	"regexp"
	"strings"
	"sync"
)

// maxVersion is the largest length of a version in bytes, as in server.json.
const maxVersion = 255

var (
	// semver is the grammar of Semantic Versioning 2.0.0: numbers without leading zeros.
	semver = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
			`(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?` +
			`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	})

	// nuget: one to four numbers, leading zeros allowed, then as in semver.
	nuget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([0-9]+(?:\.[0-9]+){0,3})(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)
	})

	// pep440 is the grammar that PEP 440 gives for reading versions. Groups: epoch,
	// release, pre letter, pre number, post (short form), post word, post number,
	// dev word, dev number, local.
	pep440 = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i:v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
			`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]+)?)?` +
			`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]+)?)?` +
			`(?:[-_.]?(dev)[-_.]?([0-9]+)?)?` +
			`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?)$`)
	})
)

// checkVersion refuses what no registry calls one version.
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
	if !semver().MatchString(s) {
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

// normalPEP440 is the normal form of PEP 440 without trailing zeros of the release,
// so that versions are spelled alike if and only if PEP 440 calls them equal.
func normalPEP440(s string) string {
	m := pep440().FindStringSubmatch(strings.ToLower(s))
	epoch, release, pre, preN, shortPost, post, postN, dev, devN, local := m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8], m[9], m[10]
	var b strings.Builder
	if e := trimZeros(epoch); epoch != "" && e != "0" {
		b.WriteString(e + "!")
	}
	numbers := strings.Split(release, ".")
	for i, n := range numbers {
		numbers[i] = trimZeros(n)
	}
	for len(numbers) > 1 && numbers[len(numbers)-1] == "0" {
		numbers = numbers[:len(numbers)-1]
	}
	b.WriteString(strings.Join(numbers, "."))
	if pre != "" {
		switch pre {
		case "alpha":
			pre = "a"
		case "beta":
			pre = "b"
		case "c", "pre", "preview":
			pre = "rc"
		}
		b.WriteString(pre + trimZeros(preN))
	}
	if shortPost != "" {
		post, postN = "post", shortPost
	}
	if post != "" {
		b.WriteString(".post" + trimZeros(postN))
	}
	if dev != "" {
		b.WriteString(".dev" + trimZeros(devN))
	}
	if local != "" {
		parts := strings.FieldsFunc(local, func(c rune) bool { return c == '.' || c == '-' || c == '_' })
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
