package metrics_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
)

// scrape returns what the handler serves, without Go's own metrics.
func scrape(t *testing.T, m *metrics.Metrics) (series []string, text string) {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != 200 {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "kubectl_upgrade_") {
			series = append(series, strings.TrimSpace(line))
		}
	}
	return series, answer.Body.String()
}

func newMetrics() *metrics.Metrics {
	return metrics.New("v0.0.0-test", func() time.Time { return now })
}

// leading returns the metrics of a leader in that state, with each counter used.
func leading(s metrics.State) *metrics.Metrics {
	m := newMetrics()
	m.Lead()
	m.Planned(metrics.State{}, now)
	m.Planned(s, now)
	m.CarriedOut(metrics.ResultOK)
	m.SourceRead("")
	m.SourceRead(v1alpha1.ReasonSourceUnavailable)
	m.Notice("chat", metrics.NoticeSent)
	m.Request("GET", "200", time.Millisecond)
	return m
}

func TestFleet(t *testing.T) {
	got, _ := scrape(t, leading(stateOf(5)))
	got = slices.DeleteFunc(got, func(s string) bool {
		return strings.Contains(s, "_bucket{") || strings.Contains(s, "build_info") || strings.Contains(s, "client_")
	})
	compare(t, "testdata/fleet.txt", strings.Join(got, "\n")+"\n")
}

// TestEachRowOfTableIsServed checks that the table lists exactly what a leader serves, and
// that promlint finds nothing.
func TestEachRowOfTableIsServed(t *testing.T) {
	state := stateOf(5)
	state.Snapshot.Nodes[0].ControlPlane = true
	state.Snapshot.Inventories[0].Certificates = append(state.Snapshot.Inventories[0].Certificates, v1alpha1.CertificateFacts{
		Path: "/etc/kubernetes/admin.conf", RenewedBy: v1alpha1.RenewedByKubeadm, NotAfter: metav1.NewTime(now.Add(time.Hour)),
	})
	_, text := scrape(t, leading(state))
	served := map[string]string{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "TYPE" && strings.HasPrefix(words[2], "kubectl_upgrade_") {
			served[words[2]] = words[3]
		}
	}
	listed := map[string]string{}
	for _, row := range metrics.Table {
		listed[row.FullName()] = string(row.Type)
		if strings.HasSuffix(row.Name, "_seconds") != (row.Unit == "seconds") {
			t.Errorf("%s has the unit %q", row.Name, row.Unit)
		}
	}
	if diff := cmp.Diff(listed, served); diff != "" {
		t.Errorf("-table +served:\n%s", diff)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "kubectl_upgrade_") {
			t.Errorf("promlint: %s: %s", p.Metric, p.Text)
		}
	}
}

// TestStandby checks that a standby, and a replica that no longer leads, serve only the
// metrics of their program.
func TestStandby(t *testing.T) {
	m := newMetrics()
	check := func(when string) {
		t.Helper()
		series, _ := scrape(t, m)
		for _, s := range series {
			name, _, _ := strings.Cut(strings.NewReplacer("{", " ").Replace(s), " ")
			i := slices.IndexFunc(metrics.Table, func(row metrics.Metric) bool { return strings.HasPrefix(name, row.FullName()) && row.EachReplica })
			if i < 0 {
				t.Errorf("%s: serves %s", when, s)
			}
		}
		if !slices.Contains(series, "kubectl_upgrade_leader 0") {
			t.Errorf("%s: kubectl_upgrade_leader is not 0", when)
		}
	}
	check("before it leads")
	end := m.Lead()
	m.Planned(stateOf(5), now)
	end()
	check("after it led")
}

// TestLargeFleet checks how many series a fleet of 5,000 nodes has, and how large a scrape
// is: of a usual one, and of one in which every node is upgraded at once and no agent
// answers.
func TestLargeFleet(t *testing.T) {
	const size = 5000
	t.Run("usual", func(t *testing.T) { checkSize(t, stateOf(size), 2*size+500, 2<<20, 128<<10) })
	t.Run("worst", func(t *testing.T) {
		state := stateOf(size)
		for i := range state.Snapshot.NodeUpgrades {
			drains(&state.Snapshot, i)
			state.Snapshot.NodeUpgrades[i].Generation = 9
		}
		checkSize(t, state, 6*size+500, 5<<20, 512<<10)
	})
}

func checkSize(t *testing.T, state metrics.State, maxSeries, maxBytes, maxCompressed int) {
	t.Helper()
	m := leading(state)
	series, text := scrape(t, m)
	total := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			total++
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept-Encoding", "gzip")
	m.Handler().ServeHTTP(answer, request)
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	compressed := answer.Body.Len()
	reader, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := io.ReadAll(reader); err != nil || len(whole) < len(text)/2 {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}
	t.Logf("%d nodes: %d series (%d with Go's own), %d KiB, %d KiB compressed, computed in %s with %d MiB of allocations",
		len(state.Snapshot.Nodes), len(series), total, len(text)>>10, compressed>>10, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
	if len(series) > maxSeries || len(text) > maxBytes || compressed > maxCompressed {
		t.Errorf("want at most %d series, %d bytes, %d compressed", maxSeries, maxBytes, maxCompressed)
	}
}
