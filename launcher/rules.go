package launcher

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
)

// The rules about how a server is started. Package policy decides which refuse.
const (
	RuleUnpinned     = "unpinned-launcher"      // a package without a version
	RuleRange        = "range-or-tag-version"   // a package whose version can move
	RuleImage        = "mutable-image-tag"      // an image without a digest
	RuleInner        = "inner-launcher"         // arguments that may start or fetch another program
	RuleShell        = "opaque-shell"           // a shell line that is more than one simple command
	RuleUnknown      = "unknown-launcher"       // a command line whose grammar does not tell what runs
	RuleVerify       = "verify-hashes-launcher" // a verify block that hashes the runtime, not the tool
	RuleChecksum     = "deprecated-checksum"    // a checksum in place of a verify block
	RuleWeak         = "weak-hash"              // a verify block under sha1
	RulePlainHTTP    = "plain-http"             // a server over an unencrypted connection
	RuleSecret       = "secret-in-args"         // a secret that every process of the machine can read
	RuleSecretText   = "secret-in-file"         // a variable or a header with a secret as its value
	RuleWritable     = "writable-command"       // an executable that others may replace
	RuleUnreadable   = "unreadable-file"        // a configuration that cannot be read
	RuleMalformed    = "malformed-entry"        // an entry that cannot be read as one server
	RuleUnguarded    = "not-guarded"            // an entry that names hallmark without guarding a locked server
	RuleAround       = "around-hallmark"        // a server of a project that is started without hallmark
	RuleRemoved      = "removed-project"        // a project that this machine approved, without its hallmark.toml
	RuleRoot         = "wide-root"              // an editing server for more than the project
	RuleProgram      = "client-program"         // a command line that a client runs itself
	RuleUnlocked     = "not-locked"             // a skill, an agent or a command that clients read and no lock covers
	RuleAutoApprove  = "auto-approve"           // an entry whose client calls tools without asking its user
	placeholder      = "<version>"
	placeholderImage = "sha256:<digest>"
)

// Rules says, for each rule, what is wrong and why that matters.
var Rules = map[string]string{
	RuleUnpinned: "The launcher is given a package without a version: which one runs is undetermined, and may " +
		"change without a word.",
	RuleRange: "The version is a range or a tag: which one runs may change without a word.",
	RuleImage: "The image is named by a tag, which its publisher can move to other content; only a digest " +
		"names one image.",
	RuleInner: "The arguments may start or fetch another program, which neither a version nor a lock of the " +
		"server says anything of.",
	RuleShell:   "A shell reads the command line, so Hallmark cannot tell what runs.",
	RuleUnknown: "The command line does not tell what is run.",
	RuleVerify: "The verify block hashes the launcher or interpreter: it protects the runtime, not the tool " +
		"that it starts.",
	RuleChecksum:  "The key checksum is deprecated and will be removed; a verify block says what it hashes.",
	RuleWeak:      "The verify block uses sha1, which can be forged.",
	RulePlainHTTP: "The server is reached without encryption: whoever is on the way reads and changes what it says.",
	RuleSecret: "A secret stands in the arguments, where every process of the machine and every copy of the " +
		"file shows it.",
	RuleSecretText: "A secret stands in the file as the value of a variable or a header, where every copy of " +
		"the file shows it.",
	RuleWritable: "The executable, or a directory above it, can be written by others, who can put another program " +
		"there.",
	RuleMalformed: "The entry cannot be read as one server, so that what its client starts is not known.",
	RuleUnguarded: "The entry names hallmark, but what it starts is not this machine's own program with a locked " +
		"server of the project.",
	RuleAround: "The project locks its servers with Hallmark, and this entry starts one without it.",
	RuleRemoved: "This machine approved servers or facets in the project, and its hallmark.toml is gone: nothing " +
		"is verified any more.",
	RuleRoot:    "The editing server may read and write more than the project.",
	RuleProgram: "The client runs a program that is no server, and may start one; nothing of it is verified.",
	RuleUnlocked: "A skill, an agent or a command is where clients look for it, and the project's lock does not " +
		"cover it.",
	RuleAutoApprove: "The client calls tools of the server without asking: what they do is seen afterwards. " +
		"Hallmark still withholds what drifted.",
	RuleUnreadable: "The configuration file cannot be read, so that its servers are not known.",
}

// Declared is a server as a configuration declares it.
type Declared struct {
	Command   string
	Args      []string
	URL       string // in place of Command
	Verify    string // the type of a verify block, "checksum" for the older one, "" for none
	Algorithm string // of that block
	// Known gives a version that is known for a package, as one that was locked, or "".
	Known func(Package) string
}

// Evidence reads the server's command line or URL and checks it by the rules. The caller sets
// subject and place of c: the server, and where it is declared. Secrets of d are redacted in
// what is returned.
func (d Declared) Evidence(c evidence.Claim) (Target, evidence.Report) {
	f := &findings{claim: c}
	if d.URL != "" {
		f.checkURL(d.URL)
		return Target{}, f.report
	}
	t := Parse(d.Command, d.Args)
	switch {
	case t.Opaque != "" && t.Shell:
		f.addUnknown(RuleShell, evidence.Pin, t.Opaque, splitCommand(d.Command, d.Args))
	case t.Fetches:
		f.addUnknown(RuleUnknown, evidence.Pin, redact(t.Opaque)+"; what it fetches may change", "")
	case t.Opaque != "":
		f.addUnknown(RuleUnknown, evidence.Launch, redact(t.Opaque), "")
	case t.Module != "" && len(t.Packages) == 0:
		f.addUnknown(RuleUnknown, evidence.Launch,
			t.Launcher+" takes the module "+quote(t.Module)+" from whatever is installed where it runs", "")
	}
	if isPlainHTTP(t.Reaches()) {
		f.add(RulePlainHTTP, evidence.Fact(f.about(evidence.Transport, evidence.Caller, "https"), "http"), "",
			`"https://" in place of "http://"`)
	}
	if line := t.declaredInner(); line != nil {
		reason, command, args := DescribeInner(line)
		f.addUnknown(RuleInner, evidence.Pin, reason, `"command": `+command+`, "args": `+args)
	}
	f.checkPackages(t, d.pinnedSpelling(t))
	f.checkVerify(d, t)
	if shown := Redact(d.Args); !slices.Equal(shown, d.Args) {
		at := slices.IndexFunc(shown, func(s string) bool { return !slices.Contains(d.Args, s) })
		f.add(RuleSecret, evidence.Fact(f.about(evidence.Secret, evidence.Caller, "none"), shown[max(at, 0)]),
			"", "a variable of the environment, which the entry names")
	}
	return t, f.report
}

// findings is the evidence about one declared server.
type findings struct {
	claim  evidence.Claim // its subject and place
	report evidence.Report
}

// about returns the claim of an authority about the server.
func (f *findings) about(s evidence.Scheme, a evidence.Authority, text string) evidence.Claim {
	c := f.claim
	c.Scheme, c.Authority, c.Text = s, a, text
	return c
}

// add adds evidence by a rule.
func (f *findings) add(rule string, e evidence.Evidence, reason, fix string) {
	e.Rule, e.Reason, e.Fix = rule, reason, fix
	f.report = append(f.report, e)
}

// addUnknown adds evidence by a rule of what the command line does not tell.
func (f *findings) addUnknown(rule string, s evidence.Scheme, reason, fix string) {
	f.add(rule, evidence.CannotVerify(f.about(s, evidence.Caller, ""), evidence.Unsupported, ""), reason, fix)
}

// checkURL checks the URL of a remote server.
func (f *findings) checkURL(url string) {
	if isPlainHTTP(url) {
		fix := cmp.Or(withoutSecret("https://"+url[len("http://"):]), `"https://" in place of "http://"`)
		f.add(RulePlainHTTP, evidence.Fact(f.about(evidence.Transport, evidence.Caller, "https"), "http"), "", fix)
	}
	if !slices.Equal(Redact([]string{url}), []string{url}) {
		f.add(RuleSecret, evidence.Fact(f.about(evidence.Secret, evidence.Caller, "none"), "in the URL"), "", "")
	}
}

// checkPackages checks that each package that a command line names is pinned. fix is how they are spelled then.
func (f *findings) checkPackages(t Target, fix string) {
	for _, p := range t.Packages {
		text := redact(p.Text)
		pin := f.about(evidence.Pin, evidence.Caller, text)
		switch {
		case t.Opaque != "":
		case p.Pinned():
			f.report = append(f.report, evidence.Fact(pin, text))
		case p.Ecosystem == OCI:
			f.add(RuleImage, evidence.Fact(pin, "the image that "+text+" names when it is started"), "", fix)
		case p.Pin == Unpinned:
			f.add(RuleUnpinned, evidence.Fact(pin, ""), "which version "+t.Launcher+" runs is undetermined", fix)
		default:
			f.add(RuleRange, evidence.Fact(pin, "a "+string(p.Pin)), "which version "+t.Launcher+" runs may change",
				fix)
		}
	}
}

// checkVerify checks that the verify block hashes what runs, in today's form and by a strong algorithm.
func (f *findings) checkVerify(d Declared, t Target) {
	if (d.Verify == "command" || d.Verify == "checksum") && t.Launcher != "" {
		runs, fix := t.whatRuns(), ""
		if t.Direct && t.File != "" {
			fix = `verify = { type = "file", path = ` + encode(t.File) + `, value = "…" }`
		}
		f.add(RuleVerify, evidence.Fact(f.about(evidence.Launch, evidence.Verify, redact(runs)),
			commandName(d.Command)),
			"the hash is that of "+commandName(d.Command)+", not of what it runs", fix)
	}
	if d.Verify == "checksum" {
		f.add(RuleChecksum, evidence.Fact(f.about(evidence.Launch, evidence.Verify, "verify"), "checksum"),
			"it will be removed; 'hallmark config migrate' rewrites it in hallmark.toml",
			`verify = { type = "command", algorithm = "`+cmp.Or(d.Algorithm, "sha256")+`", value = "…" }`)
	}
	if strings.EqualFold(d.Algorithm, "sha1") {
		f.add(RuleWeak, evidence.Fact(f.about(evidence.Launch, evidence.Verify, "sha256"), "sha1"), "", "")
	}
}

// splitCommand returns the members of an entry whose command is a whole line; "" if a shell would do more with it than
// start a program.
func splitCommand(line string, args []string) string {
	if _, whole := wholeLine(line); !whole {
		return ""
	}
	words, ok := splitSimpleCommand(word{text: line})
	if !ok {
		return ""
	}
	all := slices.Concat(texts(words), args)
	return withoutSecret(`"command": ` + encode(all[0]) + `, "args": ` + encode(all[1:]))
}

// Reaches returns the URL that a package is told to reach, as an argument that is no option's value: it passes on what
// that answers. It is "" if there is none.
func (t Target) Reaches() string {
	for i, arg := range t.Args {
		if len(t.Packages) > 0 && webURL().MatchString(arg) && (i == 0 || !strings.HasPrefix(t.Args[i-1], "-")) {
			return arg
		}
	}
	return ""
}

// webURL is the beginning of a URL of http or https.
var webURL = spelling.Form(`(?i)^https?://`)

// HashedAlone returns the launcher or interpreter whose hash is all that a hash of the command is,
// and what it runs; "" if the command itself is what runs.
func (t Target) HashedAlone() (launcher, runs string) {
	if t.Launcher == "" {
		return "", ""
	}
	return t.Launcher, t.whatRuns()
}

// whatRuns says what a target runs.
func (t Target) whatRuns() string {
	if len(t.Packages) > 0 {
		return t.Packages[0].Name
	}
	return cmp.Or(t.File, t.Module, t.Bin, "what it starts")
}

// pinnedSpelling is the pinned spelling of the arguments: with versions that are known, else with
// places for them. If a secret is among the arguments, it is only the words that change.
func (d Declared) pinnedSpelling(t Target) string {
	versions := make([]string, len(t.Packages))
	for i, p := range t.Packages {
		if p.Pinned() {
			continue
		}
		if d.Known != nil {
			versions[i] = d.Known(p)
		}
		switch {
		case versions[i] != "" && p.accepts(versions[i]):
		case p.Ecosystem == OCI:
			versions[i] = placeholderImage
		case p.Ecosystem == Git:
			versions[i] = "<commit>"
		default:
			versions[i] = placeholder
		}
	}
	args, ok := t.Spell(versions...)
	if !ok || len(t.Packages) == 0 {
		return ""
	}
	if slices.Equal(Redact(args), args) {
		return encode(args)
	}
	edits, _ := t.edits(versions)
	return withoutSecret(t.describeChanges(edits))
}

// describeChanges says which words of the arguments edits put in the place of which, from the first to the last.
func (t Target) describeChanges(edits []edit) string {
	var out []string
	for _, e := range slices.Backward(edits) {
		old := t.words[e.at.arg][e.at.start:e.at.end]
		out = append(out, encode(strings.Join(e.new, " "))+" in place of "+encode(old))
	}
	return strings.Join(out, ", ")
}

// withoutSecret is a fix that is to be written as it stands: none if a secret is a part of it.
func withoutSecret(fix string) string {
	if redact(fix) != fix {
		return ""
	}
	return fix
}

// encode writes v in a form that is both JSON and TOML.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), `","`, `", "`)
}

// isPlainHTTP reports whether a URL is http to another machine.
func isPlainHTTP(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return strings.HasPrefix(strings.ToLower(s), "http://")
	}
	if !strings.EqualFold(u.Scheme, "http") {
		return false
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return !addr.IsLoopback()
	}
	return host != "localhost" && !strings.HasSuffix(host, ".localhost")
}
