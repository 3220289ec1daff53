#!/usr/bin/env bash
# Plays every property test with a seed that nobody has tried: tools/soak.sh 20000
# The tests of a package share a seed, which is printed; a package that fails says
# how it is played again, and the others are played all the same. Rapid stops by
# itself before the -timeout is over, so TIME is the most that a package takes.
# The fleet's model has a harness of its own: make model.
set -euo pipefail
cd "$(dirname "$0")/.."
checks=${1:-20000}
time=${TIME:-10m}
only=${PACKAGES:-.}

property_tests() { # of the files given, as a regular expression for -run
	awk '/^func Test/ { name = $2; sub(/\(.*/, "", name) }
		/rapid\.(Check|MakeCheck)\(/ { all = all "|" name }
		END { print "^(" substr(all, 2) ")$" }' "$@"
}

failed=()
for package in $(grep -rl --include='*_test.go' 'rapid\.\(Check\|MakeCheck\)(' . | xargs -n 1 dirname | sort -u); do
	[[ $package != ./internal/fleetmodel && $package =~ $only ]] || continue
	tests=$(property_tests "$package"/*_test.go)
	seed=${SEED:-$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')}
	echo "== $package: seed $seed, $checks checks of ${tests//[\^\$()]/}"
	"${GO:-go}" test "$package" -count=1 -timeout "$time" -run "$tests" -args \
		-rapid.seed "$seed" -rapid.checks "$checks" -rapid.nofailfile || failed+=("$package with seed $seed")
done
if ((${#failed[@]})); then
	printf 'FAILED: %s\n' "${failed[@]}"
	exit 1
fi
