//go:build prometheus

package monitoring

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// silence is one of Alertmanager's, as its API shows it.
type silence struct {
	ID, CreatedBy, Comment string
	StartsAt, EndsAt       time.Time
	Status                 struct{ State string }
}

// checkSilences checks that a real Alertmanager silences the alerts of a node only while it is at work:
// not one that takes too long or has failed, and not kubectl-upgrade's own alerts; that the silence is
// extended, taken over by the next leader, ended at once when the node is done, and that it ends by
// itself when the coordinator is killed.
func (w *world) checkSilences(coordinator *exec.Cmd) {
	w.expectSeconds("w1", 3600)
	patch := fmt.Sprintf(`{"spec":{"silences":[{"name":"nodes","url":%q,"matchers":[{"name":"instance","value":"{node}:9100"}]}]}}`, w.alertmanager)
	_, err := w.ours.UpgradePolicies.Patch(w.Context(), v1alpha1.PolicyName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
	var first silence
	eventually(w.T, func() string {
		active := w.silences()
		if len(active) != 1 || !strings.Contains(active[0].Comment, "node w1 ") {
			return fmt.Sprintf("active silences: %+v, want one of w1", active)
		}
		first = active[0]
		return ""
	})
	if left := time.Until(first.EndsAt); left > 5*time.Minute || left < 3*time.Minute {
		w.Errorf("the silence ends in %s", left)
	}
	w.alerts("NodeFilesystemIsSlow", "KubectlUpgradeDrainBlocked")
	want := map[string]string{"NodeFilesystemIsSlow w1": "suppressed", "NodeFilesystemIsSlow w2": "active", "NodeFilesystemIsSlow w3": "active", "KubectlUpgradeDrainBlocked w1": "active", "KubectlUpgradeDrainBlocked w2": "active", "KubectlUpgradeDrainBlocked w3": "active"}
	eventually(w.T, func() string {
		if got := w.alertStates(); fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Sprintf("the alerts are %v, want %v", got, want)
		}
		return ""
	})

	// It is extended, and stays the same one, also under the next leader.
	began := time.Now()
	third := w.startCoordinator()
	w.must(coordinator.Process.Kill())
	_ = coordinator.Wait()
	awaitFor(w.T, 4*time.Minute, func() string {
		active := w.silences()
		if len(active) != 1 || active[0].ID != first.ID || !active[0].EndsAt.After(first.EndsAt) {
			return fmt.Sprintf("active silences: %+v, want %s extended", active, first.ID)
		}
		return ""
	})
	w.Logf("extended after %s, by another leader", time.Since(began).Round(time.Second))

	// The node is done: at once.
	w.setStep("w1", v1alpha1.StepWaiting)
	began = time.Now()
	awaitFor(w.T, 10*time.Second, func() string {
		if active := w.silences(); len(active) > 0 {
			return fmt.Sprintf("active silences: %+v, want none", active)
		}
		return ""
	})
	w.Logf("ended %s after the node was done", time.Since(began).Round(time.Millisecond))

	// The coordinator is killed, and no other one takes over.
	w.setStep("w1", v1alpha1.StepDraining)
	awaitFor(w.T, 30*time.Second, func() string {
		if active := w.silences(); len(active) != 1 {
			return fmt.Sprintf("active silences: %+v, want one", active)
		}
		return ""
	})
	w.must(third.Process.Kill())
	_ = third.Wait()
	began = time.Now()
	awaitFor(w.T, 5*time.Minute+15*time.Second, func() string {
		if active := w.silences(); len(active) > 0 {
			return fmt.Sprintf("active silences: %+v, want none", active)
		}
		return ""
	})
	w.Logf("ended by itself %s after the coordinator was killed", time.Since(began).Round(time.Second))
}

// awaitFor waits until check returns nothing, for that long at most.
func awaitFor(t *testing.T, limit time.Duration, check func() string) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		problem := check()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %s", limit, problem)
		}
	}
}

// silences returns those that are active.
func (w *world) silences() (list []silence) {
	w.Helper()
	var all []silence
	if code, body := get(w.T, w.alertmanager+"/api/v2/silences", "", &all); code != http.StatusOK {
		w.Fatal(body)
	}
	for _, one := range all {
		if one.Status.State == "active" {
			list = append(list, one)
		}
	}
	return list
}

// alerts fires alerts of these names for w1, w2 and w3, as node-exporter's: with an instance only.
func (w *world) alerts(names ...string) {
	w.Helper()
	var alerts []string
	for _, name := range names {
		for _, node := range []string{"w1", "w2", "w3"} {
			alerts = append(alerts, fmt.Sprintf(`{"labels":{"alertname":%q,"instance":"%s:9100","test":"silences"}}`, name, node))
		}
	}
	answer, err := http.Post(w.alertmanager+"/api/v2/alerts", "application/json", strings.NewReader("["+strings.Join(alerts, ",")+"]"))
	w.must(err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		w.Fatal(answer.Status)
	}
}

func (w *world) alertStates() map[string]string {
	w.Helper()
	var list []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	if code, body := get(w.T, w.alertmanager+"/api/v2/alerts?filter=test%3D%22silences%22", "", &list); code != http.StatusOK {
		w.Fatal(body)
	}
	states := map[string]string{}
	for _, a := range list {
		states[a.Labels["alertname"]+" "+strings.TrimSuffix(a.Labels["instance"], ":9100")] = a.Status.State
	}
	return states
}

// setStep reports another step of a node, as its agent would.
func (w *world) setStep(node string, step v1alpha1.Step) {
	w.Helper()
	patch := fmt.Sprintf(`{"status":{"step":%q}}`, step)
	_, err := w.ours.NodeUpgrades.Patch(w.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	w.must(err)
}

// expectSeconds has the coordinator expect that a node takes that long.
func (w *world) expectSeconds(node string, seconds int) {
	w.Helper()
	patch := fmt.Sprintf(`{"spec":{"expectedSeconds":%d}}`, seconds)
	_, err := w.ours.NodeUpgrades.Patch(w.Context(), node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.must(err)
}
