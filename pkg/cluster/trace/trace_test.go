package trace

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

var began = time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)

// collector is a stub of an OpenTelemetry collector.
type collector struct {
	sync.Mutex
	*httptest.Server
	refuse   int // how many requests to answer with 503
	requests int
	spans    []span
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Lock()
		defer c.Unlock()
		c.requests++
		if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s %s of %q", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		if c.refuse > 0 {
			c.refuse--
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		var body request
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			t.Error(err)
		}
		for _, resource := range body.ResourceSpans {
			if resource.Resource.Attributes[0] != (attribute{"service.name", value{"kubectl-upgrade"}}) {
				t.Errorf("resource %+v", resource.Resource)
			}
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(c.Close)
	return c
}

// tree returns the spans that have arrived, each below its parent.
func (c *collector) tree(t *testing.T) string {
	c.Lock()
	defer c.Unlock()
	known := map[string]bool{}
	for _, s := range c.spans {
		if known[s.SpanID] || len(s.SpanID) != 16 || len(s.TraceID) != 32 || s.TraceID != c.spans[0].TraceID || s.End < s.Start {
			t.Errorf("span %+v", s)
		}
		known[s.SpanID] = true
	}
	var b strings.Builder
	var below func(parent, indent string)
	below = func(parent, indent string) {
		for _, s := range c.spans {
			if s.ParentSpanID == parent {
				fmt.Fprintf(&b, "%s%s %s", indent, s.Name, time.Duration(s.End-s.Start))
				if s.Status != nil {
					fmt.Fprintf(&b, " error %s", s.Status.Message)
				}
				b.WriteString("\n")
				below(s.SpanID, indent+"  ")
			}
		}
	}
	below("", "")
	return b.String()
}

func record(piece, pieces int32, nodes ...v1alpha1.NodeRecord) v1alpha1.UpgradeRecord {
	trigger := metav1.NewTime(began)
	return v1alpha1.UpgradeRecord{
		UpgradeSummary: v1alpha1.UpgradeSummary{
			Upgrade: v1alpha1.UpgradeReference{Name: "v1.34.4", UID: "u1"}, Type: v1alpha1.TypePatch, Version: "v1.34.4", Outcome: v1alpha1.OutcomeSucceeded,
			TriggerTime: &trigger, CompletionTime: metav1.NewTime(began.Add(10 * time.Minute)),
		},
		Piece: piece, Pieces: pieces, Nodes: nodes,
	}
}

func node(name string, from time.Time, steps ...v1alpha1.Step) v1alpha1.NodeRecord {
	n := v1alpha1.NodeRecord{Name: name, From: "v1.34.3", To: "v1.34.4", Attempts: 1}
	for _, step := range steps {
		end := metav1.NewMicroTime(from.Add(30 * time.Second))
		n.Steps = append(n.Steps, v1alpha1.StepTime{Step: step, StartTime: metav1.NewMicroTime(from), EndTime: &end})
		from = end.Time
	}
	return n
}

func start(t *testing.T, url string) *Exporter {
	e := New(url, "v0", slog.New(slog.NewTextHandler(t.Output(), nil)))
	e.pause = time.Millisecond
	ended := make(chan struct{})
	go func() { defer close(ended); e.Run(t.Context()) }()
	t.Cleanup(func() { <-ended })
	return e
}

// TestTrace checks that the pieces of a record arrive as one trace with a span for each node
// and step, though the collector is busy at first.
func TestTrace(t *testing.T) {
	c := newCollector(t)
	c.refuse = 2
	e := start(t, c.URL+"/v1/traces")
	failed := node("w2", began.Add(2*time.Minute), v1alpha1.StepLocking, v1alpha1.StepRebooting, v1alpha1.StepRolledBack)
	failed.Reason, failed.Steps[2].EndTime = v1alpha1.ReasonRolledBack, nil
	e.Export(record(1, 2, node("w1", began, v1alpha1.StepLocking, v1alpha1.StepDraining, v1alpha1.StepUnlocking), v1alpha1.NodeRecord{Name: "never"}))
	e.Export(record(2, 2, failed))
	want := `upgrade v1.34.4 10m0s
  node w1 1m30s
    Locking 30s
    Draining 30s
    Unlocking 30s
  node w2 1m0s error RolledBack
    Locking 30s
    Rebooting 30s
    RolledBack 0s error RolledBack
`
	got := ""
	for range 200 {
		if got = c.tree(t); got == want {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFailedUpgrade checks that the span of an upgrade that failed says so.
func TestFailedUpgrade(t *testing.T) {
	r := record(1, 1)
	r.Outcome, r.Reason, r.Message = v1alpha1.OutcomeFailed, v1alpha1.ReasonNodeFailed, "node w1 failed"
	if got := spans(&r); len(got) != 1 || got[0].Status == nil || got[0].Status.Message != "NodeFailed: node w1 failed" {
		t.Errorf("got %+v", got)
	}
}

// TestLargeRecord checks that a request has a bounded number of spans.
func TestLargeRecord(t *testing.T) {
	c := newCollector(t)
	e := start(t, c.URL+"/v1/traces")
	var nodes []v1alpha1.NodeRecord
	for i := range 500 {
		nodes = append(nodes, node(fmt.Sprint("w", i), began, slices.Repeat([]v1alpha1.Step{v1alpha1.StepLocking}, 14)...))
	}
	e.Export(record(1, 1, nodes...))
	want := 1 + 500*15
	for range 500 {
		c.Lock()
		got, requests := len(c.spans), c.requests
		c.Unlock()
		if got == want {
			if requests != 4 {
				t.Errorf("%d spans came in %d requests", got, requests)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("not all spans arrived")
}

// TestCollectorUnreachable checks that no upgrade waits for a collector, and that nothing is sent
// by default.
func TestCollectorUnreachable(t *testing.T) {
	if e := New("", "v0", slog.Default()); e != nil {
		t.Fatal("it is on by default")
	}
	var off *Exporter
	off.Export(record(1, 1))
	off.Run(t.Context())
	e := New("http://127.0.0.1:1/v1/traces", "v0", slog.New(slog.DiscardHandler))
	began := time.Now()
	for range 3 * maxQueued {
		e.Export(record(1, 1))
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("exporting took %s", took)
	}
}
