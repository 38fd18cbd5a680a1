#!/usr/bin/env bash
# Runs the command that is given, which is the tests, with `make lint` beside it: this is `make test`.
#
# Tests wait for processes and timers a part of their time, and the type checker fills it. What the linters say comes
# after the tests, where it is seen; if they fail first, one line says so at once.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report=$(mktemp)
trap 'rm -f "$report"' EXIT

lint() {
    make --no-print-directory lint >"$report" 2>&1 || { echo "lint: failed, see the end"; return 1; }
}

lint &
linting=$!
"$@"
tests=$?
wait "$linting"
linted=$?
cat "$report"
[ "$tests" -eq 0 ] && [ "$linted" -eq 0 ] || { echo "tests: exit code $tests; lint: exit code $linted" >&2; exit 1; }
