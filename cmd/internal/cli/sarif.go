package cli

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/hallmark-mcp/hallmark/evidence"
	"github.com/hallmark-mcp/hallmark/surface"
)

// The parts of SARIF 2.1.0 that are written.
type (
	sarif struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// inDist is a subject that is a file of a plugin, with or without a line.
var inDist = regexp.MustCompile(`^(dist/.*?)(?::([1-9][0-9]{0,8}))?$`)

// sarifOf is what was refused or warned about of plugins.
func sarifOf(plugins []pluginOutcome) sarif {
	run := sarifRun{Tool: sarifTool{sarifDriver{"hallmark", version()}}, Results: []sarifResult{}}
	for _, p := range plugins {
		file := func(name string) sarifArtifact { return sarifArtifact{surface.Escape(p.Path + "/" + name)} }
		if len(p.Findings) == 0 && !p.OK {
			run.Results = append(run.Results, sarifResult{p.ErrorType, "error", sarifMessage{p.Error},
				[]sarifLocation{{sarifPhysical{Artifact: file("mcp-plugin.json")}}}})
		}
		for _, f := range p.Findings {
			if f.Class == evidence.OK && !f.Warning {
				continue
			}
			r := sarifResult{RuleID: string(f.Evidence.Scheme), Level: "warning"}
			if f.Class != evidence.OK {
				r.RuleID, r.Level = fmt.Sprintf("%s/%s", errorTypes[f.Class], f.Evidence.Scheme), "error"
			}
			r.Message.Text = f.Evidence.Title() + "\n" + f.Evidence.Detail()
			at := sarifPhysical{Artifact: file("mcp-plugin.json")}
			if m := inDist.FindStringSubmatch(f.Evidence.Subject); m != nil {
				at.Artifact = file(m[1])
				if line, err := strconv.Atoi(m[2]); err == nil {
					at.Region = &sarifRegion{line}
				}
			}
			r.Locations = []sarifLocation{{at}}
			run.Results = append(run.Results, r)
		}
	}
	return sarif{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}
