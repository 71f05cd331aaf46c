package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	apiv0 "github.com/modelcontextprotocol/registry/pkg/api/v0"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

// row is one server.json.
type row struct {
	name, version string
	document      []byte
	latest        bool
}

// generate makes n records of about n*52/187 names, as the official registry had in
// October 2026, of some 730 bytes each. The same n gives the same rows.
func generate(n int) ([]row, error) {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	names := max(1, n*52/187)
	var rows []row
	for i := range names {
		owner := fmt.Sprintf("io.github.%s-%s%d", pick(r, words), pick(r, words), r.IntN(10_000))
		if r.IntN(5) == 0 {
			owner = fmt.Sprintf("com.%s%d", pick(r, words), r.IntN(5_000))
		}
		name := fmt.Sprintf("%s/%s-%s-%x", owner, pick(r, words),
			pick(r, []string{"mcp", "server", "mcp-server", "tools"}), i)
		count := n / names
		if i < n%names {
			count++
		}
		// Most have few versions and some have many.
		if i%2 == 0 && i+1 < names {
			count = max(1, count/2)
		}
		for v := range count {
			rows = append(rows,
				row{name: name, version: fmt.Sprintf("%d.%d.%d", 1+v/50, v/10%5, v%10), latest: v == count-1})
		}
	}
	for v := 0; len(rows) < n; v++ { // one name gets what the halving left
		i := len(rows) % names
		rows = append(rows,
			row{name: fmt.Sprintf("io.github.%s-extra/%s-%x", words[i%len(words)], words[i%7], i),
				version: fmt.Sprintf("9.0.%d", v), latest: true})
	}
	rows = rows[:n]
	slices.SortFunc(rows, func(a, b row) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.version, b.version)
	})
	seen := map[string]int{}
	for i := range rows {
		if rows[i].latest {
			if j, ok := seen[rows[i].name]; ok {
				rows[j].latest = false
			}
			seen[rows[i].name] = i
		}
		var err error
		if rows[i].document, err = document(r, rows[i].name, rows[i].version); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// document makes a valid server.json, in the members' order of the official types.
func document(r *rand.Rand, name, version string) ([]byte, error) {
	_, short, _ := strings.Cut(name, "/")
	var text []string
	for range 9 {
		text = append(text, pick(r, words))
	}
	description := strings.Join(text, " ")
	s := apiv0.ServerJSON{
		Schema:      model.CurrentSchemaURL,
		Name:        name,
		Description: description[:min(len(description), 100)],
		Title:       short,
		Version:     version,
		Repository: &model.Repository{URL: model.RegistryURLGitHub + "/example/" + short, Source: "github",
			ID: fmt.Sprint(r.IntN(1e9))},
		WebsiteURL: "https://" + short + ".example.com/docs",
		Packages: []model.Package{{
			RegistryType: model.RegistryTypeNPM, Identifier: "@example/" + short, Version: version,
			RegistryBaseURL: model.RegistryURLNPM,
			RunTimeHint:     "npx", Transport: model.Transport{Type: model.TransportTypeStdio},
			EnvironmentVariables: []model.KeyValueInput{{Name: "API_KEY", InputWithVariables: model.InputWithVariables{
				Input: model.Input{Description: "Key of the service", IsRequired: true, IsSecret: true}}}},
		}},
	}
	return json.Marshal(s)
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

var words = strings.Fields(`weather files search calendar notes memory browser database query graph vector music image video audio mail
	message chat issue review build deploy monitor metrics logs trace cloud storage bucket queue stream market
	stock crypto wallet payment invoice order ticket support crawl scrape translate summarize extract convert
	render draw map route travel flight hotel recipe health fitness sensor device camera printer robot garden
	energy solar battery vehicle parking legal contract policy audit security scan secret identity access token
	session profile friend game puzzle chess poetry story book library paper citation science chemistry physics
	biology genome protein planet`)
