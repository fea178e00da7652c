package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// defaultClusterTimeout is that of `kubectl upgrade fleet status`.
const defaultClusterTimeout = 4 * time.Second

// TestHundredClusters asks 100 contexts, each through a proxy with 50 ms of latency, of which ten accept
// connections and never answer. It does not fail for the time of a slow machine alone: the silent ones
// take one time limit together, and not one after the other.
func TestHundredClusters(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	applyObjects(t, config, roleObjects)
	isSilent := func(i int) bool { return i%10 == 3 }
	names, proxies := proxied(t, config, 100, 50*time.Millisecond, isSilent)
	kubeconfig := fleetKubeconfig(t, config, names, proxies)

	began := time.Now()
	out, errOut, code := runFleet(t, kubeconfig, "status", "--contexts", "prod-*", "-o", "json")
	took := time.Since(began)
	var status fleet.Status
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	silent := 0
	for i, r := range status.Items {
		switch {
		case r.Context != names[i]:
			t.Errorf("row %d is %s, want %s", i, r.Context, names[i])
		case isSilent(i):
			silent++
			if r.State != fleet.StateSilent || r.Message != "no answer within 4s" || r.Reason != fleet.ReasonSilent {
				t.Errorf("%s: got %s, %s: %s, want that it did not answer", r.Context, r.State, r.Reason, r.Message)
			}
		case r.State != fleet.StateFailed || r.AsOf == nil:
			t.Errorf("%s: got %s, %s: %s", r.Context, r.State, r.Reason, r.Message)
		}
	}
	if len(status.Items) != 100 || silent != 10 || status.Summary.Answered != 90 || status.Summary.Clusters != 100 {
		t.Errorf("got %d rows, %d silent, %+v", len(status.Items), silent, status.Summary)
	}
	if code != 5 || errOut != "error: 10 of 100 clusters did not answer: prod-003, prod-013, prod-023 and 7 more\n" {
		t.Errorf("got exit code %d, %s", code, errOut)
	}
	t.Logf("100 clusters, ten of them silent: %s", took.Round(10*time.Millisecond))
	if limit := 5 * defaultClusterTimeout; took < defaultClusterTimeout || took > limit {
		t.Errorf("it took %s, want between %s and %s", took, defaultClusterTimeout, limit)
	}
	if *record {
		performance.Open(t).Record(t, performance.Section{
			Name: "clusters", Order: 70, Title: "One screen for 100 clusters", Measures: []string{"pkg/plugin/fleet", "pkg/plugin/view", "pkg/plugin/render"},
			Text:   "`kubectl upgrade fleet status` with its default limits, over 100 contexts that lead through a TCP proxy each, with 50 ms of latency, to one real API server. Ten accept connections and never answer: their limit is 4 s. `go test ./pkg/plugin/cli -run TestHundredClusters -args -record`",
			Tables: []performance.Table{{Columns: []string{"", "goal", "measured"}, Rows: [][]string{{"until the rows are there", "5 s", fmt.Sprintf("%.1f s", took.Seconds())}}}},
		})
	}
}

var record = flag.Bool("record", false, "record the figure in lab/results/performance")

// runFleet runs a verb of `kubectl upgrade fleet`.
func runFleet(t *testing.T, kubeconfig string, args ...string) (out, errOut string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(context.Background(), append(append([]string{"fleet"}, args...), "--kubeconfig="+kubeconfig), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr}, "test")
	return stdout.String(), stderr.String(), code
}

// TestWatchOfClustersKeepsTheLastAnswer checks that a cluster that goes silent keeps its row, with its age,
// and that the following ends with the upgrade.
func TestWatchOfClustersKeepsTheLastAnswer(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	removeObjects(t, config)
	applyObjects(t, config, roleObjects)
	applyObjects(t, config, upgradeBegins)
	names, proxies := proxied(t, config, 3, 0, func(i int) bool { return i == 2 })
	kubeconfig := fleetKubeconfig(t, config, names, proxies)
	w := watchFleet(t, kubeconfig, "--cluster-timeout", "2s")
	w.out.await(t, "prod-000 Waiting, upgrade u")
	w.out.await(t, "prod-002 Silent, Silent: no answer within 2s")
	proxies[1].silent.Store(true)
	w.out.await(t, "prod-001 Silent, upgrade u")
	proxies[1].silent.Store(false)
	proxies[2].silent.Store(false)
	applyObjects(t, config, "kind: ClusterUpgrade\nmetadata: {name: u}\nspec: {version: v1.34.4}\nstatus: {"+begun+", outcome: Succeeded}")
	w.exit(t, 0)
	if text := w.out.text(); strings.Count(text, "prod-000") > 5 {
		t.Errorf("what does not change is repeated:\n%s", text)
	}
}

// watchFleet runs `kubectl upgrade fleet status --watch` over all contexts.
func watchFleet(t *testing.T, kubeconfig string, more ...string) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w := &watched{code: make(chan int, 1)}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.errOut}
	args := append([]string{"fleet", "status", "--watch", "--contexts", "*", "--kubeconfig=" + kubeconfig}, more...)
	go func() { w.code <- cli.Run(ctx, args, streams, "test") }()
	return w
}
