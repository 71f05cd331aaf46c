package surface

import (
	"slices"
	"testing"
)

func TestOnly(t *testing.T) {
	s, err := Read(
		[]byte(`{"schema":"hallmark.surface/v1","instructions":"Be kind.","prompts":[],"resourceTemplates":[],` +
			`"resources":[],"tools":[{"inputSchema":{"type":"object"},"name":"add"},{"inputSchema":{"type":"object"},` +
			`"name":"leave"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ keys, want []string }{
		{nil, nil},
		{[]string{"tool:leave", "tool:gone", "prompt:add"}, []string{"tool:leave"}},
		{[]string{"tool:add", "instructions"}, []string{"instructions", "tool:add"}},
		{[]string{"tool:add", "tool:add", "tool:leave", "instructions"},
			[]string{"instructions", "tool:add", "tool:leave"}},
	} {
		only, err := s.Select(test.keys...)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range only.Items() {
			got = append(got, i.Key())
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q", test.keys, got)
		}
		again, err := Read(only.Canonical())
		if err != nil || again.Digest().String() != only.Digest().String() {
			t.Errorf("%q: %v, the canonical form of %q reads as another surface", test.keys, err, got)
		}
	}
}
