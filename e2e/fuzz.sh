#!/bin/sh
# Runs every fuzz target of the module for $FUZZTIME each (default 10s), one
# after another; a target that finds something ends the run with its input.
set -eu

time=${FUZZTIME:-10s}
listing=$(go test -list '^Fuzz' ./...) || { echo "$listing" >&2; exit 1; }
targets=$(echo "$listing" | awk '
	/^Fuzz/ { names = names " " $1 }
	/^ok/   { split(names, n, " "); for (i = 1; i in n; i++) print $2, n[i]; names = "" }')
if [ -z "$targets" ]; then
	echo "fuzz: no target" >&2
	exit 1
fi
echo "$targets" | while read -r package name; do
	echo "fuzz: $package $name for $time"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" </dev/null
done
