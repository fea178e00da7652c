#!/usr/bin/env bash
# Writes pkg/schedule/zones.txt from Debian's newest package tzdata. `make tzdata` calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/pkg/schedule/zones.txt
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -q update >&2
apt-get -q download tzdata >&2
dpkg-deb -x tzdata_*.deb .
source=usr/share/zoneinfo/tzdata.zi
/usr/sbin/zic -b slim -d compiled "$source"
declare -A first
{
	sed -n '1s/^# version /version /p' "$source"
	cd compiled
	find . -type f -printf '%P\n' | LC_ALL=C sort | while read -r name; do
		data=$(base64 -w 0 "$name")
		if [ -n "${first[$data]-}" ]; then
			echo "$name =${first[$data]}"
		else
			first[$data]=$name
			echo "$name $data"
		fi
	done
} >"$out"
