#!/usr/bin/env bash
# Runs every fuzz target of the module for a short time, one after another.
#
#   scripts/fuzz.sh [TIME]   default 10s for each
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
found=0
while IFS=: read -r file target; do
  found=$((found + 1))
  echo "fuzz: $target in $(dirname "$file") for $time"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -parallel 2 "./$(dirname "$file")"
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|^\./||; s/:[0-9]+:func /:/' | sort)
[[ $found -gt 0 ]] || { echo "fuzz: no targets found" >&2; exit 1; }
echo "fuzz: $found targets done"
