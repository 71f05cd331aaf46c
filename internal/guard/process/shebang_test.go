package process

import (
	"slices"
	"strings"
	"testing"
)

// TestShebang reads the first lines of scripts.
func TestShebang(t *testing.T) {
	for _, x := range []struct {
		head string
		want []string
		ok   bool
	}{
		{"\x7fELF", nil, true},
		{"#!/bin/sh\n", []string{"/bin/sh"}, true},
		{"#! /bin/sh \t-e -x \n", []string{"/bin/sh", "-e -x"}, true},
		{"#!/usr/bin/env python3\n", []string{"python3"}, true},
		{"#!/usr/bin/env -S node --flag x\n", []string{"node", "--flag", "x"}, true},
		{"#!/usr/bin/env\n", []string{"/usr/bin/env"}, true},
		{"#!/usr/bin/env -i sh\n", nil, false},
		{"#!/usr/bin/env A=b sh\n", nil, false},
		{"#!/usr/bin/env -S sh -c 'x y'\n", nil, false},
		{"#!/usr/bin/env python3 -u\n", nil, false},
		{"#!\n", nil, false},
		{"#!/" + strings.Repeat("x", 300), nil, false},
	} {
		got, err := parseShebang(x.head)
		if !slices.Equal(got, x.want) || (err == nil) != x.ok {
			t.Errorf("%q: %q, %v", x.head, got, err)
		}
	}
}
