package cli

import (
	"fmt"
	"strconv"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/internal/spelling"
	"github.com/hallmark-mcp/hallmark/policy"
)

// results returns the findings that are refused or warned about, in the form of code scanning.
func results(findings []policy.Finding) []evidence.Result {
	out := []evidence.Result{}
	for _, f := range findings {
		level := evidence.LevelWarning
		switch {
		case f.Class != evidence.OK:
			level = evidence.LevelError
		case !f.Warning:
			continue
		}
		out = append(out, evidence.Result{Evidence: f.Evidence, Level: level})
	}
	return out
}

// inDist matches a subject that is a file of a plugin, with or without a line.
var inDist = spelling.Form(`^(dist/.*?)(?::([1-9][0-9]{0,8}))?$`)

// pluginResults returns what was refused or warned about plugins, each at its file.
func pluginResults(plugins []pluginOutcome) []evidence.Result {
	var out []evidence.Result
	for _, p := range plugins {
		at := evidence.Place{File: p.Path + "/mcp-plugin.json"}
		if len(p.Findings) == 0 && !p.OK {
			e := evidence.CannotVerify(
				evidence.Claim{Subject: p.Path, Scheme: evidence.Document, Authority: evidence.Manifest, Place: at},
				evidence.Malformed, p.Error)
			e.Rule = p.ErrorType
			out = append(out, evidence.Result{Evidence: e, Level: evidence.LevelError})
		}
		for _, f := range p.Findings {
			e := &f.Evidence
			e.Place, e.Rule = at, string(e.Scheme)
			if f.Class != evidence.OK {
				e.Rule = fmt.Sprintf("%s/%s", errorTypes[f.Class], e.Scheme)
			}
			if m := inDist().FindStringSubmatch(e.Subject); m != nil {
				e.Place.File = p.Path + "/" + m[1]
				e.Place.Line, _ = strconv.Atoi(m[2])
			}
			out = append(out, results([]policy.Finding{f})...)
		}
	}
	return out
}
