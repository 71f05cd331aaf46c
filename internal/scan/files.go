package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/clients"
	"github.com/hallmark-mcp/hallmark/internal/host"
	"github.com/hallmark-mcp/hallmark/internal/workspace"
	"github.com/hallmark-mcp/hallmark/launcher"
)

// scanFiles returns the files to read, each once, and evidence of those that are skipped.
func scanFiles(ctx context.Context, h *host.Host, o Options) ([]clients.File, evidence.Report, error) {
	machine := clients.Machine{OS: cmp.Or(o.OS, runtime.GOOS), Home: o.Home, Getenv: h.Getenv, Project: o.Dir,
		Commands: true}
	if o.Home != "" && host.SameFile(o.Dir, o.Home) {
		machine.Project = o.Home // so that the user's files are known as such, and listed once
	}
	switch {
	case o.Project:
		files, report, err := projectFiles(ctx, o)
		return files, append(report, misplacedEvidence(o, files)...), err
	case len(o.Paths) == 0:
		files, err := clients.Find(machine, o.Clients...)
		if err == nil && o.Rewritten {
			files = append(files, rewrittenFiles(h, o, files)...)
		}
		return files, misplacedEvidence(o, files), usageError(err)
	}
	files, err := namedFiles(machine, o)
	return files, nil, err
}

// rewrittenFiles returns the files that are not among files, and of which this machine remembers that entries of them
// were rewritten.
func rewrittenFiles(h *host.Host, o Options, files []clients.File) (out []clients.File) {
	paths, _ := workspace.RewrittenFiles(h) // what cannot be read of that, 'undo' and 'unpin' say
	for _, path := range paths {
		f := clients.FileAt(path)
		if f.User = true; len(o.Clients) > 0 && !slices.Contains(o.Clients, f.Client) ||
			slices.ContainsFunc(files, func(known clients.File) bool { return host.SameFile(known.Path, path) }) {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			out = append(out, f)
		}
	}
	return out
}

// misplacedEvidence returns evidence of files in o.Dir that have servers, and that their clients read in the user's
// home directory alone. It is a warning, because no client that is known starts them.
func misplacedEvidence(o Options, files []clients.File) (report evidence.Report) {
	if o.Home != "" && host.SameFile(o.Dir, o.Home) {
		return nil
	}
	there, _ := clients.Find(clients.Machine{OS: cmp.Or(o.OS, runtime.GOOS), Home: o.Dir,
		Getenv: func(string) string { return "" }}, o.Clients...)
	for _, f := range there {
		servers, _ := clients.Load(f)
		if len(servers) == 0 || f.System || f.Installed || slices.ContainsFunc(files, func(known clients.File) bool {
			return host.SameFile(known.Path, f.Path)
		}) {
			continue
		}
		e := unreadableEvidence(host.RelativeTo(o.Dir, f.Path), errors.New("has servers, and "+clients.Title(f.Client)+
			" reads such a file in the home directory, and not in a project"))
		e.Scheme, e.Cause = evidence.Launch, evidence.Unsupported
		report = append(report, e)
	}
	return report
}

// usageError gives an error about the caller's options its class.
func usageError(err error) error {
	if err == nil {
		return nil
	}
	return evidence.Errorf(evidence.Validation, "", "", err)
}

// projectFiles returns the clients' files of the whole checkout in o.Dir.
func projectFiles(ctx context.Context, o Options) ([]clients.File, evidence.Report, error) {
	if _, err := clients.Find(clients.Machine{}, o.Clients...); err != nil {
		return nil, nil, usageError(err)
	}
	st, err := os.Stat(o.Dir)
	if err == nil && !st.IsDir() {
		err = errors.New("is not a directory")
	}
	if err != nil {
		return nil, nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", o.Dir), "name the project's directory",
			err)
	}
	files, unread, err := clients.FindBelow(ctx, o.Dir, o.Clients...)
	if err != nil {
		return nil, nil, evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", o.Dir), "", err)
	}
	var report evidence.Report
	for _, u := range unread {
		e := unreadableEvidence(host.RelativeTo(o.Dir, u.Path), errors.New(u.Why))
		if u.Empty { // a warning only: builds and package managers make such links
			e.Scheme, e.Cause = evidence.Launch, evidence.Unsupported
		}
		report = append(report, e)
	}
	return files, report, nil
}

// namedFiles returns the files of o.Paths, and the clients' files of the directories there.
func namedFiles(machine clients.Machine, o Options) ([]clients.File, error) {
	machine.Project = ""
	users, err := clients.Find(machine)
	if err != nil {
		return nil, usageError(err)
	}
	var out []clients.File
	for _, name := range o.Paths {
		st, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, evidence.Errorf(evidence.Validation, fmt.Sprintf("%+q", name), "",
				errors.New("there is no such file"))
		case err != nil:
			return nil, evidence.Errorf(evidence.Operation, fmt.Sprintf("%+q", name), "", err)
		case st.IsDir():
			found, err := clients.Find(clients.Machine{OS: machine.OS, Project: name, Commands: true}, o.Clients...)
			if err != nil {
				return nil, usageError(err)
			}
			// Files that an administrator manages for the machine are not the project's.
			for _, f := range found {
				if host.IsBelow(name, f.Path) {
					out = append(out, f)
				}
			}
		default:
			f := clients.FileAt(name)
			f.User = slices.ContainsFunc(users, func(u clients.File) bool { return host.SameFile(u.Path, name) })
			if len(o.Clients) > 0 && !slices.Contains(o.Clients, f.Client) {
				continue
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// scannedDirs returns the directories that are scanned as projects.
func scannedDirs(o Options) []string {
	if o.Project || len(o.Paths) == 0 {
		return []string{o.Dir}
	}
	return slices.DeleteFunc(slices.Clone(o.Paths), func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || !st.IsDir()
	})
}

// sameFile returns the elements of files that are f, as several clients may read it.
func sameFile(files []clients.File, f clients.File) (out []clients.File) {
	for _, o := range files {
		if o.Path == f.Path {
			out = append(out, o)
		}
	}
	return out
}

// elsewhereEvidence returns evidence of what looks like servers in data, the bytes of a file that its clients are not
// known to read servers from. It is a warning, because no client that is known starts them.
func elsewhereEvidence(files []clients.File, data []byte, shown string) (report evidence.Report) {
	who := "a client"
	if files[0].Client != "" {
		who = clients.Title(files[0].Client)
	}
	for _, found := range clients.FindElsewhere(files, data) {
		why := "has servers"
		if found.Key != "" {
			why += " under " + clients.QuoteText(launcher.Redact([]string{found.Key})[0])
		}
		why += ", where " + who + " is not known to look"
		if keys := clients.Keys(files); len(keys) > 0 {
			for i := range keys {
				keys[i] = clients.QuoteText(keys[i])
			}
			why += "; it reads " + strings.Join(keys, ", ")
		}
		e := unreadableEvidence(shown, errors.New(why))
		e.Scheme, e.Cause = evidence.Launch, evidence.Unsupported
		e.Place.Line, e.Place.Column = found.Line, found.Column
		report = append(report, e)
	}
	return report
}

// unreadableEvidence returns evidence of a file that could not be read.
func unreadableEvidence(shown string, err error) evidence.Evidence {
	cause := evidence.Malformed
	if errors.As(err, new(*fs.PathError)) || errors.Is(err, fs.ErrPermission) {
		cause = evidence.Unreadable
	}
	e := evidence.CannotVerify(evidence.Claim{
		Subject: shown, Scheme: evidence.Document, Authority: evidence.Caller, Where: shown,
		Place: evidence.Place{File: shown},
	}, cause, err.Error())
	e.Rule = launcher.RuleUnreadable
	return e
}
