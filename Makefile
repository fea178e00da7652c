# `make` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash -o pipefail

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
IMAGE   ?= ghcr.io/kubectl-upgrade/node-agent:dev
# The nodes' architecture, amd64 or arm64. What is built for another than this machine's is in bin/ARCH.
ARCH    ?= $(shell go env GOARCH)
CROSS   := $(if $(filter-out $(shell go env GOARCH),$(ARCH)),$(ARCH)/)
LDFLAGS := -s -w -X main.version=$(VERSION)
# The programs in the container image; the first is its entrypoint.
PROGRAMS := node-agent agent coordinator
# Modules of their own; lab and release are built with these tags.
MODULES := lab release release/chart test/oldest test/othertools
TAGS    := e2e,dist
GO      := GOFLAGS="$(GOFLAGS) -buildvcs=false -trimpath" go

GOTESTSUM  := $(GO) run gotest.tools/gotestsum@v1.13.0 --format pkgname-and-test-fails --hide-summary=skipped
GOLANGCI   := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run
ACTIONLINT := $(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.16.0
BENCHSTAT  := $(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# The real API server that tests use is built into the lab's cache.
KUBERNETES := v1.34.3
export LAB_CACHE   ?= /var/cache/kubectl-upgrade-lab
export KUBE_ASSETS ?= $(LAB_CACHE)/assets-$(KUBERNETES)

# Debian packages with programs that the lab, and tests of the lab, call.
PACKAGES      := ca-certificates mmdebstrap systemd-container squashfs-tools iproute2 iptables util-linux procps gnupg e2fsprogs
TEST_PACKAGES := btrfs-progs dosfstools nftables
# install installs those of the Debian packages $(1) that are missing.
install = @dpkg -s $(1) >/dev/null 2>&1 || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); }

##@ Use it

.PHONY: demo build image chart packages lab
demo: packages lab image ## Show an automatic patch of a real cluster on this machine (root; about 15 minutes the first time)
	bin/lab demo --image bin/node-agent.tar

build: ## Build bin/kubectl-upgrade, and the programs of the container image
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

image: build lab ## Build the container image bin/node-agent.tar, with no container engine; ARCH=arm64 builds bin/arm64/node-agent.tar
	$(if $(CROSS),CGO_ENABLED=0 GOARCH=$(ARCH) $(GO) build -ldflags '$(LDFLAGS)' -o bin/$(CROSS) $(PROGRAMS:%=./cmd/%))
	bin/lab build-image $(PROGRAMS:%=--binary bin/$(CROSS)%) --ref $(IMAGE) --out bin/$(CROSS)node-agent.tar

chart: ## Package the Helm chart into dist/charts/ (docs/install.md); VERSION and DIGEST select the image
	cd release/chart && $(GO) run . -root ../.. -version '$(VERSION)' -digest '$(DIGEST)' -out '$(abspath dist/charts)'

packages: ## Install the Debian packages that the lab needs (root)
	$(call install,$(PACKAGES))

lab: ## Build bin/lab, which makes real nodes on this machine (see lab/README.md)
	cd lab && CGO_ENABLED=0 $(GO) build -o ../bin/lab . && CGO_ENABLED=0 $(GO) build -o ../bin/lab-web ./web && CGO_ENABLED=0 $(GO) build -o ../bin/lab-update-engine ./updateengine

##@ Check it

# These start no goroutine, which test/purity checks: the race detector would only make their long tests ten times slower.
WITHOUT_RACE := ./pkg/cluster/plan ./pkg/schedule

.PHONY: check test lint assets generate docs-check docs test-docs docs-screen test-rules test-report test-sysupdate test-apiservers
check: ## Tests that need no root, no API server and no node, vet and formatting (about two minutes)
	$(GO) vet ./...
	@test -z "$$(gofmt -l cmd lab pkg release test | tee /dev/stderr)"
	SEEDS=100 $(GOTESTSUM) -- -short ./...

test: assets ## Unit tests, and tests on a real API server and a real systemd (root: builds them into a cache first)
	$(call install,$(TEST_PACKAGES))
	NODE_ROOTFS="$$(readlink -f $(KUBE_ASSETS)/root)" $(GOTESTSUM) -- -race -count 1 -tags integration ./pkg/node/host ./pkg/node/sysupdate
	for module in $(MODULES); do (cd $$module && $(GOTESTSUM) -- $(if $(filter lab,$$module),-race) -timeout 30m ./...) || exit; done
	$(GOTESTSUM) -- -timeout 30m $(WITHOUT_RACE)
	$(GOTESTSUM) -- -race -timeout 30m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(WITHOUT_RACE))")
	$(GO) test -count 1 -timeout 30m ./test/sim

lint: ## Linters, formatting, and a check that generated files are up to date
	$(GOLANGCI) ./...
	$(GOLANGCI) --build-tags integration ./pkg/node/host ./pkg/node/sysupdate
	$(GOLANGCI) --build-tags prometheus,browser,fleet ./test/monitoring ./pkg/plugin/report/page ./pkg/node/agent ./test/fleetbench
	for module in $(MODULES); do (cd $$module && $(GOLANGCI) --build-tags $(TAGS) ./...) || exit; done
	$(ACTIONLINT)
	$(MAKE) --no-print-directory generate
	@git diff --exit-code -- pkg/api manifests docs || { echo 'generated files are stale: commit what `make generate` wrote' >&2; exit 1; }

assets: packages lab ## Build the API server, etcd and node that tests need, into the lab's cache
	bin/lab assets --version $(KUBERNETES) --out $(KUBE_ASSETS)

generate: ## Update deep copies, CRDs, and the generated parts of docs
	$(GO) tool controller-gen object crd paths=./pkg/api/... output:crd:dir=manifests/crd output:object:dir=pkg/api/v1alpha1
	$(GO) generate ./...

docs-check: assets ## Check every page: links and anchors, commands and their flags, objects, and the scripts that some pages show
	$(GO) test -count 1 ./test/doclinks
	$(MAKE) --no-print-directory docs
	cd test/othertools && $(GO) test -count 1 ./...
	$(GO) test -count 1 -run 'Page|Documented|TestScripts/(gitops|install|commands)' ./pkg/plugin/cli ./pkg/api/v1alpha1 ./pkg/cluster/source ./pkg/api/apidoc ./pkg/cluster/metrics ./pkg/cluster/preflight

docs: ## Build the website of these pages, with a search, in bin/site, and check each link; VERSION names its folder (root: installs MkDocs)
	$(call install,mkdocs mkdocs-material python3-pymdownx)
	SITE=bin/site/$(RELEASE) COMMIT=$$(git rev-parse HEAD) /usr/bin/mkdocs build --strict

# Where the browser tests' npm packages are.
BROWSER := $(LAB_CACHE)/browser
define browser
$(call install,chromium fonts-dejavu-core)
command -v npm >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm; }
mkdir -p $(BROWSER) && cp pkg/plugin/report/page/browser/* release/site/site.mjs $(BROWSER)/ && cd $(BROWSER) && npm ci --silent --no-audit --no-fund --ignore-scripts
endef
test-docs: docs ## The website in a real Chromium: axe, search, dark and light, a phone (root: installs as test-report); PAGES=REGEX opens only those
	$(browser)
	cd $(BROWSER) && node site.mjs $(abspath bin/site)/$(RELEASE) '$(PAGES)'

TO ?= v1.34
SCREEN = kubectl upgrade apply $(TO) --ignore-windows
docs-screen: build ## Record `kubectl upgrade apply TO` (v1.34), which you confirm, on the cluster of KUBECONFIG, a lab whose source offers a patch (root: installs asciinema)
	$(if $(KUBECONFIG),,$(error KUBECONFIG is missing: that of a lab with kubectl-upgrade, as lab/README.md installs it))
	$(call install,asciinema)
	PATH="$(abspath bin):$(KUBE_ASSETS):$$PATH" TZ=UTC TERM=xterm-256color asciinema rec --overwrite --cols 112 --rows 24 -c 'echo "$$ $(SCREEN)"; exec $(SCREEN)' docs/images/screen.cast
	$(MAKE) --no-print-directory docs/images/screen.svg

docs/images/screen.svg: docs/images/screen.cast # from the first screen that is redrawn, eight times faster
	$(call install,termtosvg jq)
	jq -cs '([.[1:][] | select(.[2] | contains("\u001b[?1049h"))][0][0] // 1e9) as $$from | .[0], (.[1:][] | .[0] |= if . > $$from then $$from + (. - $$from) / 8 else . end)' $< >bin/screen.cast
	/usr/bin/termtosvg render bin/screen.cast $@ --min-frame-duration 350 --loop-delay 4000 --template gjm8

test-rules: ## Unit tests of the Prometheus rules and alerts, with promtool (root: installs Debian's Prometheus)
	$(call install,prometheus)
	promtool check rules manifests/monitoring/rules.yaml
	promtool test rules test/monitoring/testdata/rules_test.yaml

test-report: ## Reports in a real Chromium, with axe (root: installs Debian's, and two npm packages); PICTURES=1 only takes those of the docs
	$(browser)
	BROWSER=$(BROWSER) $(GO) test -count 1 -tags browser -v -run TestBrowser ./pkg/plugin/report/page $(if $(PICTURES),-pictures)

test-sysupdate: packages lab ## Staging beside other runs of systemd-sysupdate, with those of systemd 254, 257 and Debian sid's (root)
	for base in bookworm-backports trixie sid; do \
		export NODE_ROOTFS="$$(bin/lab rootfs $$base)"; test -n "$$NODE_ROOTFS" || exit 1; \
		$(GO) test -count 1 -v -tags integration -run TestOtherRuns ./pkg/node/sysupdate || exit 1; \
		$(GOTESTSUM) -- -count 1 -tags integration ./pkg/node/sysupdate || exit 1; \
	done

# The oldest and the newest minor that manifests/ and the chart are tested with.
APISERVERS ?= v1.32.2 v1.36.1
test-apiservers: packages lab ## Ask the API servers of APISERVERS to accept manifests/ and the chart (root: builds them into a cache first)
	@set -e; for version in $(APISERVERS); do \
		bin/lab assets --version $$version --out $(LAB_CACHE)/programs-$$version; \
		(cd release/chart && KUBE_ASSETS=$(LAB_CACHE)/programs-$$version $(GO) test -count 1 -v -run 'TestServerAccepts|TestKustomize' .); \
	done

.PHONY: sim sim-bugs fuzz
SEEDS ?= 2000
sim: ## Simulate SEEDS clusters with random faults, from FIRST (docs/simulator.md); SEED=n tells the story of one
	cd test/sim && SEED=$(SEED) SEEDS=$(SEEDS) FIRST=$(FIRST) $(GO) test -count 1 -timeout 0 -v -run '$(if $(SEED),TestSeed,TestPromises)$$' . | grep --line-buffered -vE '^ *(=== |--- PASS|PASS)'

BUGS ?= all
sim-bugs: ## Put bugs into copies of the source, and check that simulated clusters catch each (about 30 minutes)
	cd test/sim && BUGS="$(BUGS)" $(GO) test -count 1 -timeout 0 -v -run 'TestBugs$$' . | grep --line-buffered -vE '^ *(=== |PASS)'

# Go fuzzes one function of one package at a time.
FUZZTIME ?= 5s
fuzz: ## Fuzz each parser of untrusted text, for FUZZTIME (5s) each
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' pkg | sed 's/func //' | while IFS=: read -r file target; do \
		echo "$$file $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" || exit; \
	done

##@ End to end, on new real clusters (root)

# What the tests of lab/e2e read.
export FAULT_CASES  = $(CASE)
export FAULT_FORCE  = $(FORCE)
export MATRIX_CASES = $(CASE)
export RELIABILITY  = $(abspath lab/results/reliability.md)
export COMPATIBILITY = $(abspath lab/results/compatibility.md)
export SOAK_PAGE    = $(abspath lab/results/soak.md)
export SOAK_DURATION = $(or $(DURATION),1h)
export SOAK_SEED    = $(SEED)
# Debian's Prometheus cannot discover objects of Kubernetes. The operator's module has the definitions of its custom resources.
PROMETHEUS := github.com/prometheus/prometheus@v0.310.0
OPERATOR   := github.com/prometheus-operator/prometheus-operator@v0.85.0
# module prints the folder of the downloaded module $(1).
module = $(GO) mod download $(1) && $(GO) list -m -f '{{.Dir}}' $(1)

.PHONY: e2e e2e-metrics
e2e: e2e-patch ## The run `patch` of lab/e2e/runs.txt: a patch, and what may stop it (about 20 minutes)

# A run needs the image of the programs; CASE selects in those runs that say so.
e2e-%: packages lab image
	@read -r name limit tests _ < <(grep '^$* ' lab/e2e/runs.txt) || { echo 'lab/e2e/runs.txt has no run $*' >&2; exit 2; }; \
	cd lab && CGO_ENABLED=0 VIRTUAL_OUT=$(abspath bin/e2e-$*) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout "$$limit" -run "$${tests}$(CASE_OF_$*)" ./e2e/...

CASE_OF_speed   = $(if $(CASE),$(CASE)$$)
CASE_OF_flatcar = /$(CASE)
e2e-install: bin/install-tools
e2e-flatcar: bin/flatcar-tools
e2e-prometheus: bin/prometheus
e2e-prometheus: export PROMETHEUS_OPERATOR = $(shell $(call module,$(OPERATOR)))
e2e-kured: export KURED := $(abspath $(KURED))
e2e-soak: LDFLAGS := -X main.version=$(VERSION) # with debug information: goroutines are counted from outside
e2e-staging: bin/staging-tools

.PHONY: bin/install-tools bin/flatcar-tools bin/staging-tools
bin/install-tools:
	cd release && CGO_ENABLED=0 $(GO) build -o ../bin/release .
	GOBIN=$(abspath bin) $(GO) install helm.sh/helm/v3/cmd/helm@v3.22.0
	rm -rf dist/charts && $(MAKE) --no-print-directory chart VERSION=v0.0.0-lab
bin/flatcar-tools:
	$(call install,ignition)
	cd test/othertools && $(GO) build -o ../../bin/butane github.com/coreos/butane/internal && $(GO) build -o ../../bin/capi-ignition ./capi/ignition
bin/staging-tools:
	$(call install,nginx-light)
bin/prometheus: Makefile
	dir="$$($(call module,$(PROMETHEUS)))" && cd "$$dir" && GOWORK=off CGO_ENABLED=0 $(GO) build -tags remove_all_sd,enable_kubernetes_sd -ldflags '-s -w' -o $(abspath $@) ./cmd/prometheus

e2e-metrics: assets build test-rules ## A real Prometheus and Alertmanager with a real coordinator: metrics, alerts, dashboard (about 5 minutes)
	$(call install,prometheus prometheus-alertmanager)
	COORDINATOR=$(abspath bin/coordinator) $(GOTESTSUM) --format standard-verbose -- -tags prometheus -count 1 ./test/monitoring

##@ Measure it

.PHONY: bench bench-fleet bench-memory
BENCH ?= .
bench: ## Go benchmarks, beside the last run in the repository; BENCH=REGEX selects, SAVE=1 replaces that
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count 6 $$(grep -rl '^func Benchmark' --include='*_test.go' pkg | xargs -n 1 dirname | sort -u | sed 's|^|./|') >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	$(BENCHSTAT) last=lab/results/bench.txt now=bin/bench.txt
	$(if $(SAVE),cp bin/bench.txt lab/results/bench.txt)

NODES ?= 50,500,5000
IDLE  ?= 10m
bench-fleet: assets build ## Measure fleets of NODES (50,500,5000) pretended nodes on a real API server (root; hours)
	$(GO) test -c -tags fleet -o bin/fleet ./pkg/node/agent
	NODES='$(NODES)' IDLE='$(IDLE)' COORDINATOR=$(abspath bin/coordinator) PLUGIN=$(abspath bin/kubectl-upgrade) FLEET_PROGRAM=$(abspath bin/fleet) \
		$(GOTESTSUM) --format standard-verbose -- -tags fleet -count 1 -timeout 0 -run 'TestFleet$$' ./test/fleetbench

bench-memory: assets ## Memory of an agent and of a coordinator on a real API server with 500 nodes (root)
	$(GO) test -run '^$$' -bench Memory -benchtime 1x ./test/memory

##@ Publish it

.PHONY: release release-image clean help
# What `make release` builds: a tag's version, or v0.0.0-gCOMMIT where there is no tag yet.
RELEASE := $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-g$(VERSION))
CREATED  = $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
KUBECTL ?= $(KUBE_ASSETS)/kubectl

release: release-image ## Build and test all files of a published version in dist/, and publish nothing; VERSION=v1.2.3
	for arch in amd64 arm64; do bin/release sbom --program dist/node-agent/agent_linux_$$arch,dist/node-agent/coordinator_linux_$$arch,dist/node-agent/node-agent_linux_$$arch --version $(RELEASE) --created $(CREATED) --out dist/node-agent_linux_$$arch.cdx.json || exit; done
	bin/release install --manifests manifests --image $(IMAGE:%:dev=%:$(RELEASE))@$$(cat dist/digest) --out dist/install.yaml
	$(MAKE) --no-print-directory chart VERSION=$(RELEASE) DIGEST=$$(cat dist/digest)
	PATH="$(abspath bin):$$PATH" RELEASE=$(RELEASE) CREATED=$(CREATED) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GORELEASER) release --snapshot --clean --parallelism 2
	mkdir -p dist/plugin/krew && for name in upgrade flatcar-upgrade; do bin/release krew --template krew.yaml --checksums dist/plugin/checksums.txt --name $$name --version $(RELEASE) --out dist/plugin/krew/$$name.yaml || exit; done
	cd release && $(GO) build -o ../bin/ sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest github.com/google/go-containerregistry/cmd/crane
	cd release && RELEASE=$(RELEASE) KUBECTL=$(KUBECTL) $(GOTESTSUM) --format standard-verbose -- -count 1 -tags dist -skip 'TestImage$$' ./...

release-image: ## Build the node agent's image for all platforms in dist/node-agent/image, and its digest in dist/digest
	rm -rf dist && mkdir -p dist/charts
	cd release && CGO_ENABLED=0 $(GO) build -o ../bin/release .
	bin/release image --source . --version $(RELEASE) --revision $$(git rev-parse HEAD) --created $(CREATED) --out dist/node-agent | tee dist/digest

clean: ## Remove what was built here (the lab's cache stays)
	rm -rf bin dist

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2} \
		/^##@ End/ {while ((getline line < "lab/e2e/runs.txt") > 0) if (line !~ /^#/) {split(line, c, " "); sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "", line); printf "  make e2e-%-11s %s\n", c[1], line}}' $(MAKEFILE_LIST)
