package artifact

import "strings"

// splitURL takes apart what follows "scheme:". The parts keep their spelling; path
// and query begin with "/" and "?" or are empty. user is empty unless allowed.
func splitURL(s string) (user, host, path, query, fragment string, err error) {
	s, ok := strings.CutPrefix(s, "//")
	if !ok {
		return "", "", "", "", "", refuse(PartURL, `has no "//" before its host`)
	}
	s, fragment, _ = strings.Cut(s, "#")
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, query = s[:i], s[i:]
	}
	host = s
	if i := strings.IndexByte(s, '/'); i >= 0 {
		host, path = s[:i], s[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i+1], host[i+1:]
	}
	if err = checkHost(host); err != nil {
		return "", "", "", "", "", err
	}
	if err = checkEscapes(path, ":@/"); err == nil {
		err = checkEscapes(query, ":@/?")
	}
	if err == nil {
		err = checkEscapes(fragment, ":@/?")
	}
	if err != nil {
		return "", "", "", "", "", err
	}
	for segment := range strings.SplitSeq(path, "/") {
		if d := unescape(segment, false); d == "." || d == ".." {
			return "", "", "", "", "", refuse(PartURL, `the path holds a "." or ".." segment`)
		}
	}
	return user, host, path, query, fragment, nil
}

// checkHost takes name or name:port. Names are DNS names or IPv4 addresses; IPv6
// addresses have many spellings and serve no published artifact.
func checkHost(s string) error {
	name, port, hasPort := strings.Cut(s, ":")
	if name == "" {
		return refuse(PartURL, "the host is empty")
	}
	if name[0] == '[' {
		return refuse(PartURL, "IPv6 addresses are not read; use a host name")
	}
	if len(name) > 253 {
		return refuse(PartURL, "the host is longer than 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 63 || !onlyAlnumOr(label, "_-") || label[0] == '-' || label[len(label)-1] == '-' {
			return refuse(PartURL, "malformed host name")
		}
	}
	if !hasPort {
		return nil
	}
	n := 0
	for i := range len(port) {
		if !isDigit(port[i]) || n > 65535 {
			return refuse(PartURL, "malformed port")
		}
		n = 10*n + int(port[i]-'0')
	}
	if n < 1 || n > 65535 || port[0] == '0' {
		return refuse(PartURL, "malformed port")
	}
	return nil
}

// checkEscapes holds s to the characters of RFC 3986 and complete escapes, none of
// them of a control character.
func checkEscapes(s, extra string) error {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isUnreserved(c) || strings.IndexByte("!$&'()*+,;=", c) >= 0 || strings.IndexByte(extra, c) >= 0:
		case c == '%':
			d, ok := decodeEscape(s[i:])
			if !ok {
				return refuse(PartURL, "malformed percent escape")
			}
			if d < ' ' || d == 0x7f {
				return refuse(PartURL, "a control character is escaped in it")
			}
			i += 2
		default:
			return refuse(PartURL, "holds %q, which a URL must escape", c)
		}
	}
	return nil
}

func isUnreserved(c byte) bool { return isAlnum(c) || strings.IndexByte("-._~", c) >= 0 }

// decodeEscape decodes the "%xx" at the start of s.
func decodeEscape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, lo := strings.IndexByte(hexDigits, lowerByte(s[1])), strings.IndexByte(hexDigits, lowerByte(s[2]))
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0
}

const hexDigits = "0123456789abcdef"

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// unescape decodes escapes; if only unreserved ones, it upper-cases the others.
func unescape(s string, onlyUnreserved bool) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		d, ok := decodeEscape(s[i:])
		switch {
		case s[i] != '%' || !ok:
			b.WriteByte(s[i])
		case onlyUnreserved && !isUnreserved(d):
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		default:
			b.WriteByte(d)
			i += 2
		}
	}
	return b.String()
}

func parseHTTPS(rest string) (Ref, error) {
	user, _, path, _, _, err := splitURL(rest)
	if err != nil {
		return Ref{}, err
	}
	if user != "" {
		return Ref{}, refuse(PartURL, "userinfo in a URL is refused")
	}
	url, _, _ := strings.Cut("https:"+rest, "#")
	if isLatestRelease(normalURL(url)) {
		return Ref{}, refuse(PartVersion, "the latest release is not an exact version")
	}
	return Ref{kind: HTTPS, url: url, filename: fileName(path)}, nil
}

// fileName is the last segment of an escaped path if that can name a file. "." and ".."
// are in no path.
func fileName(path string) string {
	s := unescape(path[strings.LastIndexByte(path, '/')+1:], false)
	if strings.ContainsAny(s, `/\:`) || checkText(s, true) != nil {
		return ""
	}
	return s
}

// normalURL takes a URL that was parsed, without fragment.
func normalURL(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	user, host, path, query, _, err := splitURL(rest)
	if err != nil {
		return url
	}
	port := "443"
	if scheme == "ssh" {
		port = "22"
	}
	if path == "" {
		path = "/"
	}
	return scheme + "://" + user + normalHost(host, port) + unescape(path, true) + unescape(query, true)
}

func normalHost(host, defaultPort string) string {
	return strings.TrimSuffix(strings.ToLower(host), ":"+defaultPort)
}

func parseGit(scheme, rest string) (Ref, error) {
	user, _, path, query, fragment, err := splitURL(rest)
	if err != nil {
		return Ref{}, err
	}
	switch {
	case scheme == "https" && user != "":
		return Ref{}, refuse(PartURL, "userinfo in a URL is refused")
	case user != "" && (!onlyAlnumOr(user[:len(user)-1], "._-") || user[0] == '-'):
		return Ref{}, refuse(PartURL, "a user name without a password may stand before the host, nothing else")
	case query != "":
		return Ref{}, refuse(PartURL, "a query is refused")
	case strings.Trim(path, "/") == "":
		return Ref{}, refuse(PartURL, "the path of the repository is empty")
	case len(fragment) != 40 || strings.Trim(fragment, hexDigits) != "":
		return Ref{}, refuse(PartVersion, "does not end with # and the 40 lower-case hex digits of a commit")
	}
	url, _, _ := strings.Cut(scheme+":"+rest, "#")
	return Ref{kind: Git, url: url, version: fragment}, nil
}
