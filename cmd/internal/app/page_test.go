package app

import (
	"slices"
	"testing"
)

// A text stops where the screen is full, and not for its last line or two.
func TestPageStops(t *testing.T) {
	for name, c := range map[string]struct {
		needs []int
		want  []int
	}{
		"nothing":           {nil, nil},
		"one screen":        {[]int{1, 1, 1, 1}, nil},
		"one line more":     {[]int{1, 1, 1, 1, 1}, nil},
		"two lines more":    {[]int{1, 1, 1, 1, 1, 1}, nil},
		"three lines more":  {[]int{1, 1, 1, 1, 1, 1, 1}, []int{4}},
		"two screens, one":  {[]int{1, 1, 1, 1, 1, 1, 1, 1, 1}, []int{4}},
		"three screens":     {[]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []int{4, 8}},
		"a long last line":  {[]int{1, 1, 1, 1, 3}, []int{4}},
		"longer than a row": {[]int{9, 1, 1, 1}, []int{1}},
		"wide, then few":    {[]int{3, 2}, nil},
	} {
		if got := findStops(c.needs, 4, fewRows); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := findStops([]int{1, 1, 1, 1, 1}, 4, 0); !slices.Equal(got, []int{4}) {
		t.Errorf("where the size is not known: %v", got)
	}
}
