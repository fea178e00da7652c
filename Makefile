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
GO      := GOFLAGS="$(GOFLAGS) -buildvcs=false -trimpath" go

GOTESTSUM := $(GO) run gotest.tools/gotestsum@v1.13.0 --format pkgname-and-test-fails --hide-summary=skipped
GOLANGCI  := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := $(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.16.0

# The real API server that tests use is built into the lab's cache.
KUBERNETES := v1.34.3
export LAB_CACHE ?= /var/cache/kubectl-upgrade-lab
export KUBE_ASSETS ?= $(LAB_CACHE)/assets-$(KUBERNETES)

# Debian packages with programs that the lab calls.
PACKAGES := ca-certificates mmdebstrap systemd-container squashfs-tools iproute2 iptables util-linux procps gnupg e2fsprogs

# Debian packages with programs that tests of the lab call.
TEST_PACKAGES := btrfs-progs dosfstools nftables

# install installs those of the Debian packages $(1) that are missing.
install = @dpkg -s $(1) >/dev/null 2>&1 || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); }

##@ Use it

.PHONY: demo
demo: packages lab image ## Show an automatic patch of a real cluster on this machine (root; about 15 minutes the first time)
	bin/lab demo --image bin/node-agent.tar

.PHONY: build
build: ## Build bin/kubectl-upgrade, and the programs of the container image: bin/agent, bin/coordinator and bin/node-agent
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

.PHONY: image
image: build lab ## Build the container image bin/node-agent.tar, with no container engine; ARCH=arm64 builds bin/arm64/node-agent.tar
	$(if $(CROSS),CGO_ENABLED=0 GOARCH=$(ARCH) $(GO) build -ldflags '$(LDFLAGS)' -o bin/$(CROSS) $(PROGRAMS:%=./cmd/%))
	bin/lab build-image $(PROGRAMS:%=--binary bin/$(CROSS)%) --ref $(IMAGE) --out bin/$(CROSS)node-agent.tar

.PHONY: chart
chart: ## Package the Helm chart into dist/charts/ (docs/install.md); VERSION and DIGEST select the image
	cd release/chart && $(GO) run . -root ../.. -version '$(VERSION)' -digest '$(DIGEST)' -out '$(abspath dist/charts)'

.PHONY: packages
packages: ## Install the Debian packages that the lab needs (root)
	$(call install,$(PACKAGES))

.PHONY: lab
lab: ## Build bin/lab, which makes real nodes on this machine (see lab/README.md)
	cd lab && CGO_ENABLED=0 $(GO) build -o ../bin/lab . && CGO_ENABLED=0 $(GO) build -o ../bin/lab-web ./web && CGO_ENABLED=0 $(GO) build -o ../bin/lab-update-engine ./updateengine

##@ Check it

.PHONY: test
test: assets ## Unit tests, and tests on a real API server and a real systemd (root: builds them into a cache first)
	$(call install,$(TEST_PACKAGES))
	NODE_ROOTFS="$$(readlink -f $(KUBE_ASSETS)/root)" $(GOTESTSUM) -- -race -count 1 -tags integration ./pkg/node/host ./pkg/node/sysupdate
	cd lab && $(GOTESTSUM) -- -race ./...
	cd release/chart && $(GO) test -timeout 30m ./...
	cd test/oldest && $(GO) test ./...
	cd test/othertools && $(GO) test ./...
	cd pkg/internal/site && $(GO) test ./...
	cd release && $(GOTESTSUM) -- ./...
	$(GOTESTSUM) -- -race -timeout 30m ./...
	$(GO) test -count 1 -timeout 30m ./test/sim

.PHONY: test-sysupdate
test-sysupdate: packages lab ## Staging beside other runs of systemd-sysupdate, with those of systemd 254, 257 and Debian sid's (root)
	for base in bookworm-backports trixie sid; do \
		export NODE_ROOTFS="$$(bin/lab rootfs $$base)"; test -n "$$NODE_ROOTFS" || exit 1; \
		$(GO) test -count 1 -v -tags integration -run TestOtherRuns ./pkg/node/sysupdate || exit 1; \
		$(GOTESTSUM) -- -count 1 -tags integration ./pkg/node/sysupdate || exit 1; \
	done

.PHONY: docs-check
docs-check: assets ## Check every page: links and anchors, commands and their flags, objects, and the scripts that some pages show
	$(GO) test -count 1 ./test/doclinks
	$(MAKE) --no-print-directory docs
	cd test/othertools && $(GO) test -count 1 ./...
	$(GO) test -count 1 -run 'Page|Documented|TestScripts/(gitops|install|commands)' ./pkg/plugin/cli ./pkg/api/v1alpha1 ./pkg/cluster/source ./pkg/api/apidoc ./pkg/cluster/metrics ./pkg/cluster/preflight

.PHONY: docs
docs: ## Build the website of these pages, with a search, in bin/site, and check each link; VERSION names its folder
	cd pkg/internal/site && $(GO) run . -root ../../.. -out $(abspath bin/site) -version '$(RELEASE)'

.PHONY: test-docs
test-docs: docs ## The website in a real Chromium: axe, search, dark and light, a phone (root: installs as test-report); PAGES=REGEX opens only those
	$(browser)
	cd $(BROWSER) && node site.mjs $(abspath bin/site)/$(RELEASE) '$(PAGES)'

TO ?= v1.34
.PHONY: docs-screen
docs-screen: build ## Record `kubectl upgrade apply TO` (v1.34) on the cluster of KUBECONFIG, a lab whose source offers a patch, as docs/images/screen.svg
	$(if $(KUBECONFIG),,$(error KUBECONFIG is missing: that of a lab with kubectl-upgrade, as lab/README.md installs it))
	cd pkg/internal/site && $(GO) build -o ../../../bin/screen ./screen
	PATH="$(abspath bin):$(KUBE_ASSETS):$$PATH" KUBECONFIG='$(KUBECONFIG)' bin/screen record docs/images/screen.cast kubectl upgrade apply $(TO) --ignore-windows
	bin/screen draw docs/images/screen.cast docs/images/screen.svg

.PHONY: test-rules
test-rules: ## Unit tests of the Prometheus rules and alerts, with promtool (root: installs Debian's Prometheus)
	$(call install,prometheus)
	promtool check rules manifests/monitoring/rules.yaml
	promtool test rules test/monitoring/testdata/rules_test.yaml

# Where the browser tests' npm packages are.
BROWSER := $(LAB_CACHE)/browser
define browser
$(call install,chromium fonts-dejavu-core)
command -v npm >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm; }
mkdir -p $(BROWSER) && cp pkg/plugin/report/page/browser/* pkg/internal/site/browser/* $(BROWSER)/ && cd $(BROWSER) && npm ci --silent --no-audit --no-fund --ignore-scripts
endef
PICTURES ?=
.PHONY: test-report
test-report: ## Reports in a real Chromium, with axe (root: installs Debian's, and two npm packages); PICTURES=1 only takes those of docs/commands.md
	$(browser)
	BROWSER=$(BROWSER) $(GO) test -count 1 -tags browser -v -run TestBrowser ./pkg/plugin/report/page $(if $(PICTURES),-pictures)

SEEDS ?= 2000
.PHONY: sim
sim: ## Simulate SEEDS clusters with random faults (docs/simulator.md); SEED=n tells the story of one
	cd test/sim && SEED=$(SEED) SEEDS=$(SEEDS) FIRST=$(FIRST) $(GO) test -count 1 -timeout 0 -v -run '$(if $(SEED),TestSeed,TestPromises)$$' . | grep --line-buffered -vE '^ *(=== |--- PASS|PASS)'

BUGS ?= all
.PHONY: sim-bugs
sim-bugs: ## Put bugs into copies of the source, and check that simulated clusters catch each (about 30 minutes); writes docs/simulator.md
	cd test/sim && BUGS="$(BUGS)" $(GO) test -count 1 -timeout 0 -v -run 'TestBugs$$' . | grep --line-buffered -vE '^ *(=== |PASS)'

.PHONY: e2e
e2e: packages lab image ## A patch, and what may stop it, end to end on new real clusters (root; about 20 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 60m -run 'TestPatchReachesEveryNode|TestWindowsFreezesAndBudgets' ./e2e/...

.PHONY: e2e-ha
e2e-ha: packages lab image ## The same with three control planes, a power cut and Flatcar's own timer (root; about 20 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 60m -run TestThreeControlPlanes ./e2e/...

.PHONY: e2e-minor
e2e-minor: packages lab image ## A minor on three control planes by one command, and again with failures (root; about 40 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 120m -run 'TestMinor' ./e2e/...

.PHONY: e2e-soft
e2e-soft: packages lab image ## A patch by soft reboots, with an image that fails and a node whose operating system asks for a reboot (root; about 15 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestSoftReboot$$' ./e2e/...

.PHONY: e2e-reboot
e2e-reboot: packages lab image ## Reboots that operating systems ask for, and a patch without any (root; about 15 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestRebootAndRestart|TestRebootWithoutImage' ./e2e/...

HELM := helm.sh/helm/v3/cmd/helm@v3.22.0
.PHONY: e2e-install
e2e-install: packages lab image ## README's quick start, one pool first, and each way to install of docs/install.md, then uninstalled, file by file (root; about 25 minutes)
	cd release && CGO_ENABLED=0 $(GO) build -o ../bin/release .
	GOBIN=$(abspath bin) $(GO) install $(HELM)
	rm -rf dist/charts && $(MAKE) --no-print-directory chart VERSION=v0.0.0-lab
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 60m -run 'TestInstall|TestPilot|TestQuickStart' ./e2e/...

.PHONY: e2e-runbooks
e2e-runbooks: packages lab image ## What each alert is for, brought about, and every command of its page run (root; about 20 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 90m -run 'TestRunbooks$$' ./e2e/...

.PHONY: e2e-kured
e2e-kured: packages lab image ## A pool beside kured, which then change nodes; KURED=PATH is kured's program, built from its repository (root; about 10 minutes)
	$(if $(KURED),,$(error KURED=PATH is missing: the program of kured, built with `CGO_ENABLED=0 go build ./cmd/kured` in its repository))
	cd lab && KURED=$(abspath $(KURED)) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 60m -run 'TestKuredBeside$$' ./e2e/...

.PHONY: e2e-migrate
e2e-migrate: packages lab image ## Changing over from a stand-in for kured, and back (root; about 15 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestMigrate$$' ./e2e/...

.PHONY: e2e-faults
e2e-faults: packages lab image ## Broken images and faults on real nodes, written to docs/reliability.md; CASE=REGEX selects cases, those that have passed with the same sources are left out, FORCE=1 runs them too (root; about two hours)
	cd lab && FAULT_CASES='$(CASE)' FAULT_FORCE='$(FORCE)' RELIABILITY=$(abspath docs/reliability.md) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 180m -run 'TestGuard|TestFaults' ./e2e/...

.PHONY: e2e-long
e2e-long: packages lab image ## Five minors on one cluster, by commands and then by schedule, written to docs/compatibility.md (root; about two hours)
	cd lab && COMPATIBILITY=$(abspath docs/compatibility.md) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 240m -run 'TestLong' ./e2e/...

.PHONY: e2e-matrix
e2e-matrix: packages lab image ## A patch for each systemd, minor and method, written to docs/compatibility.md; CASE=REGEX selects cells (root; about two hours)
	cd lab && MATRIX_CASES='$(CASE)' COMPATIBILITY=$(abspath docs/compatibility.md) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 240m -run 'TestMatrix$$' ./e2e/...

.PHONY: e2e-flatcar
e2e-flatcar: packages lab image ## Nodes that boot first with each snippet of docs/images.md, and a patch; CASE=REGEX selects snippets (root: installs Debian's Ignition; about 10 minutes)
	$(call install,ignition)
	cd test/othertools && $(GO) build -o ../../bin/butane github.com/coreos/butane/internal
	cd test/othertools && $(GO) build -o ../../bin/capi-ignition ./capi/ignition
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestIgnition$$/$(CASE)' ./e2e/...

.PHONY: e2e-published
e2e-published: packages lab image ## A cluster of published files from a mirror (`lab up --from`), with nothing compiled, and a patch of it (root; about 10 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestPublished$$' ./e2e/...

.PHONY: e2e-airgap
e2e-airgap: packages lab image ## docs/images.md as one run: images behind a proxy and a private CA (root; about 8 minutes)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 40m -run 'TestAirGap$$' ./e2e/...

.PHONY: e2e-cgroup2
e2e-cgroup2: packages lab image ## A reboot on version 2 control groups, in a virtual machine without KVM; its log and result are in bin/e2e-cgroup2 (root; a quarter of an hour)
	cd lab && CGO_ENABLED=0 VIRTUAL_OUT=$(abspath bin/e2e-cgroup2) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 4h -run 'TestVersion2ControlGroups$$' ./e2e/...

.PHONY: e2e-sid
e2e-sid: packages lab image ## One node with the newest systemd (Debian sid) while its own update timer runs: rolled back, upgraded, given back; in a virtual machine where the control groups are of version 1 (root; an hour)
	cd lab && CGO_ENABLED=0 VIRTUAL_OUT=$(abspath bin/e2e-sid) COMPATIBILITY=$(abspath docs/compatibility.md) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 4h -run 'TestNewestSystemd$$' ./e2e/...

.PHONY: e2e-metrics
e2e-metrics: assets build test-rules ## A real Prometheus and Alertmanager with a real coordinator: metrics, alerts, dashboard (root; about 5 minutes)
	$(call install,prometheus prometheus-alertmanager)
	COORDINATOR=$(abspath bin/coordinator) $(GOTESTSUM) --format standard-verbose -- -tags prometheus -count 1 ./test/monitoring

# Debian's Prometheus cannot discover objects of Kubernetes. The operator's module has the
# definitions of its custom resources.
PROMETHEUS := github.com/prometheus/prometheus@v0.310.0
PROMETHEUS_OPERATOR := github.com/prometheus-operator/prometheus-operator@v0.85.0
# module prints the folder of the downloaded module $(1).
module = $(GO) mod download $(1) && $(GO) list -m -f '{{.Dir}}' $(1)

bin/prometheus: Makefile
	dir="$$($(call module,$(PROMETHEUS)))" && cd "$$dir" && GOWORK=off CGO_ENABLED=0 $(GO) build -tags remove_all_sd,enable_kubernetes_sd -ldflags '-s -w' -o $(abspath $@) ./cmd/prometheus

.PHONY: e2e-prometheus
e2e-prometheus: packages lab image bin/prometheus ## A real Prometheus discovers and scrapes the coordinator: rollouts that work, and one that a budget blocks (root; about 30 minutes)
	operator="$$($(call module,$(PROMETHEUS_OPERATOR)))" && cd lab && PROMETHEUS_OPERATOR="$$operator" $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 60m -run 'TestPrometheus$$' ./e2e/...

DURATION ?= 1h
.PHONY: soak
soak: packages lab ## Upgrade a cluster again and again for DURATION (1h), with faults, and measure what grows, written to docs/soak.md; SEED repeats a run (root)
	$(MAKE) --no-print-directory image LDFLAGS='-X main.version=$(VERSION)' # with debug information: goroutines are counted from outside
	cd lab && SOAK_DURATION='$(DURATION)' SOAK_SEED='$(SEED)' SOAK_PAGE=$(abspath docs/soak.md) $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 24h -run 'TestSoak$$' ./e2e/...

.PHONY: lint
lint: ## Linters, formatting, and a check that generated files are up to date
	$(GOLANGCI) run ./...
	$(GOLANGCI) run --build-tags integration ./pkg/node/host ./pkg/node/sysupdate
	$(GOLANGCI) run --build-tags prometheus ./test/monitoring
	$(GOLANGCI) run --build-tags browser ./pkg/plugin/report/page
	$(GOLANGCI) run --build-tags fleet ./pkg/node/agent ./test/fleetbench
	cd lab && $(GOLANGCI) run --build-tags e2e ./...
	cd release/chart && $(GOLANGCI) run ./...
	cd test/oldest && $(GOLANGCI) run ./...
	cd test/othertools && $(GOLANGCI) run ./...
	cd pkg/internal/site && $(GOLANGCI) run ./...
	cd release && $(GOLANGCI) run --build-tags dist ./...
	$(ACTIONLINT)
	$(MAKE) --no-print-directory generate
	@git diff --exit-code -- pkg/api manifests docs || { echo 'generated files are stale: commit what `make generate` wrote' >&2; exit 1; }

# The oldest and the newest minor that manifests/ and the chart are tested with.
APISERVERS ?= v1.32.2 v1.36.1
.PHONY: test-apiservers
test-apiservers: packages lab ## Ask the API servers of APISERVERS to accept manifests/ and the chart (root: builds them into a cache first)
	@set -e; for version in $(APISERVERS); do \
		bin/lab assets --version $$version --out $(LAB_CACHE)/programs-$$version; \
		(cd release/chart && KUBE_ASSETS=$(LAB_CACHE)/programs-$$version $(GO) test -count 1 -v -run 'TestServerAccepts|TestKustomize' .); \
	done

# Go fuzzes one function of one package at a time.
FUZZTIME ?= 5s
.PHONY: fuzz
fuzz: ## Fuzz each parser of untrusted text, for FUZZTIME (5s) each
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' pkg | sed 's/func //' | while IFS=: read -r file target; do \
		echo "$$file $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" || exit; \
	done

BENCHSTAT := $(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
BENCH ?= .
SAVE ?=
.PHONY: bench
bench: ## Go benchmarks, in a table beside the last run in the repository (docs/bench.txt); BENCH=REGEX selects, SAVE=1 replaces that
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count 6 $$(grep -rl '^func Benchmark' --include='*_test.go' pkg | xargs -n 1 dirname | sort -u | sed 's|^|./|') >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	$(BENCHSTAT) $(if $(wildcard docs/bench.txt),last=docs/bench.txt) now=bin/bench.txt
	$(if $(SAVE),cp bin/bench.txt docs/bench.txt)

.PHONY: bench-lab
bench-lab: packages lab image ## Times of real nodes beside a bare script, written to docs/performance.md; CASE=HandOff, Outage, AtOnce, Minor or Load selects one (root; about an hour)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 150m -run 'TestSpeed($(or $(CASE),.*))$$' ./e2e/...

.PHONY: bench-staging
bench-staging: packages lab image ## Bytes from the source and seconds until all nodes have staged a patch, with and without a cache, written to docs/performance.md (root: installs nginx; about 5 minutes)
	$(call install,nginx-light)
	cd lab && $(GOTESTSUM) --format standard-verbose -- -tags e2e -count 1 -timeout 30m -run 'TestStaging$$' ./e2e/...

NODES ?= 50,500,5000
IDLE  ?= 10m
.PHONY: bench-fleet
bench-fleet: assets build ## Measure fleets of NODES (50,500,5000) pretended nodes on a real API server, written to docs/performance.md (root; hours)
	$(GO) test -c -tags fleet -o bin/fleet ./pkg/node/agent
	NODES='$(NODES)' IDLE='$(IDLE)' COORDINATOR=$(abspath bin/coordinator) PLUGIN=$(abspath bin/kubectl-upgrade) FLEET_PROGRAM=$(abspath bin/fleet) \
		$(GOTESTSUM) --format standard-verbose -- -tags fleet -count 1 -timeout 0 -run 'TestFleet$$' ./test/fleetbench

.PHONY: bench-memory
bench-memory: assets ## Memory of an agent and of a coordinator on a real API server with 500 nodes (docs/sizing.md; root: builds it into a cache first)
	$(GO) test -run '^$$' -bench Memory -benchtime 1x ./test/memory

.PHONY: assets
assets: packages lab ## Build the API server, etcd and node that tests need, into the lab's cache
	bin/lab assets --version $(KUBERNETES) --out $(KUBE_ASSETS)

##@ Publish it

# What `make release` builds: a tag's version, or v0.0.0-gCOMMIT where there is no tag yet.
RELEASE := $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-g$(VERSION))
CREATED  = $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
PLATFORMS := amd64 arm64
KUBECTL ?= $(KUBE_ASSETS)/kubectl

.PHONY: release
release: release-image ## Build and test all files of a published version in dist/, and publish nothing (docs/releasing.md); VERSION=v1.2.3
	for arch in $(PLATFORMS); do bin/release sbom --program dist/node-agent/agent_linux_$$arch,dist/node-agent/coordinator_linux_$$arch,dist/node-agent/node-agent_linux_$$arch --version $(RELEASE) --created $(CREATED) --out dist/node-agent_linux_$$arch.cdx.json || exit; done
	bin/release install --manifests manifests --image $(IMAGE:%:dev=%:$(RELEASE))@$$(cat dist/digest) --out dist/install.yaml
	$(MAKE) --no-print-directory chart VERSION=$(RELEASE) DIGEST=$$(cat dist/digest)
	PATH="$(abspath bin):$$PATH" RELEASE=$(RELEASE) CREATED=$(CREATED) SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GORELEASER) release --snapshot --clean --parallelism 2
	mkdir -p dist/plugin/krew && for name in upgrade flatcar-upgrade; do bin/release krew --template krew.yaml --checksums dist/plugin/checksums.txt --name $$name --version $(RELEASE) --out dist/plugin/krew/$$name.yaml || exit; done
	cd release && $(GO) build -o ../bin/ sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest github.com/google/go-containerregistry/cmd/crane
	cd release && RELEASE=$(RELEASE) KUBECTL=$(KUBECTL) $(GOTESTSUM) --format standard-verbose -- -count 1 -tags dist -skip 'TestImage$$' ./...

.PHONY: release-image
release-image: ## Build the node agent's image for all platforms in dist/node-agent/image, and its digest in dist/digest
	rm -rf dist && mkdir -p dist/charts
	cd release && CGO_ENABLED=0 $(GO) build -o ../bin/release .
	bin/release image --source . --version $(RELEASE) --revision $$(git rev-parse HEAD) --created $(CREATED) --out dist/node-agent | tee dist/digest

##@ Maintain it

.PHONY: generate
generate: ## Update deep copies, CRDs, docs/api.md, docs/reasons.md and docs/checks.md
	$(GO) tool controller-gen object crd paths=./pkg/api/... output:crd:dir=manifests/crd output:object:dir=pkg/api/v1alpha1
	$(GO) generate ./...

.PHONY: clean
clean: ## Remove what was built here (the lab's cache stays)
	rm -rf bin dist

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
