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
PROGRAMS := node-agent agent coordinator send-notice capi-extension
# Modules of their own; lab and release are built with these tags.
MODULES := pkg/api lab cmd/capi-extension release release/chart test/oldest test/othertools
TAGS    := e2e,dist
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath
# Programs and tests are compiled alike, once; only the race detector needs cgo, with which half of all packages are others.
export CGO_ENABLED := 0
GOTESTSUM  := go run gotest.tools/gotestsum@v1.13.0 --format pkgname-and-test-fails --hide-summary=skipped
GOLANGCI   := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run
# The same with kube-api-linter; its configuration is pkg/api/.golangci.yml.
APILINT    := go run sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter@v0.0.0-20260716143926-092fe0c72997 run
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
BENCHSTAT  := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
# The real API server that tests use is built into the lab's cache.
KUBERNETES := v1.34.3
export LAB_CACHE   ?= /var/cache/kubectl-upgrade-lab
export KUBE_ASSETS ?= $(LAB_CACHE)/assets-$(KUBERNETES)
# Debian packages with programs that the lab, and tests of the lab, call.
PACKAGES      := ca-certificates curl mmdebstrap systemd-container squashfs-tools iproute2 iptables util-linux procps gnupg e2fsprogs
TEST_PACKAGES := btrfs-progs dosfstools nftables
# install installs those of the Debian packages $(1) that are missing.
install = @dpkg -s $(1) >/dev/null 2>&1 || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); }

##@ Use it

play: ## Try it in clusters whose nodes are pretended: docs/play.md (no root; the first time a quarter of an hour on two cores); CLUSTERS=3 NODES=5
	@command -v go >/dev/null || { echo 'make play needs Go: https://go.dev/dl/' >&2; exit 1; }
	@echo 'All nodes are pretended. Compiling what is not compiled yet ...'
	@GOGC=400 GOMEMLIMIT=1536MiB go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/coordinator ./cmd/kubectl-upgrade ./test/play
	@bin/play --clusters '$(or $(CLUSTERS),3)' --nodes '$(or $(NODES),5)'

demo: packages lab image ## Show an automatic patch of a real cluster on this machine (root; about 15 minutes the first time)
	bin/lab demo --image bin/node-agent.tar

build: ## Build bin/kubectl-upgrade, and the programs of the container image
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...
	go build -C cmd/capi-extension -ldflags '$(LDFLAGS)' -o ../../bin/ .

image: build lab ## Build the container image bin/node-agent.tar, with no container engine; ARCH=arm64 builds bin/arm64/node-agent.tar
	$(if $(CROSS),GOARCH=$(ARCH) go build -ldflags '$(LDFLAGS)' -o bin/$(CROSS) $(patsubst %,./cmd/%,$(filter-out capi-extension,$(PROGRAMS))))
	$(if $(CROSS),GOARCH=$(ARCH) go build -C cmd/capi-extension -ldflags '$(LDFLAGS)' -o ../../bin/$(CROSS) .)
	bin/lab build-image $(PROGRAMS:%=--binary bin/$(CROSS)%) --ref $(IMAGE) --out bin/$(CROSS)node-agent.tar

chart: ## Package the Helm chart into dist/charts/ (docs/install.md); VERSION and DIGEST select the image
	cd release/chart && go run . -root ../.. -version '$(VERSION)' -digest '$(DIGEST)' -out '$(abspath dist/charts)'

packages: ## Install the Debian packages that the lab needs (root)
	$(call install,$(PACKAGES))

lab: ## Build bin/lab, which makes real nodes on this machine (see lab/README.md)
	cd lab && go build -o ../bin/lab . && go build -o ../bin/lab-web ./web && go build -o ../bin/lab-update-engine ./updateengine && go build -o ../bin/lab-late ./late

##@ Check it

# The race detector makes tests ten times slower. The first two start no goroutine, which test/purity checks; the simulator
# runs one at a time; test/hostile measures memory, of which the detector takes much itself; of the last only the tests of
# `make check` run with it, as the others run thousands of commands.
WITHOUT_RACE := ./pkg/cluster/plan ./pkg/schedule ./test/sim ./test/hostile ./pkg/plugin/cli

check: ## Tests that need no root, no API server and no node, vet and formatting (a few minutes)
	go vet ./...
	@test -z "$$(gofmt -l cmd lab pkg release test | tee /dev/stderr)"
	SEEDS=100 $(GOTESTSUM) -- -vet=off -short ./...

test: assets ## Unit tests, and tests on a real API server and a real systemd (root: builds them into a cache first)
	$(call install,$(TEST_PACKAGES))
	@$(MAKE) --no-print-directory -j 2 test-race test-without-race test-plugin test-systemd test-modules

# Two of these run at the same time, as half of it is waiting. Without debugging information, tests link in three quarters of the
# time. A program with the race detector sleeps for a second when it ends, and waits for reports that have begun without that, too.
# Each package is vetted once, as it is compiled without the detector: go test vets it, and all that it imports, for each way.
check test-race test-without-race test-plugin test-systemd: export GOFLAGS := $(GOFLAGS) -ldflags=-w
test-race test-plugin test-systemd: export CGO_ENABLED := 1
test-race test-plugin test-systemd: export GORACE := atexit_sleep_ms=100
test-race:
	$(GOTESTSUM) -- -race -vet=off -timeout 30m $$(go list ./... | grep -vxF "$$(go list $(WITHOUT_RACE))")
test-without-race:
	go vet ./...
	$(GOTESTSUM) -- -vet=off -timeout 30m $(WITHOUT_RACE)
test-plugin:
	$(GOTESTSUM) -- -race -vet=off -short ./pkg/plugin/cli
test-systemd:
	CGO_ENABLED=0 go vet -tags integration ./pkg/node/host ./pkg/node/sysupdate
	NODE_ROOTFS="$$(readlink -f $(KUBE_ASSETS)/root)" $(GOTESTSUM) -- -race -vet=off -count 1 -tags integration ./pkg/node/host ./pkg/node/sysupdate
# Not from the cache: Go does not see when a file outside of a module, which its test reads, has changed.
test-modules:
	for module in $(MODULES); do (cd $$module && $(GOTESTSUM) -- -count 1 -timeout 30m ./...) || exit; done

lint: ## Linters, formatting, and a check that generated files are up to date
	$(GOLANGCI) ./...
	$(GOLANGCI) --build-tags integration ./pkg/node/host ./pkg/node/sysupdate
	$(GOLANGCI) --build-tags prometheus,browser,fleet,skew,etcdminor ./test/monitoring ./pkg/plugin/report/page ./test/fleetbench ./test/skew ./test/etcdminor
	for os in darwin linux; do GOOS=$$os GOARCH=arm64 go vet ./cmd/kubectl-upgrade ./cmd/coordinator ./test/play || exit; done
	for module in $(MODULES); do (cd $$module && $(GOLANGCI) --config $(CURDIR)/.golangci.yml --build-tags $(TAGS) ./...) || exit; done
	cd pkg/api && $(APILINT) ./v1alpha1
	$(ACTIONLINT)
	$(MAKE) --no-print-directory generate
	@git diff --exit-code -- pkg/api manifests docs || { echo 'generated files are stale: commit what `make generate` wrote' >&2; exit 1; }

# test/oldest is old on purpose. VULNERABILITIES is another database, such as file:///srv/vulndb.
vulncheck: ## Look for known vulnerabilities that our code reaches (Internet: https://vuln.go.dev)
	for module in . $(filter-out test/oldest,$(MODULES)); do (cd $$module && $(GOVULNCHECK) $(VULNERABILITIES:%=-db %) -tags $(TAGS) ./...) || exit; done

assets: packages lab ## Build the API server, etcd and node that tests need, into the lab's cache
	bin/lab assets --version $(KUBERNETES) --out $(KUBE_ASSETS)

generate: ## Update deep copies, CRDs, and the generated parts of docs
	go tool controller-gen object crd paths=./pkg/api/v1alpha1 output:crd:dir=manifests/crd output:object:dir=pkg/api/v1alpha1
	go generate ./...

docs-check: assets docs ## Check every page: links and anchors, commands and their flags, objects, and the scripts that some pages show
	go test -count 1 ./test/doclinks
	cd test/othertools && go test -count 1 ./...
	go test -count 1 -run 'Page|Documented|TestScripts/(fleets|install|commands)' ./pkg/plugin/cli ./test/api ./pkg/cluster/source ./manifests/crd/apidoc ./pkg/cluster/metrics ./pkg/cluster/preflight

docs: ## Build the website of these pages, with a search, in bin/site, and check each link; VERSION names its folder (root: installs MkDocs)
	$(call install,mkdocs mkdocs-material python3-pymdownx)
	SITE=bin/site/$(RELEASE) COMMIT=$$(git rev-parse HEAD) /usr/bin/mkdocs build --strict

BROWSER := $(LAB_CACHE)/browser
$(BROWSER): pkg/plugin/report/page/browser release/site/site.mjs FORCE
	$(call install,chromium fonts-dejavu-core)
	$(if $(shell command -v npm),,$(call install,npm))
	mkdir -p $@ && cp pkg/plugin/report/page/browser/* release/site/site.mjs $@/ && cd $@ && npm ci --silent --no-audit --no-fund --ignore-scripts

test-docs: docs $(BROWSER) ## The website in a real Chromium: axe, search, dark and light, a phone (root: installs as test-report); PAGES=REGEX opens only those
	cd $(BROWSER) && node site.mjs $(abspath bin/site)/$(RELEASE) '$(PAGES)'

test-report: $(BROWSER) ## Reports in a real Chromium, with axe (root: installs Debian's, and two npm packages); PICTURES=1 only takes those of the docs
	BROWSER=$(BROWSER) go test -count 1 -tags browser -v -run TestBrowser ./pkg/plugin/report/page $(if $(PICTURES),-pictures)

test-rules: ## Unit tests of the Prometheus rules and alerts, with promtool (root: installs Debian's Prometheus)
	$(call install,prometheus)
	promtool check rules manifests/monitoring/rules.yaml
	promtool test rules test/monitoring/testdata/*_test.yaml

test-sysupdate: packages lab ## Staging beside other runs of systemd-sysupdate, and the rehearsal, with systemd 254, 257 and Debian sid's (root)
	for base in bookworm-backports trixie sid; do root="$$(bin/lab rootfs $$base)"; \
		NODE_ROOTFS="$$root" go test -count 1 -v -tags integration ./pkg/node/sysupdate && \
		NODE_ROOTFS="$$root" go test -count 1 -v -tags integration -run TestRehears ./pkg/node/host || exit; done

# The oldest and the newest minor that manifests/ and the chart are tested with.
APISERVERS ?= v1.32.2 v1.36.1
test-apiservers: packages lab ## Ask the API servers of APISERVERS to accept manifests/ and the chart (root: builds them into a cache first)
	for version in $(APISERVERS); do bin/lab assets --version $$version --out $(LAB_CACHE)/programs-$$version && \
		(cd release/chart && KUBE_ASSETS=$(LAB_CACHE)/programs-$$version go test -count 1 -v -run 'TestServerAccepts|TestKustomize' .) || exit; done

# The former version of kubectl-upgrade, to run beside this one: the newest tag or, until there is one, the commit in lab/e2e/former.
FORMER = $(shell git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || cat lab/e2e/former)
former:
	rm -rf bin/former && mkdir -p bin/former
	git archive $(FORMER) | tar -x -C bin/former

SKEW_PROGRAMS := ./cmd/coordinator ./cmd/kubectl-upgrade ./test/play
test-skew: assets former ## Each verb of the plugin on a cluster of the former version, and the other way round (3 minutes, once compiled)
	go build -ldflags '-s -w -X main.version=v0.2.0' -o bin/skew/ $(SKEW_PROGRAMS)
	cd bin/former && go build -ldflags '-s -w -X main.version=v0.1.0' -o bin/ $(SKEW_PROGRAMS)
	FORMER=$(abspath bin/former) BUILDS="$$(git rev-parse --short=8 HEAD) $(FORMER)" PAGE=$(abspath lab/results/skew.md) go test -count 1 -timeout 60m -v -tags skew -run 'TestSkew$$' ./test/skew

# ETCD are the versions to come from: that of kubeadm 1.36.3, and the first that etcd's guide to 3.7 allows. ETCD_TO is that of
# kubeadm 1.37.2, and ETCD_BEFORE one of the minor before.
ETCD        ?= 3.6.8 3.6.11
ETCD_TO     ?= 3.7.0
ETCD_BEFORE ?= 3.5.35
etcd-minor: packages lab ## Replace members of a real etcd by the next minor's while clients write, for DURATION (10m), from each version in ETCD
	folders() { for version; do echo "$$version=$$(bin/lab etcd $$version)"; done; }; from="$$(folders $(ETCD))" && to="$$(folders $(ETCD_TO))" && before="$$(folders $(ETCD_BEFORE))" && \
		FROM="$$from" TO="$$to" BEFORE="$$before" DURATION=$(or $(DURATION),10m) PAGE=$(abspath lab/results/etcd.md) go test -count 1 -timeout 0 -v -tags etcdminor -run 'TestMinor$$' ./test/etcdminor

SEEDS ?= 2000
sim: ## Simulate SEEDS clusters with random faults, from FIRST (docs/simulator.md); SEED=n tells the story of one
	cd test/sim && SEED=$(SEED) SEEDS=$(SEEDS) FIRST=$(FIRST) go test -count 1 -timeout 0 -v -run '$(if $(SEED),TestSeed,TestPromises)$$' . | grep --line-buffered -vE '^ *(=== |--- PASS|PASS)'

BUGS ?= all
sim-bugs: ## Put bugs into copies of the source, and check that simulated clusters catch each (about 30 minutes)
	cd test/sim && BUGS="$(BUGS)" go test -count 1 -timeout 0 -v -run 'TestBugs$$' . | grep --line-buffered -vE '^ *(=== |PASS)'

FUZZTIME ?= 5s
fuzz: ## Fuzz each parser of untrusted text, for FUZZTIME (5s) each
	@grep -rHoE '^func Fuzz[A-Za-z]+' --include='*_test.go' pkg cmd | sed 's/func //' | while IFS=: read -r file target; do \
		echo "$$file $$target"; go test -C "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) . || exit; done

INVOCATIONS ?= 20000
fuzz-cli: assets ## Make up INVOCATIONS (20000) whole invocations of the plugin, from SEED
	INVOCATIONS=$(INVOCATIONS) SEED=$(SEED) go test -count 1 -timeout 0 -v -run 'TestInvocations$$' ./pkg/plugin/cli

##@ End to end, on new real clusters (root)

e2e: e2e-patch ## The run `patch` of lab/e2e/runs.txt: a patch, and what may stop it (about 20 minutes)

# A run needs the image of the programs; lab/e2e/run.sh builds and installs what else it needs.
e2e-%: packages lab image
	CASE='$(CASE)' FORCE='$(FORCE)' DURATION='$(DURATION)' SEED='$(SEED)' KURED='$(KURED)' lab/e2e/run.sh $*
e2e-soak: LDFLAGS := -X main.version=$(VERSION) # with debug information: goroutines are counted from outside

e2e-metrics: assets build test-rules ## A real Prometheus and Alertmanager with a real coordinator: metrics, alerts, silences, dashboard (about 9 minutes)
	$(call install,prometheus prometheus-alertmanager)
	COORDINATOR=$(abspath bin/coordinator) $(GOTESTSUM) --format standard-verbose -- -tags prometheus -count 1 ./test/monitoring

##@ Measure it

BENCH ?= .
bench: ## Go benchmarks, beside the last run in the repository; BENCH=REGEX selects, SAVE=1 replaces that
	@mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count 6 $$(grep -rl '^func Benchmark' --include='*_test.go' pkg | xargs -n 1 dirname | sort -u | sed 's|^|./|') >bin/bench.txt || { cat bin/bench.txt; exit 1; }
	$(BENCHSTAT) last=lab/results/bench.txt now=bin/bench.txt
	$(if $(SAVE),cp bin/bench.txt lab/results/bench.txt)

IDLE ?= 10m
bench-fleet: NODES ?= 50,500,5000
bench-fleet: assets build ## Measure fleets of NODES (50,500,5000) pretended nodes on a real API server (root; hours)
	go build -o bin/ ./test/fleetbench/fleet
	NODES='$(NODES)' IDLE='$(IDLE)' COORDINATOR=$(abspath bin/coordinator) PLUGIN=$(abspath bin/kubectl-upgrade) FLEET_PROGRAM=$(abspath bin/fleet) \
		$(GOTESTSUM) --format standard-verbose -- -tags fleet -count 1 -timeout 0 -run 'TestFleet$$' ./test/fleetbench

bench-stale: ## The sections of lab/results/performance.md, and how many commits have changed what each measures since
	@go run ./test/performance/stale

bench-memory: assets ## Memory of an agent and of a coordinator on a real API server with 500 nodes (root)
	go test -run '^$$' -bench Memory -benchtime 1x ./test/memory

##@ Publish it

# A tag's version, or v0.0.0-gCOMMIT where there is no tag yet.
RELEASE := $(if $(filter v%,$(VERSION)),$(VERSION),v0.0.0-g$(VERSION))
gates: ## Write the list of feature gates that Kubernetes has removed; VERSIONS="v1.36.3 v1.37.2 …", the last patch of each minor
	cd release && go run ./gates ../pkg/cluster/preflight/gates.txt $(VERSIONS)

tzdata: ## Write the time zones from Debian's newest package tzdata, for all programs
	release/tzdata.sh

gates: VERSIONS ?= v1.32.13 v1.33.13 v1.34.4 v1.35.4 v1.36.3 v1.37.2

release release-image: export KUBECTL ?= $(KUBE_ASSETS)/kubectl
release: ## Build and test all files of a published version in dist/, and publish nothing; VERSION=v1.2.3
	RELEASE=$(RELEASE) REPOSITORY=$(IMAGE:%:dev=%) release/release.sh

release-image: ## Build the node agent's image for all platforms in dist/node-agent/image, and its digest in dist/digest
	RELEASE=$(RELEASE) REPOSITORY=$(IMAGE:%:dev=%) release/release.sh image

clean: ## Remove what was built here (the lab's cache stays)
	rm -rf bin dist

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2} \
		/^##@ End/ {while ((getline line < "lab/e2e/runs.txt") > 0) if (line !~ /^#/) {split(line, c, " "); sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "", line); printf "  make e2e-%-11s %s\n", c[1], line}}' $(MAKEFILE_LIST)

.PHONY: FORCE former lab release docs test-modules test-plugin test-race test-systemd test-without-race $(shell sed -n 's/^\([a-z0-9-]*\):.*\#\# .*/\1/p' $(MAKEFILE_LIST))
