#!/usr/bin/env bash
# What becomes of the queue of a reuseport listener that is closed, without and
# with net.ipv4.tcp_migrate_req: in network namespaces of their own.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/close" ./chapters/runs/reuseport-close
for migrate in 0 1; do
	echo -n "tcp_migrate_req=$migrate: "
	unshare -rn bash -c "ip link set lo up; echo $migrate >/proc/sys/net/ipv4/tcp_migrate_req; $dir/close"
done
