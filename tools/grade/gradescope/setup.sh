#!/usr/bin/env bash
# Prepares the image, once, as root: brings Go, builds the grader, and grades the
# unwritten labs, so that the image is known to work and everything but a
# student's files is compiled. Another directory than /autograder may be given,
# to try it elsewhere.
set -euo pipefail
source=${1:-/autograder}/source
go={{.Go}}

export PATH=/usr/local/go/bin:$PATH GOTOOLCHAIN=local
export GOCACHE=$source/cache/build GOMODCACHE=$source/cache/mod GOFLAGS=-modcacherw

if [ "$(go env GOVERSION 2>/dev/null)" != "$go" ]; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends ca-certificates curl
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64) arch=arm64 ;;
	*) echo "no Go for $(uname -m) here" >&2 && exit 1 ;;
	esac
	rm -rf /usr/local/go
	curl -fsSL --retry 5 "https://go.dev/dl/$go.linux-$arch.tar.gz" | tar -C /usr/local -xz
fi
go version

cd "$source/herd"
CGO_ENABLED=0 go build -trimpath -o "$source/grade" ./tools/grade
"$source/grade" -all . || [ $? = 1 ] # 1: not all passed
