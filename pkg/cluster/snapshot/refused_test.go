package snapshot_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
)

// TestRefusedPods checks that pods which the API server refuses are told with its words, if that was lately.
func TestRefusedPods(t *testing.T) {
	w := newWorld(t)
	w.must(w.kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{}))
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	record := func(kind, object, reason, message string, age time.Duration) {
		t.Helper()
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "e-", Namespace: v1alpha1.Namespace},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: v1alpha1.Namespace, Name: object},
			Reason:         reason, Message: message, LastTimestamp: metav1.NewTime(at.Add(-age)),
		}
		w.must(w.kube.CoreV1().Events(v1alpha1.Namespace).Create(t.Context(), event, metav1.CreateOptions{}))
	}
	record("DaemonSet", "node-agent", "FailedCreate", "Error creating: a quota", time.Hour)
	record("DaemonSet", "node-agent", "SuccessfulCreate", "Created pod", time.Minute)
	record("DaemonSet", "of-others", "FailedCreate", "Error creating: theirs", time.Minute)
	p, err := snapshot.ReadPrograms(t.Context(), w.clients(w.config), at)
	if err != nil || p.AgentRefused != "" || p.CoordinatorWaits != "" {
		t.Errorf("got %q and %q, %v, want nothing", p.AgentRefused, p.CoordinatorWaits, err)
	}
	record("DaemonSet", "node-agent", "FailedCreate", "(combined from similar events): Error creating: pods \"a\" is forbidden: no hostPath", time.Minute)
	record("ReplicaSet", "coordinator-7d4", "FailedCreate", "Error creating: no root", time.Minute)
	p, err = snapshot.ReadPrograms(t.Context(), w.clients(w.config), at)
	if want := `pods "a" is forbidden: no hostPath`; err != nil || p.AgentRefused != want || p.CoordinatorWaits != "no root" {
		t.Errorf("got %q and %q, %v, want %q and no root", p.AgentRefused, p.CoordinatorWaits, err, want)
	}
}
