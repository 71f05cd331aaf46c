package author

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hallmark-mcp/hallmark/artifact"
	"github.com/hallmark-mcp/hallmark/cmd/internal/app"
	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/document"
	"github.com/hallmark-mcp/hallmark/internal/durable"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/publish"
	"github.com/hallmark-mcp/hallmark/internal/registry"
	"github.com/hallmark-mcp/hallmark/policy"
	"github.com/hallmark-mcp/hallmark/serverjson"
	"github.com/hallmark-mcp/hallmark/surface"
)

// readDocument reads the named server.json, or the one in this directory: as it is, and with values set in it. "-" is
// the standard input. A URL, and a registry's answer that has the document in it, are read too.
func readDocument(ctx context.Context, a *app.App, names []string,
	values placeholders) (name string, read, data []byte, err error) {
	switch {
	case len(names) == 0:
		name, read, err = document.ReadFile("server.json", durable.OpenRegular)
	case names[0] == "-":
		name = "standard input"
		read, err = document.ReadAll(a.Stdin)
	case isURL(names[0]):
		name = names[0]
		read, err = document.ReadURL(ctx, name)
	default:
		name, read, err = document.ReadFile(names[0], os.Open)
	}
	if err != nil {
		return name, nil, nil, err
	}
	data, err = values.fill(a, name, document.ServerOf(read))
	return name, read, data, err
}

// isURL reports whether an argument is a URL, and no file.
func isURL(name string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(name), "://")
	return ok && (scheme == "https" || scheme == "http")
}

// placeholders are what --set says: "NAME=VALUE" each.
type placeholders []string

// register adds --set to a command.
func (p *placeholders) register(f *pflag.FlagSet) {
	f.StringArrayVar((*[]string)(p), "set", nil,
		"fill ${NAME} and {{NAME}} in: `NAME=VALUE`; version=1.2.3 sets every version that is the document's; may be "+
			"given again")
}

// fill sets the values in a document, and says what it set.
func (p placeholders) fill(a *app.App, file string, data []byte) ([]byte, error) {
	for _, text := range p {
		name, value, _ := strings.Cut(text, "=")
		if name == "" || value == "" {
			return nil, evidence.Errorf(evidence.Validation, "--set", "write it as version=1.2.3",
				fmt.Errorf("%+q is not NAME=VALUE", text))
		}
		out, filled, err := serverjson.Fill(data, name, value)
		if err != nil {
			return nil, evidence.Errorf(evidence.Validation, file, "", err)
		}
		data = out
		for _, x := range filled {
			a.Note("set: %s was %s; now %s", cmp.Or(x.Path, "a placeholder"), surface.Escape(x.Was),
				surface.Escape(x.Now))
		}
	}
	return data, nil
}

// lead adds the values to the command that the hint of err names, so that it hashes the document with them in it. An
// error that holds another one besides stays as it is.
func (p placeholders) lead(err error) error {
	const remake = "hash-gen --write "
	e, ok := err.(*evidence.Error)
	if !ok || len(p) == 0 || !strings.Contains(e.Hint, remake) {
		return err
	}
	var set strings.Builder
	for _, text := range p {
		set.WriteString(host.QuoteArguments([]string{"--set", text}) + " ")
	}
	led := *e
	led.Hint = strings.Replace(e.Hint, remake, remake+set.String(), 1)
	return &led
}

const hashGenHelp = `Fetch every file that the packages of a server.json name, hash it, and print the
file_hashes object. What the package's own registry says of a file is compared too.
Nothing is published. A hash tells which bytes a file has, not who made it: it shows
integrity, not authenticity. Files are named by packages, or by the older package_location:
{"type": "npm", "package_name": "@acme/notes@1.0.0"}; pypi with notes==1.0.0; github with
OWNER/REPO/TAG/FILE; url with a url.

With --write the hashes are put into the file, in all places where it has some, and the rest
of it stays byte for byte. Hashes of an older version are replaced, and named. The fileSha256 of
an mcpb package is written too. Clients that know only the official schema drop file_hashes
silently; --meta writes them into _meta too, which such clients keep.

With --local a file that is not published yet is hashed in place of what would be fetched: the tarball
of 'npm pack', a wheel, a crate, a bundle, or a directory of such, as dist. Publish that very file: one
that is packed again may have other bytes. Without a server.json the hashes are printed alone.`

// HashGenCommand returns the command hash-gen.
func HashGenCommand(a *app.App) *cobra.Command {
	g := &hashGenerator{a: a}
	c := &cobra.Command{
		Use:     "hash-gen [server.json]",
		Short:   "Hash every file of a server's packages, for file_hashes",
		Example: "\n--write\nnotes/server.json --json\n--write --local dist",
		Long:    hashGenHelp,
		Args:    app.Args(cobra.MaximumNArgs(1)),
		RunE:    a.Reporting(&g.asJSON, g.run),
	}
	c.Flags().BoolVar(&g.write, "write", false, "put the hashes into the file instead of printing them")
	c.Flags().BoolVar(&g.meta, "meta", false, "with --write: put the hashes into _meta too, which every client keeps")
	c.Flags().StringArrayVar(&g.local, "local", nil,
		"hash this `file` or directory in place of what would be fetched; may be given again")
	c.Flags().StringVar(&g.as, "as", "", "the `key` that the file of --local has, if it does not say it itself")
	c.Flags().BoolVar(&g.asJSON, "json", false, "print hashes and evidence as one JSON document")
	g.limits.Register(c.Flags())
	g.limits.RegisterWait(c.Flags())
	g.values.register(c.Flags())
	a.AllowFlags(c)
	return c
}

// hashGenerator is one call of hash-gen.
type hashGenerator struct {
	a                   *app.App
	write, meta, asJSON bool
	local               []string
	as                  string
	values              placeholders
	limits              app.FetchFlags
}

func (g *hashGenerator) run(c *cobra.Command, names []string) error {
	switch {
	case g.meta && !g.write:
		return app.Usage(c, errors.New("--meta says where --write puts the hashes: give both"))
	case g.write && len(names) > 0 && (names[0] == "-" || isURL(names[0])):
		return app.Usage(c, errors.New("--write writes a file: name one"))
	case g.as != "" && len(g.local) == 0:
		return app.Usage(c, errors.New("--as says what the file of --local is: give both"))
	}
	h, err := g.a.HostWithin(".", g.limits.Of())
	if err != nil {
		return err
	}
	if _, err := os.Lstat("server.json"); len(g.local) > 0 && len(names) == 0 && !g.write &&
		errors.Is(err, fs.ErrNotExist) {
		return hashLocal(c.Context(), g.a, h, g.local, g.as, g.asJSON)
	}
	name, read, data, err := readDocument(c.Context(), g.a, names, g.values)
	if err != nil {
		return err
	}
	if g.write && len(document.ServerOf(read)) != len(read) {
		return evidence.Errorf(evidence.Validation, name, "take the member \"server\" into a file of its own",
			errors.New("is a registry's answer, and no server.json that could be written"))
	}
	doc, err := document.ParseUnhashed(name, data)
	if err != nil {
		return err
	}
	hashes, files, err := g.hash(c.Context(), h, doc, name)
	if err != nil {
		return err
	}
	g.a.Bars.Stop()
	err = hashes.Verdict.Err()
	var replaced []serverjson.Replaced
	if err == nil && g.write {
		replaced, err = document.WriteHashes(name, read, data, hashes.Files, g.meta)
	}
	return g.report(doc, name, hashes, files, replaced, err)
}

// hash hashes what the packages of a document name. Files is what of that was read on this machine.
func (g *hashGenerator) hash(ctx context.Context, h *host.Host, doc *serverjson.Document,
	name string) (hashes *document.Hashes, files map[artifact.Ref]string, err error) {
	if len(g.local) > 0 {
		if files, err = document.LocalFiles(doc, name, g.local, g.as); err != nil {
			return nil, nil, err
		}
		with := *h
		with.Fetch = h.Fetch.WithFiles(files)
		h = &with
	}
	hashes, err = document.HashFiles(ctx, h, doc, name)
	return hashes, files, err
}

// report prints the hashes, or what was written of them.
func (g *hashGenerator) report(doc *serverjson.Document, name string, hashes *document.Hashes,
	files map[artifact.Ref]string, replaced []serverjson.Replaced, err error) error {
	object := objectOf(hashes.Files)
	if g.asJSON {
		return g.a.WriteJSON(struct {
			app.Outcome
			FileHashes map[string]string     `json:"file_hashes,omitempty"`
			Replaced   []serverjson.Replaced `json:"replaced,omitempty"` // with --write
		}{app.OutcomeOf(hashes.Verdict, err), object, replaced}, err)
	}
	if err != nil {
		return err
	}
	if err := app.WriteNotes(g.a.Stderr, hashes.Verdict); err != nil {
		return err
	}
	if len(doc.Packages) == 0 {
		g.a.Note("%s names no package, so that there is nothing to hash", name)
	}
	given := map[artifact.Ref]bool{}
	for ref := range files {
		given[ref.Normal()] = true
	}
	for _, f := range hashes.Files {
		if len(files) > 0 && !given[f.Ref.Normal()] {
			g.a.Note("fetched, as no file was given for it: %s", surface.Escape(f.Key))
		}
	}
	if !g.write {
		return g.a.WriteJSON(map[string]any{"file_hashes": object}, nil)
	}
	reportReplaced(g.a, doc, replaced)
	if real, err := os.Readlink(name); err == nil {
		name += ", which is a link to " + surface.Escape(real)
	}
	g.a.Note("%s written to %s", evidence.Count(len(hashes.Files), "hash"), name)
	return nil
}

// reportReplaced says which hashes of the document were others before.
func reportReplaced(a *app.App, doc *serverjson.Document, replaced []serverjson.Replaced) {
	for _, r := range joinRemoved(replaced) {
		text := "removed: %s, of which no package of the document is any more; it was %s"
		ref, err := artifact.Parse(r.Key)
		switch {
		case r.Now != "":
			text = "replaced: %s was %s; now " + r.Now
		case err == nil && doc.Covers(ref):
			text = "removed: %s, which is none of the files that were hashed; it was %s"
		}
		a.Note(text, surface.Escape(r.Key), surface.Escape(r.Was))
	}
}

// objectOf is file_hashes of files, in any order.
func objectOf(files []serverjson.FileHash) map[string]string {
	object := map[string]string{}
	for _, f := range files {
		object[f.Key] = f.Value
	}
	return object
}

// hashLocal prints the hashes of files on this machine, of which there is no server.json yet.
func hashLocal(ctx context.Context, a *app.App, h *host.Host, local []string, as string, asJSON bool) error {
	files, err := document.LocalFiles(nil, "", local, as)
	if err != nil {
		return err
	}
	hashes, err := document.HashLocal(ctx, h, files)
	if err != nil {
		return err
	}
	a.Bars.Stop()
	object := objectOf(hashes)
	if asJSON {
		return a.WriteJSON(struct {
			app.Outcome
			FileHashes map[string]string `json:"file_hashes,omitempty"`
		}{app.OutcomeOf(policy.Judge(policy.Generate, policy.Settings{}, nil), nil), object}, nil)
	}
	return a.WriteJSON(map[string]any{"file_hashes": object}, nil)
}

// WarnOfPackages says which packages do not say that they are for server, for which a registry refuses them, and which
// are not what the document calls them. What is not published yet need not be published again.
func WarnOfPackages(w io.Writer, v policy.Verdict, server string, published bool) {
	last := ""
	for _, f := range v.Warnings() {
		e := f.Evidence
		subject, where := surface.Escape(e.Subject), surface.Escape(e.Where)
		text := "does not say that it is for " + surface.Escape(server) + " (" + where + "); a registry refuses it"
		switch {
		case e.Scheme == evidence.Form:
			text = surface.Escape(e.Reason)
		case e.Scheme != evidence.Ownership:
			continue
		case e.Outcome == evidence.Mismatch:
			text = fmt.Sprintf("is for another server, %+q (%s); a registry refuses it", e.Observed.Text, where)
		case e.Outcome == evidence.Unverifiable:
			text = "which server it is for could not be read (" + where + "): " + surface.Escape(e.Reason)
		}
		fmt.Fprintf(w, "warning: %s: %s\n", subject, text)
		next := v.Advice(f)
		if !published {
			next, _, _ = strings.Cut(next, ", and publish it again")
		}
		if next != "" && next != last {
			fmt.Fprintf(w, "  hint: %s\n", next)
			last = next
		}
	}
}

// joinRemoved joins the files of one release that are gone to one, since there are dozens of some.
func joinRemoved(all []serverjson.Replaced) (out []serverjson.Replaced) {
	more := map[string]int{}
	release := func(r serverjson.Replaced) string {
		before, _, _ := strings.Cut(r.Key, "/")
		if r.Now != "" || !strings.HasPrefix(before, "pypi:") {
			return r.Key
		}
		return before
	}
	for _, r := range all {
		if more[release(r)]++; more[release(r)] == 1 {
			out = append(out, r)
		}
	}
	for i, r := range out {
		if n := more[release(r)]; n > 1 && r.Now == "" {
			out[i].Key += " and " + evidence.Count(n-1, "other file") + " of its release"
		}
	}
	return out
}

const verifyHelp = `Fetch every file that a server.json names and compare it with file_hashes, with
fileSha256 and with what the package's own registry says. Packages that nobody
claims a hash for are named. Exit code 3 if a hash differs, 1 if a file could not
be fetched. That all match shows integrity, not authenticity.

The document may come from the standard input (-) or a URL, also in a registry's answer. With --file
nothing is fetched: the file, which you have already, is compared with what the document claims of it.`

// VerifyCommand returns the command verify.
func VerifyCommand(a *app.App) *cobra.Command {
	v := &verifier{a: a}
	c := &cobra.Command{
		Use:   "verify [server.json | URL | -]",
		Short: "Recompute every hash that a server.json claims",
		Example: "\n--require-hashes\n" +
			"https://registry.example.com/v0.1/servers/io.github.acme%2Fnotes/versions/1.4.0\n" +
			"--file notes-1.4.0.tgz --as npm:@acme/notes@1.4.0",
		Long: verifyHelp,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: a.Reporting(&v.asJSON, v.run),
	}
	c.Flags().StringVar(&v.file, "file", "", "compare this `file` alone, and fetch nothing")
	c.Flags().StringVar(&v.as, "as", "", "the `key` that the file has in file_hashes, if it does not say it itself")
	c.Flags().BoolVar(&v.asJSON, "json", false, "print the evidence as one JSON document")
	c.Flags().BoolVar(&v.settings.RequireHashes, "require-hashes", false,
		"refuse packages without a hash (exit code 4)")
	v.limits.Register(c.Flags())
	v.limits.RegisterWait(c.Flags())
	v.values.register(c.Flags())
	a.AllowFlags(c)
	return c
}

// verifier is one call of verify.
type verifier struct {
	a        *app.App
	asJSON   bool
	file, as string
	settings policy.Settings
	values   placeholders
	limits   app.FetchFlags
}

func (v *verifier) run(c *cobra.Command, names []string) error {
	if v.as != "" && v.file == "" {
		return app.Usage(c, errors.New("--as says what the file of --file is: give both"))
	}
	name, _, data, err := readDocument(c.Context(), v.a, names, v.values)
	if err != nil {
		return err
	}
	doc, err := document.Parse(name, data)
	if err != nil {
		return err
	}
	h, err := v.a.HostWithin(".", v.limits.Of())
	if err != nil {
		return err
	}
	var verdict policy.Verdict
	if v.file != "" {
		verdict, err = document.VerifyFile(c.Context(), h, doc, name, v.file, v.as)
	} else {
		verdict, err = document.Verify(c.Context(), h, doc, name, v.settings)
	}
	if err != nil {
		return v.values.lead(err)
	}
	v.a.Bars.Stop()
	if v.asJSON {
		return v.a.WriteJSON(app.OutcomeOf(verdict, verdict.Err()), verdict.Err())
	}
	if len(verdict.Findings) == 0 {
		v.a.Note("%s names no package, so that there is nothing to verify", name)
	}
	err = app.WriteReport(v.a.Stdout, verdict)
	WarnOfPackages(v.a.Stdout, verdict, doc.Name, true)
	return errors.Join(err, verdict.Err())
}

// ValidateCommand returns the command validate.
func ValidateCommand(a *app.App) *cobra.Command {
	var asJSON bool
	var values placeholders
	c := &cobra.Command{
		Use:   "validate [server.json | URL | -]",
		Short: "Check the form and meaning of a server.json, offline",
		Long: `Check what publish and registries check of a server.json before they fetch anything, and say all that is
wrong at once. Warnings name what is valid and may surprise, and what the official registry refuses by its schema.
Nothing is sent or fetched.`,
		Args: app.Args(cobra.MaximumNArgs(1)),
		RunE: a.Reporting(&asJSON, func(c *cobra.Command, names []string) error {
			if err := refusePlugin(names); err != nil {
				return err
			}
			name, _, data, err := readDocument(c.Context(), a, names, values)
			if err != nil {
				return err
			}
			issues, err := document.IssuesOf(data, func(kind artifact.Kind, name, base string) bool {
				h, err := a.Host(".") // whose configuration says where packages are asked for; nothing is sent
				return err == nil && h.Fetch.AsksAt(kind, name, base)
			})
			if err != nil {
				return err
			}
			return reportIssues(a, name, issues, values, asJSON)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the issues as one JSON document")
	values.register(c.Flags())
	return c
}

// reportIssues prints what is wrong with a document, and is an error if a registry would refuse it.
func reportIssues(a *app.App, name string, issues serverjson.Issues, values placeholders, asJSON bool) error {
	var failed error
	if n := len(issues.Errors()); n > 0 {
		failed = values.lead(evidence.Errorf(evidence.Validation, name, document.RemakeHint(name, issues),
			fmt.Errorf("not valid: %s and %s", evidence.Count(n, "error"),
				evidence.Count(len(issues)-n, "warning"))))
	}
	if asJSON {
		if issues == nil {
			issues = serverjson.Issues{}
		}
		return a.WriteJSON(struct {
			Valid  bool              `json:"valid"`
			Issues serverjson.Issues `json:"issues"`
		}{failed == nil, issues}, failed)
	}
	for _, issue := range issues {
		fmt.Fprintf(a.Stdout, "%s  %s\n", issue.Severity, issue)
	}
	if failed == nil {
		a.Note("%s is valid", name)
	}
	return failed
}

// pluginManifest is the manifest of a plugin: plugin.ManifestFile, for which alone mcp-publisher need not link
// that package.
const pluginManifest = "mcp-plugin.json"

// refusePlugin leads on who names a plugin, its manifest or its zip where a server.json is read.
func refusePlugin(names []string) error {
	if len(names) == 0 {
		return nil
	}
	dir, what := names[0], "a plugin"
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return nil // reading it says what is wrong
	case filepath.Base(dir) == pluginManifest:
		dir = filepath.Dir(dir)
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(dir, pluginManifest)); err != nil {
			return nil
		}
	case strings.EqualFold(filepath.Ext(dir), ".zip"):
		what = "a zip, as plugins are"
	default:
		return nil
	}
	return evidence.Errorf(evidence.Validation, names[0],
		"run '"+host.QuoteArguments([]string{"hallmark", "plugin", "validate", filepath.ToSlash(dir)})+"'",
		fmt.Errorf("is %s, and no server.json", what))
}

const publishHelp = `Fetch and hash every file that the packages of a server.json name, add file_hashes to
what is sent, and publish it. The file itself is not edited. Hashes that it holds
already must match. With --no-hash nothing is fetched and the document is sent as it is.

An archive of 'hallmark pack' is published as it is, after everything that it claims of
itself was recomputed. The registry recomputes it too, and what it recorded is compared.
Of a server that is run from source its author's machine also starts the packed bytes and
publishes the fingerprint of the tools that they show, as api_surface; the registry never
runs anything and records it as the publisher's word. --no-surface starts nothing.
A name in a scope, @acme/notes, needs a login or token for io.github.acme/*, or an API
token for @acme/*; a name without one needs an API token for every name.

The token comes from the last login to the registry, or an API token in HALLMARK_TOKEN.
A registry that knows no file_hashes gets them in the publisher's _meta.`

// PublishCommand returns the command publish. capture starts the server in an archive; if it is nil
// another program takes over that can start servers.
func PublishCommand(a *app.App, capture publish.SourceCapture) *cobra.Command {
	p := &publisher{a: a, o: publish.Options{CaptureSource: capture}}
	c := &cobra.Command{
		Use:     "publish [server.json | FILE.facet]",
		Short:   "Publish a server.json or an archive to a registry",
		Example: "--registry http://127.0.0.1:8080\nserver.json --no-hash\nreviewer-1.0.0.facet",
		Long:    publishHelp,
		Args:    app.Args(cobra.MaximumNArgs(1)),
		RunE:    a.Reporting(&p.asJSON, p.run),
	}
	c.Flags().StringVar(&p.base, "registry", os.Getenv("HALLMARK_REGISTRY"),
		"base `URL` of the registry (default $HALLMARK_REGISTRY, else that of the last login)")
	app.LogKeyFlag(c, &p.o.Log)
	c.Flags().BoolVar(&p.o.NoHash, "no-hash", false, "fetch nothing; send the document as it is")
	c.Flags().BoolVar(&p.o.NoSurface, "no-surface", false,
		"do not start a packed server to publish which tools it shows")
	c.Flags().StringSliceVar(&p.o.Variables, "variable", nil,
		"`name` of an environment variable that a packed server gets when it is started")
	p.limits.Register(c.Flags())
	p.limits.RegisterWait(c.Flags())
	p.values.register(c.Flags())
	a.AllowFlags(c)
	c.Flags().BoolVar(&p.asJSON, "json", false, "print the result as one JSON document")
	return c
}

// publisher is one call of publish.
type publisher struct {
	a      *app.App
	asJSON bool
	o      publish.Options
	base   string
	limits app.FetchFlags
	values placeholders
}

func (p *publisher) run(c *cobra.Command, names []string) error {
	h, err := p.a.HostWithin(".", p.limits.Of())
	if err != nil {
		return err
	}
	if len(names) > 0 && publish.IsArchive(names[0]) {
		return p.publishArchive(c, h, names[0])
	}
	name, _, data, err := readDocument(c.Context(), p.a, names, p.values)
	if err != nil {
		return err
	}
	doc, err := document.Parse(name, data)
	if err != nil {
		return err
	}
	if err := p.findRegistry(c, h); err != nil {
		return err
	}
	published, err := publish.Server(c.Context(), h, doc, name, p.o)
	err = p.values.lead(err)
	p.a.Bars.Stop()
	return p.report(doc, cmp.Or(published, &publish.Publication{}), err)
}

func (p *publisher) publishArchive(c *cobra.Command, h *host.Host, file string) error {
	if p.o.NoHash {
		return app.Usage(c, errors.New("--no-hash is not for archives, of which nothing is fetched"))
	}
	if p.o.CaptureSource == nil && !p.o.NoSurface && publish.HoldsServer(file) {
		return publishWithStarter(p.a, file)
	}
	if err := p.findRegistry(c, h); err != nil {
		return err
	}
	published, err := publish.Archive(c.Context(), h, file, p.o)
	return ReportPublishedArchive(p.a, published, p.asJSON, err)
}

// findRegistry completes the options by the registry, the token for it and its log.
func (p *publisher) findRegistry(c *cobra.Command, h *host.Host) (err error) {
	if p.o.Registry, p.o.Token, err = FindRegistry(h, c, p.base); err != nil {
		return err
	}
	return p.a.LogOptions(c, &p.o.Log)
}

// report prints what was published, or what is known of it if err is set.
func (p *publisher) report(doc *serverjson.Document, published *publish.Publication, err error) error {
	if p.asJSON {
		return p.a.WriteJSON(struct {
			app.Outcome
			Record *registry.Envelope `json:"record,omitempty"`
			Moved  bool               `json:"hashes_moved,omitempty"`
			Entry  *int64             `json:"log_entry,omitempty"`
		}{app.OutcomeOf(published.Verdict, err), published.Record, published.Moved, published.Entry}, err)
	}
	if published.Moved {
		p.a.Note("the registry knows no file_hashes; they are sent in the publisher's _meta, " +
			"where it does not look at them")
	}
	if err != nil {
		return err // a registry that refuses says for which server each package is
	}
	WarnOfPackages(p.a.Stderr, published.Verdict, doc.Name, true)
	if err := app.WriteNotes(p.a.Stderr, published.Verdict); err != nil {
		return err
	}
	reportPublished(p.a, doc.Name+"@"+doc.Version, published.Verdict, published.Entry)
	if at, err := p.o.Registry.RecordURL(doc.Name, doc.Version); err == nil {
		p.a.Note("its record is %s", at)
	}
	return registryEvidence(p.a.Stdout, published.Record)
}

// registryEvidence prints what the registry itself recomputed, a line each, and none twice.
func registryEvidence(w io.Writer, record *registry.Envelope) error {
	if record.Meta.Integrity == nil {
		_, err := fmt.Fprintln(w, "the registry recomputes no hashes")
		return err
	}
	var pieces []struct{ Subject, Scheme, Outcome, Where, Actual, From string }
	if err := json.Unmarshal(record.Meta.Integrity.Evidence, &pieces); err != nil {
		return fmt.Errorf("the registry's evidence: %w", err)
	}
	seen := map[string]bool{} // of a file that several claims are about
	for _, e := range pieces {
		line := fmt.Sprintf("%-12s  %s  %s  %s", e.Outcome, e.Subject, e.Scheme, e.Actual)
		if e.From != "" {
			line += "  of " + e.From
		}
		if !seen[line] {
			fmt.Fprintln(w, surface.Escape(strings.TrimRight(line, " ")))
		}
		seen[line] = true
	}
	return nil
}
