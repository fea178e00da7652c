#!/usr/bin/env bash
# Records `kubectl upgrade apply VERSION`, which a person confirms, on the cluster of KUBECONFIG: a
# lab with kubectl-upgrade whose source offers a patch. It needs `make build`, and asciinema, termtosvg and jq of Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${KUBECONFIG:?that of a lab with kubectl-upgrade, as lab/README.md installs it}"
screen="kubectl upgrade apply ${1:?the version, such as v1.34} --ignore-windows"
PATH="$PWD/bin:$KUBE_ASSETS:$PATH" TZ=UTC TERM=xterm-256color asciinema rec --overwrite --cols 112 --rows 24 -c "echo '\$ $screen'; exec $screen" docs/images/screen.cast
# The picture begins with the first screen that is redrawn, eight times faster.
jq -cs '([.[1:][] | select(.[2] | contains("\u001b[?1049h"))][0][0] // 1e9) as $from
	| .[0], (.[1:][] | .[0] |= if . > $from then $from + (. - $from) / 8 else . end)' docs/images/screen.cast >bin/screen.cast
/usr/bin/termtosvg render bin/screen.cast docs/images/screen.svg --min-frame-duration 350 --loop-delay 4000 --template gjm8
