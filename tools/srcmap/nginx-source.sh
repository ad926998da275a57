#!/usr/bin/env bash
# Gets the nginx release that the gutters are numbered for, as Debian's source
# package has it, and prints the directory of the unpacked source:
#
#	export NGINX_SRC=$(tools/srcmap/nginx-source.sh [DIR])
#
# DIR, the place to unpack in, is a new temporary directory if not given. It
# needs apt-get, but no root and no change to the system: package lists and
# archives go to DIR as well. If the source cannot be had it says why and exits
# with 1; any other copy of the same release will do for NGINX_SRC.
set -euo pipefail

fail() {
	echo "nginx-source.sh: $*" >&2
	exit 1
}

release=$(sed -n 's/^release //p' "$(dirname "$0")/map.txt")
command -v apt-get >/dev/null || fail "no apt-get here: get nginx-$release.tar.gz from nginx.org"
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"/apt/{parts,lists/partial,archives/partial}

# The system's own repositories, but their sources.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ -e "$list" ] || continue
	sed -n 's/^deb\(-src\)\?[[:space:]]/deb-src /p' "$list" >>"$dir/apt/parts/source.list"
done
for list in /etc/apt/sources.list.d/*.sources; do
	[ -e "$list" ] || continue
	sed 's/^Types:.*/Types: deb-src/' "$list" >"$dir/apt/parts/$(basename "$list")"
done

apt() {
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$dir/apt/parts" \
		-o Dir::State::lists="$dir/apt/lists" -o Dir::Cache="$dir/apt" -o APT::Sandbox::User= "$@"
}

apt apt-get update >"$dir/apt/log" 2>&1 || fail "apt-get update failed: $(tail -n 1 "$dir/apt/log")"
version=$(apt apt-cache showsrc nginx 2>/dev/null | sed -n "s/^Version: \($release-.*\)/\1/p" | sort -V | tail -n 1)
[ -n "$version" ] || fail "this system's repositories have no source of nginx $release"
(cd "$dir" && apt apt-get source --tar-only --download-only "nginx=$version") >"$dir/apt/log" 2>&1 ||
	fail "apt-get source nginx=$version failed: $(tail -n 1 "$dir/apt/log")"
tar -xf "$dir/nginx_$release.orig.tar.gz" -C "$dir"
[ -d "$dir/nginx-$release/src" ] || fail "the package has no nginx-$release in it"
echo "$dir/nginx-$release"
