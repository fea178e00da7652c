package watch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// recorder is a Display that keeps its frames.
type recorder struct {
	sync.Mutex
	frames []Frame
	closed int
}

func (r *recorder) Show(f Frame) error {
	r.Lock()
	defer r.Unlock()
	r.frames = append(r.frames, f)
	return nil
}

func (r *recorder) Close() { r.closed++ }

func (r *recorder) last() (f Frame) {
	r.Lock()
	defer r.Unlock()
	if n := len(r.frames); n > 0 {
		f = r.frames[n-1]
	}
	return f
}

// newWatcher returns a Watcher of the upgrade u on a real API server, and the clients.
func newWatcher(t *testing.T) (*Watcher, *recorder, clusterstate.Snapshot) {
	t.Helper()
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	kinds, err := kube.NewKinds(config)
	if err != nil {
		t.Fatal(err)
	}
	u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u"}}
	u.Spec.Version = "v1.34.4"
	if u, err = kinds.ClusterUpgrades.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kinds.ClusterUpgrades.Delete(context.Background(), "u", metav1.DeleteOptions{}) })
	shown := &recorder{}
	clients := snapshot.Clients{Kube: kubernetes.NewForConfigOrDie(config), Ours: kinds}
	f := &Watcher{Clients: clients, Display: shown, Now: time.Now, Upgrade: "u"}
	return f, shown, clusterstate.Snapshot{Upgrades: []v1alpha1.ClusterUpgrade{*u}}
}

func TestRunEndsWithTheUpgrade(t *testing.T) {
	f, shown, first := newWatcher(t)
	done := make(chan error, 1)
	go func() { done <- f.Run(t.Context(), first) }()
	for deadline := time.Now().Add(10 * time.Second); shown.last().Progress == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no progress is shown")
		}
	}
	u := first.Upgrades[0].DeepCopy()
	u.Status.Outcome, u.Status.EndTime = v1alpha1.OutcomeSucceeded, &metav1.Time{Time: time.Now().Truncate(time.Second)}
	if _, err := f.Clients.Ours.ClusterUpgrades.UpdateStatus(t.Context(), u, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil || shown.closed != 1 || shown.last().Status.Upgrade.Outcome != v1alpha1.OutcomeSucceeded {
			t.Errorf("%v, closed %d times, the last frame is %+v", err, shown.closed, shown.last().Status.Upgrade)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on after the upgrade has ended")
	}
}

// TestLastFrameHasNodesAsTheyEnded checks that nodes which changed before the upgrade ended are
// shown so, although the watch of the upgrade was faster than that of the nodes.
func TestLastFrameHasNodesAsTheyEnded(t *testing.T) {
	f, shown, first := newWatcher(t)
	n := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w-1"}}
	n.Spec.Upgrade = &v1alpha1.UpgradeReference{Name: "u", UID: string(first.Upgrades[0].UID)}
	n.Spec.Version = "v1.34.4"
	if _, err := f.Clients.Ours.NodeUpgrades.Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Clients.Ours.NodeUpgrades.Delete(context.Background(), "w-1", metav1.DeleteOptions{}) })
	record := &v1alpha1.UpgradeRecord{ObjectMeta: metav1.ObjectMeta{Name: "u-1", Labels: map[string]string{v1alpha1.UpgradeUIDLabel: string(first.Upgrades[0].UID)}}}
	record.Spec.UpgradeSummary = v1alpha1.UpgradeSummary{Upgrade: first.Upgrades[0].Reference(), Outcome: v1alpha1.OutcomeSucceeded, EndTime: metav1.NewTime(time.Now().Truncate(time.Second))}
	record.Spec.Piece, record.Spec.Pieces = 1, 1
	record.Spec.Nodes = []v1alpha1.NodeRecord{{Name: "w-1", Steps: []v1alpha1.StepTime{{Step: v1alpha1.StepLocking, StartTime: metav1.NowMicro()}}}}
	if _, err := f.Clients.Ours.UpgradeRecords.Create(t.Context(), record, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Clients.Ours.UpgradeRecords.Delete(context.Background(), "u-1", metav1.DeleteOptions{}) })
	first.Upgrades[0].Status.Outcome = v1alpha1.OutcomeSucceeded
	if err := f.Run(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if nodes := shown.last().Cluster.NodeUpgrades; len(nodes) != 1 {
		t.Errorf("the last frame has %d nodes, want 1", len(nodes))
	}
	if nodes := shown.last().Progress.Nodes; len(nodes) != 1 || len(nodes[0].Steps) != 1 {
		t.Errorf("the last frame has forgotten the steps: %+v", nodes)
	}
}

func TestRunEndsAtItsTimeout(t *testing.T) {
	f, shown, first := newWatcher(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := f.Run(ctx, first); !errors.Is(err, context.DeadlineExceeded) || shown.closed != 1 {
		t.Errorf("got %T %v, closed %d times", err, err, shown.closed)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	f, shown, first := newWatcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if err := f.Run(ctx, first); !errors.Is(err, context.Canceled) || shown.closed != 1 {
		t.Errorf("got %T %v, closed %d times", err, err, shown.closed)
	}
}

// A refusal is an answer: the API server is there.
func TestReady(t *testing.T) {
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	f := &Watcher{Clients: snapshot.Clients{Kube: kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL})}}
	for _, code = range []int{http.StatusOK, http.StatusForbidden, http.StatusUnauthorized} {
		if !f.ready(t.Context()) {
			t.Errorf("a server that answers %d counts as away", code)
		}
	}
	server.Close()
	if f.ready(t.Context()) {
		t.Error("a server that is gone counts as ready")
	}
}

// connection reports changes alone.
func TestConnectionReportsChanges(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	f := &Watcher{Clients: snapshot.Clients{Kube: kubernetes.NewForConfigOrDie(&rest.Config{Host: server.URL})}}
	changes := f.connection(t.Context())
	select {
	case answers := <-changes:
		t.Fatalf("nothing changed, and it reports %t", answers)
	case <-time.After(2500 * time.Millisecond):
	}
	server.Close()
	select {
	case answers := <-changes:
		if answers {
			t.Error("it reports that a server that is gone answers")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not report that the server is gone")
	}
}
