#!/usr/bin/env bash
# Prints what one worker of nginxref logs while it serves one request: the
# events only, without times and addresses in memory.
set -euo pipefail
dir=$(mktemp -d)
trap 'kill -TERM $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
port=$((20000 + RANDOM % 10000))
cat >"$dir/nginx.conf" <<CONF
daemon off; pid nginx.pid; error_log error.log debug_event;
worker_processes 2;
events { worker_connections 64; accept_mutex ${1:-off}; }
http { access_log off; server { listen 127.0.0.1:$port; location / { return 200 "hello\n"; } } }
CONF
go build -o "$dir/nginxref" ./nginxref
"$dir/nginxref" -p "$dir" -c nginx.conf -e error.log &
until curl -fs "http://127.0.0.1:$port/" >/dev/null; do sleep 0.1; done # it has started
sleep 1
: >"$dir/error.log"
curl -fs "http://127.0.0.1:$port/" >/dev/null
sleep 1
sed -E 's/^[^[]*\[(debug|info)\] [0-9#]+: //; s/ d:[0-9A-F]+//' "$dir/error.log"
kill -TERM $!
wait
