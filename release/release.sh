#!/usr/bin/env bash
# Builds all files of a published version in dist/, and tests them. `make release` calls it.
# With `image` it builds only the node agent's image for all platforms, and its digest.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${RELEASE:?a version such as v1.2.3}" "${REPOSITORY:?that of the image, such as ghcr.io/kubectl-upgrade/node-agent}"
created=$(TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
goreleaser=github.com/goreleaser/goreleaser/v2@v2.16.0

rm -rf dist && mkdir -p dist/charts
(cd release && CGO_ENABLED=0 go build -o ../bin/release .)
bin/release image --source . --version "$RELEASE" --revision "$(git rev-parse HEAD)" --created "$created" --out dist/node-agent | tee dist/digest
[ "${1-}" = image ] && exit

for arch in amd64 arm64; do
	programs=$(printf '%s,' dist/node-agent/node-agent_linux_"$arch" dist/node-agent/*_linux_"$arch")
	bin/release sbom --program "${programs%,}" --version "$RELEASE" --created "$created" --out "dist/node-agent_linux_$arch.cdx.json"
done
digest=$(cat dist/digest)
image="$REPOSITORY:$RELEASE@$digest"
bin/release install --manifests manifests --image "$image" --out dist/install.yaml
for cluster in management workload; do
	bin/release install --manifests "manifests/clusterapi/$cluster" --image "$image" --out "dist/clusterapi-$cluster.yaml"
done
(cd release/chart && go run . -root ../.. -version "$RELEASE" -digest "$digest" -out ../../dist/charts)
PATH="$PWD/bin:$PATH" RELEASE=$RELEASE CREATED=$created SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) go run "$goreleaser" release --snapshot --clean --parallelism 2
mkdir dist/plugin/krew # goreleaser has made dist/plugin anew
for name in upgrade flatcar-upgrade; do
	bin/release krew --template krew.yaml --checksums dist/plugin/checksums.txt --name "$name" --version "$RELEASE" --out "dist/plugin/krew/$name.yaml"
done
cd release
go build -o ../bin/ sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest github.com/google/go-containerregistry/cmd/crane
go test -count 1 -v -tags dist -skip 'TestImage$' ./...
