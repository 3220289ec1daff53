#!/usr/bin/env bash
# Runs every fuzz target of the module for a time: tools/fuzz.sh 15s
# What it finds is kept by go in the package's testdata/fuzz: commit it with the
# mend, it is the test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-15s}

grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . >/dev/null || { echo 'no fuzz targets' >&2; exit 1; }
grep -rlE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort | while read -r file; do
	package=$(dirname "$file")
	for target in $(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //'); do
		echo "== $package $target"
		"${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
