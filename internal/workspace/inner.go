package workspace

import (
	"slices"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/launcher"
	"github.com/hallmark-mcp/hallmark/project"
)

// InnerEvidence returns evidence that a server's arguments may start or fetch another program, of which
// its entry holds nothing; none if they do not. locked are the server's arguments if its declaration has
// no command line, as one that names a record; extra are those that follow them at this start.
func InnerEvidence(s project.Server, locked, extra []string) evidence.Report {
	var line []string
	if s.Command != "" {
		line = launcher.Parse(s.Command, slices.Concat(s.Arguments, extra)).InnerLine()
	} else {
		line = launcher.InnerLine(slices.Concat(locked, extra), false)
	}
	return InnerLineEvidence(s.Name, line)
}

// InnerLineEvidence returns evidence that a server may start or fetch what line says, none if it is nil.
func InnerLineEvidence(server string, line []string) evidence.Report {
	if line == nil {
		return nil
	}
	reason, command, arguments := launcher.DescribeInner(line)
	e := evidence.CannotVerify(evidence.Claim{
		Subject: server, Scheme: evidence.Pin, Authority: evidence.Lock, Where: project.ConfigFile,
	}, evidence.Unsupported, reason)
	e.Rule = launcher.RuleInner
	e.Fix = "declare that program itself: command = " + command + ", arguments = " + arguments +
		"; then run 'hallmark pin " + server + "'. A value that is only called as a program is written last, " +
		"or as --option=value"
	return evidence.Report{e}
}
