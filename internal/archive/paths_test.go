package archive

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestPathVectors runs spec/paths.json, each set in two orders.
func TestPathVectors(t *testing.T) {
	data, err := os.ReadFile("../../spec/paths.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Refused []struct {
			Path    string
			Problem Problem
		}
		Accepted  []string
		Installed []struct {
			Path     string
			Accepted bool
		}
		Sets []struct {
			Paths   []string
			Problem Problem
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Refused {
		refused(t, CheckPath(r.Path), r.Problem, "")
	}
	for _, path := range v.Accepted {
		if err := CheckPath(path); err != nil {
			t.Error(err)
		}
	}
	for _, i := range v.Installed {
		if err := CheckInstalledPath(i.Path); (err == nil) != i.Accepted {
			t.Errorf("%+q: %v", i.Path, err)
		}
	}
	for _, s := range v.Sets {
		backwards := slices.Clone(s.Paths)
		slices.Reverse(backwards)
		for _, paths := range [][]string{s.Paths, backwards} {
			var names Names
			var err error
			for i, path := range paths {
				if err = names.Add(path); err != nil && i < len(paths)-1 {
					t.Errorf("%+q is refused already: %v", path, err)
				}
			}
			if s.Problem == "" {
				if err != nil {
					t.Errorf("%+q: %v", paths, err)
				}
				continue
			}
			refused(t, err, s.Problem, "")
		}
	}
	if len(v.Refused) < 50 || len(v.Accepted) < 20 || len(v.Sets) < 40 {
		t.Error("vectors are missing")
	}
}
