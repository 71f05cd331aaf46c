#!/bin/sh
# Runs govulncheck over the module. What it finds fails; so does code that it
# cannot load. Its database is fetched from the network: where that cannot be
# reached nothing was checked, which is said plainly and is no failure.
set -u

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
go tool -modfile=tools/go.mod govulncheck ./... >"$log" 2>&1
code=$?
cat "$log"
if [ $code -eq 1 ] && grep -q '^govulncheck: fetching vulnerabilities: ' "$log"; then
	echo "lint: NOT CHECKED for known vulnerabilities: the database cannot be reached from here" >&2
	exit 0
fi
exit $code
