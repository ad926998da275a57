#!/usr/bin/env bash
# Stops each of 4 workers in turn (SIGSTOP) and asks for a page 10 times
# meanwhile: how many are answered within half a second.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill -TERM $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/nginxref" ./nginxref

try() { # name, accept_mutex, listen option
	local port=$((20000 + RANDOM % 10000)) text="" master answered
	cat >"$dir/nginx.conf" <<CONF
daemon off; pid nginx.pid; error_log error.log warn;
worker_processes 4;
events { worker_connections 64; accept_mutex $2; }
http { access_log off; server { listen 127.0.0.1:$port $3; location / { return 200 "hello\n"; } } }
CONF
	"$dir/nginxref" -p "$dir" -c nginx.conf -e error.log &
	master=$!
	until curl -fs "http://127.0.0.1:$port/" >/dev/null; do sleep 0.1; done
	for worker in $(pgrep -P $master); do
		answered=0
		kill -STOP "$worker"
		for _ in {1..10}; do
			curl -fs --max-time 0.5 "http://127.0.0.1:$port/" >/dev/null && answered=$((answered + 1)) || true
		done
		kill -CONT "$worker"
		sleep 1
		text+=$(printf '%4d' $answered)
	done
	printf '%-24s %s\n' "$1" "$text"
	kill -TERM $master
	wait $master || true
}

printf "%-24s %s\n" "answered, of 10" "   0   1   2   3  is the worker stopped"
try "accept_mutex on" on ""
try "accept_mutex off" off ""
try "listen ... reuseport" off reuseport
