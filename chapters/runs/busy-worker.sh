#!/usr/bin/env bash
# Keeps one of 4 workers from its loop for 200 ms at a time, as a slow handler
# would, and asks for a page 300 times: how many answers take over 100 ms.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill -TERM $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/nginxref" ./nginxref

try() { # name, listen option
	local port=$((20000 + RANDOM % 10000)) master worker busy slow
	cat >"$dir/nginx.conf" <<CONF
daemon off; pid nginx.pid; error_log error.log warn;
worker_processes 4;
events { worker_connections 64; }
http { access_log off; server { listen 127.0.0.1:$port $2; location / { return 200 "hello\n"; } } }
CONF
	"$dir/nginxref" -p "$dir" -c nginx.conf -e error.log &
	master=$!
	until curl -fs "http://127.0.0.1:$port/" >/dev/null; do sleep 0.1; done
	worker=$(pgrep -P $master | head -1)
	while kill -STOP "$worker" && sleep 0.2 && kill -CONT "$worker"; do sleep 0.01; done 2>/dev/null &
	busy=$!
	slow=$(for _ in {1..300}; do curl -fs -o /dev/null -w '%{time_total}\n' "http://127.0.0.1:$port/"; done |
		awk '$1 > 0.1 { n++ } END { print n + 0 }')
	kill $busy
	wait $busy 2>/dev/null || true
	kill -CONT "$worker"
	printf '%-24s %3d of 300 over 100 ms\n' "$1" "$slow"
	kill -TERM $master
	wait $master || true
}

try "accept_mutex off" ""
try "listen ... reuseport" reuseport
