#!/usr/bin/env bash
# Runs the checks of the labs on nginx's own way, which is among the wrong
# answers that they have to find, and says which check found it.
set -euo pipefail
for lab in lab01-shmtx lab03-acceptmutex lab05-balance lab06-exclusive lab07-reuseport lab09-master lab10-reload; do
	mutants=solutions/$lab/mutants_test.go
	grep -A1 -E 'Name: +"(nginx.*|the lease never ends|100 ms, however long it takes)"' "$mutants" |
		sed -nE 's/.*"(.*)".*/\1/p' | while read -r name && read -r check; do
		test=$(printf '%s' "$name" | tr ' ' '_')
		go test -count=1 "./solutions/$lab" -run "TestMutants/^$test\$" -v | grep -- "--- PASS: TestMutants/" >/dev/null ||
			{ echo "$lab: $name: not found" >&2; exit 1; }
		printf '%s: %s\n    found by %s\n' "$lab" "$name" "$check"
	done
done
