#!/usr/bin/env bash
# Prints what the processes of nginxref log, a master and two workers, while
# something happens to them. Processes have names instead of numbers.
#
#   kill      a worker is killed
#   stubborn  a worker is stopped, so that it obeys nobody, and the master is told to stop
#   reload    HUP, while a client has sent half a request
#   upgrade   USR2, WINCH, HUP, and QUIT to the new master: there and back
set -euo pipefail
scenario=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
port=$((20000 + RANDOM % 10000))
cat >"$dir/nginx.conf" <<CONF
pid nginx.pid; error_log error.log debug;
worker_processes 2;
events { worker_connections 64; accept_mutex off; }
http { access_log off; server { listen 127.0.0.1:$port; location / { return 200 "hello\n"; } } }
CONF
go build -o "$dir/nginxref" ./nginxref
"$dir/nginxref" -p "$dir" -c nginx.conf -e error.log
log=$dir/error.log

wait_for() { # a command that succeeds in the end
	for _ in {1..300}; do
		! eval "$1" || return 0
		sleep 0.1
	done
	echo "waited in vain for: $1" >&2
	return 1
}
answers() { curl -fs "http://127.0.0.1:$port/" >/dev/null; }
pid() { cat "$dir/$1" 2>/dev/null; }
count() { # of the workers of a master, whose child may be the new master too
	pgrep -P "$1" | grep -cvx "${new:-0}" || true
}
new=

wait_for answers
master=$(pid nginx.pid)
trap 'kill -KILL $(pgrep -P $master) $master 2>/dev/null || true; rm -rf "$dir"' EXIT
wait_for "[ \$(count $master) = 2 ]"
sleep 0.5
names="s/\\b$master\\b/master/g;"
letters=(A B C D E F G H)

# name gives the processes of the log their names, in the order of their start.
name() {
	local n=0 p
	for p in $(grep -oP 'start worker process \K\d+' "$log"); do
		names+="s/\\b$p\\b/worker ${letters[n]}/g;"
		n=$((n + 1))
	done
	for p in $(grep -oP 'start new binary process \K\d+' "$log"); do
		names+="s/\\b$p\\b/new master/g;"
	done
}
# show prints the log's lines that match, in two columns: who, and what.
show() {
	name
	sed -nE 's/^[^[]*\[[a-z]+\] ([0-9]+)#[0-9]+: /\1\t/p' "$log" | grep -vP '\tchild: |\tpass ' |
		grep -P "$1" | sed -E "$names s/worker process worker/worker process/g; s/process new master/process/g; s/ from [^ ]+\$//" |
		awk -F'\t' '{printf "%-11s %s\n", $1, $2}'
}

case $scenario in
kill)
	victim=$(pgrep -n -P "$master")
	grep 'start worker process' "$log" >"$log.before"
	: >"$log"
	kill -KILL "$victim"
	wait_for "grep -q 'start worker process' '$log'"
	cat "$log" >>"$log.before"
	mv "$log.before" "$log"
	show 'start worker|received|wake up|reap children|exited on'
	kill -TERM "$master"
	;;
stubborn)
	victim=$(pgrep -n -P "$master")
	kill -STOP "$victim"
	kill -TERM "$master"
	wait_for "! kill -0 $master 2>/dev/null"
	show "^$master\t(termination cycle|signal (14|15)|kill|worker process .* exited|exit)" | uniq
	;;
reload)
	exec 3<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET / HTTP/1.1\r\nHost: a\r\n' >&3
	sleep 0.5
	kill -HUP "$master"
	wait_for "[ \$(grep -c 'gracefully shutting down' '$log') = 2 ]"
	sleep 0.5
	echo "# the rest of the request is sent" | sed 's/^/2000\/01\/01 00:00:00 [notice] 0#0: /' >>"$log"
	printf '\r\n' >&3
	cat <&3 >/dev/null
	wait_for "[ \$(grep -c 'exited with code 0' '$log') = 2 ]"
	show 'start worker|HUP|reconfig|kill \(|gracefully|: exit$|exited with|\texit$|# ' | sed 's/^0 *#/#/'
	kill -TERM "$master"
	;;
upgrade)
	row='%-16s %-10s %-17s %-14s %-14s %s\n'
	step() {
		printf "$row" "$1" "$(who nginx.pid)" "$(who nginx.pid.oldbin)" "$(count "$master")" \
			"$([ -z "$new" ] && echo - || count "$new")" "$(answers && echo yes || echo no)"
	}
	who() {
		case $(pid "$1") in
		"") echo - ;;
		"$master") echo old ;;
		*) echo new ;;
		esac
	}
	printf "$row" "" nginx.pid nginx.pid.oldbin "old's workers" "new's workers" "served?"
	step started
	kill -USR2 "$master"
	wait_for "[ \$(cat $dir/nginx.pid 2>/dev/null || echo $master) != $master ]"
	new=$(pid nginx.pid)
	wait_for "[ \$(count $new) = 2 ]"
	step "USR2 to the old"
	kill -WINCH "$master"
	wait_for "[ \$(count $master) = 0 ]"
	step "WINCH to the old"
	kill -HUP "$master"
	wait_for "[ \$(count $master) = 2 ]"
	step "HUP to the old"
	kill -QUIT "$new"
	wait_for "[ \$(cat $dir/nginx.pid 2>/dev/null || echo 0) = $master ]"
	wait_for "! kill -0 $new 2>/dev/null"
	new=
	step "QUIT to the new"
	kill -TERM "$master"
	;;
esac
wait_for "! kill -0 $master 2>/dev/null"
