#!/usr/bin/env bash
# Hurts a fleet of real processes and checks its promises: see
# cmd/browserfleet/internal/chaos.
#   tools/chaos.sh                       5 minutes, a random seed
#   tools/chaos.sh --seed 7 --duration 1h --keep
#   SEEDS='1 2 3' tools/chaos.sh         one run a seed; stops at the first broken one
# The program is built first, unless BROWSERFLEET names one.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${BROWSERFLEET:-}
if [[ -z $program ]]; then
	program=bin/browserfleet
	CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$program" ./cmd/browserfleet
fi
# Shells give up open files sparingly; three servers and 200 agents need some.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
if [[ -z ${SEEDS:-} ]]; then
	exec "$program" chaos "$@"
fi
for seed in $SEEDS; do
	echo "== seed $seed"
	"$program" chaos --seed "$seed" "$@"
done
