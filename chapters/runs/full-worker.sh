#!/usr/bin/env bash
# 4 workers with 100 connections each, and 200 clients that come 20 ms apart,
# send half a request and stay. What does each worker hold, and how many
# clients are turned away? Of nginxref, and of nginx where there is one. GAP is
# another distance, in seconds, and DELAY another accept_mutex_delay.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill -TERM $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/nginxref" ./nginxref

try() { # program, accept_mutex
	local port=$((20000 + RANDOM % 10000)) fds=() fd held
	cat >"$dir/nginx.conf" <<CONF
daemon off; pid nginx.pid; error_log error.log debug_event;
worker_processes 4;
events { worker_connections 100; accept_mutex $2; accept_mutex_delay ${DELAY:-500ms}; }
http { access_log off; server { listen 127.0.0.1:$port; location / { return 200 "hello\n"; } } }
CONF
	"$1" -p "$dir" -c nginx.conf -e error.log 2>/dev/null &
	until curl -fs "http://127.0.0.1:$port/" >/dev/null 2>&1; do sleep 0.1; done
	sleep 1
	: >"$dir/error.log"
	for _ in {1..200}; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port"
		printf 'GET / HTTP/1.0\r\n' >&$fd || true
		fds+=($fd)
		sleep "${GAP:-0.02}"
	done
	sleep 1
	held=$(grep -oP '\d+(?=#\d+: \*\d+ accept: )' "$dir/error.log" | sort | uniq -c | awk '{print $1}' | sort -rn | paste -sd' ')
	printf '%-9s accept_mutex %-4s held by each worker that has any: %-14s turned away: %d\n' \
		"$(basename "$1")" "$2" "$held" "$(grep -c 'worker_connections are not enough' "$dir/error.log" || true)"
	for fd in "${fds[@]}"; do exec {fd}>&-; done
	kill -TERM $!
	wait $! || true
}

for program in "$dir/nginxref" "$(command -v nginx || true)"; do
	[ -z "$program" ] || for mutex in on off; do try "$program" $mutex; done
done
