#!/usr/bin/env bash
# Runs NAME of runs.txt on new real clusters, and builds or installs the programs that it needs
# beside the product. `make e2e-NAME` calls it, with CASE, FORCE, DURATION, SEED and KURED.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
read -r name limit tests _ < <(grep "^$1 " lab/e2e/runs.txt) || { echo "lab/e2e/runs.txt has no run $1" >&2; exit 2; }

# Debian's Prometheus cannot discover objects of Kubernetes. The operator's module has the definitions of its custom resources.
prometheus=github.com/prometheus/prometheus@v0.310.0
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
# module prints the folder of a downloaded module.
module() { go mod download "$1" && go list -m -f '{{.Dir}}' "$1"; }
debian() { dpkg -s "$1" >/dev/null 2>&1 || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1"; }; }

case $name in
install)
	(cd release && CGO_ENABLED=0 go build -o "$root/bin/release" .)
	GOBIN=$root/bin go install helm.sh/helm/v4/cmd/helm@v4.3.2
	rm -rf dist/charts && make --no-print-directory chart VERSION=v0.0.0-lab
	;;
self)
	export FORMER=$root/bin/former
	rm -rf dist/charts
	make --no-print-directory former
	make --no-print-directory -C "$FORMER" image chart VERSION=v0.0.0-former IMAGE=ghcr.io/kubectl-upgrade/node-agent:former
	GOBIN=$root/bin go install helm.sh/helm/v4/cmd/helm@v4.3.2
	make --no-print-directory chart VERSION=v0.0.0-lab
	;;
flatcar)
	debian ignition
	(cd test/othertools && go build -o "$root/bin/butane" github.com/coreos/butane/internal && go build -o "$root/bin/capi-ignition" ./capi/ignition)
	tests=$tests/${CASE-}
	;;
capi | class)
	debian ignition
	(cd cmd/capi-extension && CGO_ENABLED=0 go build -o "$root/bin/capi-extension" .)
	;;
fleet) go build -o "$root/bin/play" ./test/play ;;
staging) debian nginx-light ;;
gates) debian prometheus ;;
notices) debian prometheus-alertmanager ;;
speed)
	tests=$tests${CASE:+$CASE\$}
	for name in KURED SUC; do [ -z "${!name-}" ] || export $name="$(realpath "${!name}")"; done
	name=speed
	;;
prometheus)
	(cd "$(module $prometheus)" && GOWORK=off CGO_ENABLED=0 go build -tags remove_all_sd,enable_kubernetes_sd -ldflags '-s -w' -o "$root/bin/prometheus" ./cmd/prometheus)
	PROMETHEUS_OPERATOR=$(module $operator)
	export PROMETHEUS_OPERATOR
	;;
kured) KURED=$(realpath "${KURED:?the path of kured\'s program}") && export KURED ;;
esac

# What the tests read.
export FAULT_CASES=${CASE-} FAULT_FORCE=${FORCE-} MATRIX_CASES=${CASE-} SOAK_DURATION=${DURATION:-1h} SOAK_SEED=${SEED-}
export RELIABILITY=$root/lab/results/reliability.md COMPATIBILITY=$root/lab/results/compatibility.md SOAK_PAGE=$root/lab/results/soak.md
[ "$name" != zoo ] || export RELIABILITY=$root/lab/results/nodes.md
[ "$name" != clusters ] || export RELIABILITY=$root/lab/results/clusters.md
export CLUSTER_API_PAGE=$root/lab/results/clusterapi.md
export VIRTUAL_OUT=$root/bin/e2e-$name CGO_ENABLED=0
cd lab
go run gotest.tools/gotestsum@v1.13.0 --format standard-verbose --hide-summary=skipped -- -tags e2e -count 1 -timeout "$limit" -run "$tests" ./e2e/...
