#!/usr/bin/env bash
# Counts the calls about sockets that the master makes while its workers answer
# 100 requests, each on a connection of its own: accept4, sendmsg, recvmsg and
# the like. Of nginxref, and of nginx where there is one. Needs strace.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill -TERM $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -o "$dir/nginxref" ./nginxref

try() {
	local port=$((20000 + RANDOM % 10000)) master tracer served=0
	cat >"$dir/nginx.conf" <<CONF
daemon off; pid nginx.pid; error_log error.log warn;
worker_processes 2;
events { worker_connections 64; }
http { access_log off; server { listen 127.0.0.1:$port; location / { return 200 "hello\n"; } } }
CONF
	"$1" -p "$dir" -c nginx.conf -e error.log 2>/dev/null &
	master=$!
	until curl -fs "http://127.0.0.1:$port/" >/dev/null 2>&1; do sleep 0.1; done
	strace -f -qq -e trace=%network -o "$dir/calls" -p $master 2>/dev/null &
	tracer=$!
	until grep -q "^TracerPid:.*[1-9]" /proc/$master/status; do sleep 0.1; done
	for _ in {1..100}; do
		curl -fs "http://127.0.0.1:$port/" >/dev/null && served=$((served + 1))
	done
	printf '%-9s served: %d   calls of the master: %d\n' "$(basename "$1")" $served "$(grep -vc ' --- \| +++ ' "$dir/calls" || true)"
	kill -INT $tracer
	wait $tracer || true
	kill -TERM $master
	wait $master || true
}

for program in "$dir/nginxref" "$(command -v nginx || true)"; do
	[ -z "$program" ] || try "$program"
done
