package artifact

import "strings"

// urlParts are the parts of a URL behind its scheme, in their own spelling.
type urlParts struct {
	user     string // with its "@"; empty if there is none
	host     string // with its port
	path     string // begins with "/", or is empty
	query    string // begins with "?", or is empty
	fragment string
}

// splitURL cuts what follows "scheme:" into its parts, and checks all but the user.
func splitURL(s string) (urlParts, error) {
	s, ok := strings.CutPrefix(s, "//")
	if !ok {
		return urlParts{}, refuse(PartURL, `has no "//" before its host`)
	}
	var u urlParts
	s, u.fragment, _ = strings.Cut(s, "#")
	if i := strings.IndexByte(s, '?'); i >= 0 {
		s, u.query = s[:i], s[i:]
	}
	u.host = s
	if i := strings.IndexByte(s, '/'); i >= 0 {
		u.host, u.path = s[:i], s[i:]
	}
	if i := strings.LastIndexByte(u.host, '@'); i >= 0 {
		u.user, u.host = u.host[:i+1], u.host[i+1:]
	}
	if err := checkHost(u.host); err != nil {
		return urlParts{}, err
	}
	for _, part := range []struct{ text, extra string }{{u.path, ":@/"}, {u.query, ":@/?"}, {u.fragment, ":@/?"}} {
		if err := checkEscapes(part.text, part.extra); err != nil {
			return urlParts{}, err
		}
	}
	for segment := range strings.SplitSeq(u.path, "/") {
		if d := unescape(segment); d == "." || d == ".." {
			return urlParts{}, refuse(PartURL, `the path holds a "." or ".." segment`)
		}
	}
	return u, nil
}

// checkHost accepts name and name:port, where the name is a DNS name or an IPv4 address.
// IPv6 addresses are refused: they have many spellings, and no registry publishes at one.
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

// checkEscapes refuses characters that RFC 3986 does not allow in s beside extra, escapes
// that are cut off, and escapes of control characters.
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

// unescape decodes every escape of s.
func unescape(s string) string { return decodeEscapes(s, func(byte) bool { return true }) }

// normalEscapes decodes the escapes of unreserved characters and writes the others in upper
// case (RFC 3986, section 6.2.2).
func normalEscapes(s string) string { return decodeEscapes(s, isUnreserved) }

// decodeEscapes decodes the escapes of the characters for which decode is true, and writes
// the others in upper case. A "%" that begins no escape stays.
func decodeEscapes(s string, decode func(byte) bool) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		d, ok := decodeEscape(s[i:])
		switch {
		case s[i] != '%' || !ok:
			b.WriteByte(s[i])
		case decode(d):
			b.WriteByte(d)
			i += 2
		default:
			b.WriteString(strings.ToUpper(s[i : i+3]))
			i += 2
		}
	}
	return b.String()
}

func parseHTTPS(rest string) (Ref, error) {
	u, err := splitURL(rest)
	if err != nil {
		return Ref{}, err
	}
	if u.user != "" {
		return Ref{}, refuse(PartURL, "userinfo in a URL is refused")
	}
	url, _, _ := strings.Cut("https:"+rest, "#")
	if isLatestRelease(normalURL(url)) {
		return Ref{}, refuse(PartVersion, "the latest release is not an exact version")
	}
	return Ref{kind: HTTPS, url: url, filename: fileName(u.path)}, nil
}

// fileName is the last segment of an escaped path, decoded, or "" if it cannot name a file.
// splitURL has refused "." and "..".
func fileName(path string) string {
	s := unescape(path[strings.LastIndexByte(path, '/')+1:])
	if strings.ContainsAny(s, `/\:`) || checkText(s, true) != nil {
		return ""
	}
	return s
}

// normalURL is the normal form of a URL that was parsed, without a fragment.
func normalURL(url string) string {
	scheme, rest, _ := strings.Cut(url, ":")
	u, err := splitURL(rest)
	if err != nil {
		return url
	}
	port := "443"
	if scheme == "ssh" {
		port = "22"
	}
	if u.path == "" {
		u.path = "/"
	}
	return scheme + "://" + u.user + normalHost(u.host, port) + normalEscapes(u.path) + normalEscapes(u.query)
}

func normalHost(host, defaultPort string) string {
	return strings.TrimSuffix(strings.ToLower(host), ":"+defaultPort)
}

func parseGit(scheme, rest string) (Ref, error) {
	u, err := splitURL(rest)
	if err != nil {
		return Ref{}, err
	}
	switch {
	case scheme == "https" && u.user != "":
		return Ref{}, refuse(PartURL, "userinfo in a URL is refused")
	case u.user != "" && (!onlyAlnumOr(u.user[:len(u.user)-1], "._-") || u.user[0] == '-'):
		return Ref{}, refuse(PartURL, "a user name without a password may stand before the host, nothing else")
	case u.query != "":
		return Ref{}, refuse(PartURL, "a query is refused")
	case strings.Trim(u.path, "/") == "":
		return Ref{}, refuse(PartURL, "the path of the repository is empty")
	case len(u.fragment) != 40 || strings.Trim(u.fragment, hexDigits) != "":
		return Ref{}, refuse(PartVersion, "does not end with # and the 40 lower-case hex digits of a commit")
	}
	url, _, _ := strings.Cut(scheme+":"+rest, "#")
	return Ref{kind: Git, url: url, version: u.fragment}, nil
}
