package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hallmark-mcp/hallmark/surface"
)

// Level is how serious SARIF says that a result is.
type Level string

// The levels.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelNote    Level = "note"
)

// Result is a piece of evidence that a report for code scanning shows.
type Result struct {
	Evidence Evidence
	Level    Level
}

// SARIF is a log of SARIF 2.1.0 with one run. Encode it as JSON.
type SARIF struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type (
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        Level             `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifArtifact `json:"artifactLocation"`
			Region   *sarifRegion  `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// MakeSARIF is the log of results. version is the program's; rules describes the rules by
// name; one that it lacks is described by its name. Evidence without a rule goes by its
// scheme and outcome, "surface-mismatch".
func MakeSARIF(version string, rules map[string]string, results []Result) SARIF {
	log := SARIF{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: make([]sarifRun, 1)}
	run := &log.Runs[0]
	run.ColumnKind = "unicodeCodePoints"
	run.Tool.Driver = sarifDriver{Name: "hallmark", Version: version, Rules: []sarifRule{}}
	run.Results = []sarifResult{}
	for _, r := range results {
		e := r.Evidence
		rule := e.Rule
		if rule == "" {
			rule = string(e.Scheme) + "-" + string(e.Outcome)
		}
		known := &run.Tool.Driver.Rules
		index := slices.IndexFunc(*known, func(k sarifRule) bool { return k.ID == rule })
		if index < 0 {
			text := rules[rule]
			text = cmp.Or(text, rule)
			index = len(*known)
			*known = append(*known, sarifRule{rule, sarifText{text}})
		}
		out := sarifResult{
			RuleID: rule, RuleIndex: index, Level: r.Level, Locations: []sarifLocation{},
			Message: sarifText{strings.TrimSpace(e.Title() + "\n" + e.Detail())},
		}
		if e.Place.File != "" {
			out.Locations = append(out.Locations, e.Place.location())
		}
		// Line numbers move; the rule, the server and its file do not.
		h := sha256.New()
		for _, part := range []string{rule, e.Subject, e.Place.File} {
			h.Write([]byte(part + "\x00"))
		}
		out.Fingerprints = map[string]string{"hallmark/v1": hex.EncodeToString(h.Sum(nil))}
		run.Results = append(run.Results, out)
	}
	return log
}

// location is the place in SARIF: a relative file below the root of the sources, any
// other as a file: URI.
func (p Place) location() sarifLocation {
	var l sarifLocation
	name := strings.ReplaceAll(p.File, `\`, "/")
	switch {
	case strings.HasPrefix(name, "/"):
		l.Physical.Artifact.URI = (&url.URL{Scheme: "file", Path: name}).String()
	case len(name) > 1 && name[1] == ':': // a drive of Windows
		l.Physical.Artifact.URI = (&url.URL{Scheme: "file", Path: "/" + name}).String()
	default:
		l.Physical.Artifact.URI = strings.TrimPrefix((&url.URL{Path: path.Clean(name)}).String(), "./")
		l.Physical.Artifact.Base = "%SRCROOT%"
	}
	if p.Line > 0 {
		l.Physical.Region = &sarifRegion{p.Line, p.Column}
	}
	return l
}

// Show is the place as a person reads it, escaped.
func (p Place) Show() string {
	s := surface.Escape(p.File)
	if p.Line > 0 {
		s += ":" + Group(int64(p.Line))
	}
	return s
}
